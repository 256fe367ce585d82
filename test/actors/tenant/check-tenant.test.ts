import { describe, expect, it } from 'vitest';
import { checkTenant } from '#actors/tenant/check-tenant.ts';
import type { AdminAccount, AuditEntry } from '#actors/tenant/messages.ts';
import { newAccount } from '#actors/tenant/new-account.ts';
import { restoredTenantRow } from '#actors/tenant/restored-rows.ts';
import { TenantTable } from '#actors/tenant/tenant-tables.ts';
import { CommonTable } from '#runtime/commit/behaviour.ts';
import { recordKey } from '#runtime/commit/record-store.ts';
import { decodeJsonRow, encodeJsonRow } from '#runtime/shard/json-row.ts';
import type { TableReader } from '#runtime/shard/shard.ts';

interface StoredRow {
  readonly table: number;
  readonly key: string;
  readonly value: Uint8Array;
}

const account: AdminAccount = {
  ...newAccount({ username: 'admin', email: null, passwordHash: 'hash', mustChangePassword: false }, 'u1', 0),
  api_keys: [
    {
      key_id: 'k1',
      name: 'key',
      key_prefix: 'svc_prefix',
      token_hash: 'token hash',
      created_at: '2027-03-14T15:09:26.000Z',
      last_used_at: null,
      is_active: true,
    },
  ],
};

const entry: AuditEntry = {
  sequence: 7,
  at: '2027-03-14T15:09:26.000Z',
  actor: { user_id: null, username: 'system' },
  action: 'account_created',
  subject: 'admin',
  details: {},
};

function row(table: number, record: unknown, ...name: readonly string[]): StoredRow {
  return { table, key: recordKey(...name), value: encodeJsonRow(record) };
}

const whole: readonly StoredRow[] = [
  row(TenantTable.admins, account, 'u1'),
  row(TenantTable.adminNames, { userId: 'u1' }, 'admin'),
  row(CommonTable.meta, entry, 'audit', '000000000007'),
];

function findingsOf(rows: readonly StoredRow[]): readonly string[] {
  const reader: TableReader = {
    get: (table, key) => rows.find((each) => each.table === table && each.key === key)?.value,
    range: (table) => rows.filter((each) => each.table === table),
  };
  const found: string[] = [];
  for (const _ of checkTenant(reader, (table, what) => void found.push(`${table}: ${what}`)));
  return found;
}

describe('the records of a tenant', () => {
  it('are found to be whole', () => {
    expect(findingsOf(whole)).toEqual([]);
  });

  it.each([
    ['an account under another id', row(TenantTable.admins, account, 'u2'), 'admins'],
    ['a name without its account', row(TenantTable.adminNames, { userId: 'lost' }, 'eve'), 'admin_names'],
    ['a name of another account', row(TenantTable.adminNames, { userId: 'u1' }, 'eve'), 'admin_names'],
    ['an entry under another sequence', row(CommonTable.meta, entry, 'audit', '000000000008'), 'meta'],
  ])('are found to be damaged by %s', (_what, damage, table) => {
    expect(findingsOf([...whole, damage])).toEqual([expect.stringContaining(`${table}: `)]);
  });

  it('are found to be damaged by a changed byte', () => {
    const changed = whole.map((each) => ({ ...each, value: Uint8Array.from(each.value) }));
    for (const { value } of changed) value[8] = (value[8] as number) ^ 1;
    expect(findingsOf(changed).map((finding) => finding.split(':')[0])).toEqual(
      expect.arrayContaining(['admins', 'admin_names', 'meta']),
    );
  });

  it('come back from a backup with keys and audit trail', () => {
    const restore = restoredTenantRow({ hasTenant: () => true, repository: () => undefined });
    const restored = whole.map((each) => restore(each));
    expect(restored.map((value) => (value === null ? null : decodeJsonRow(value)))).toEqual([
      account,
      { userId: 'u1' },
      entry,
    ]);
  });
});
