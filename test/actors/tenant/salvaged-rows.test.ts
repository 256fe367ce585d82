import { expect, it } from 'vitest';
import type { AdminAccount } from '#actors/tenant/messages.ts';
import { newAccount } from '#actors/tenant/new-account.ts';
import { hasAccounts, missingRegistryRows } from '#actors/tenant/salvaged-rows.ts';
import { TenantTable } from '#actors/tenant/tenant-tables.ts';
import { recordKey } from '#runtime/commit/record-store.ts';
import { decodeJsonRow, encodeJsonRow } from '#runtime/shard/json-row.ts';
import type { TableReader } from '#runtime/shard/shard.ts';

const first = { username: 'admin', email: null, passwordHash: 'new', mustChangePassword: true };

const account = (userId: string, username: string, isActive: boolean): AdminAccount => ({
  ...newAccount({ ...first, username, passwordHash: 'old' }, userId, 0),
  is_active: isActive,
});

/** What is left of a registry. */
function registryOf(accounts: readonly AdminAccount[], names: Readonly<Record<string, string>>): TableReader {
  const rows = [
    ...accounts.map((each) => ({
      table: TenantTable.admins,
      key: recordKey(each.user_id),
      value: encodeJsonRow(each),
    })),
    ...Object.entries(names).map(([name, userId]) => ({
      table: TenantTable.adminNames,
      key: recordKey(name),
      value: encodeJsonRow({ userId }),
    })),
  ];
  return {
    get: (table, key) => rows.find((row) => row.table === table && row.key === key)?.value,
    range: (table) => rows.filter((row) => row.table === table),
  };
}

function rowsFor(registry: TableReader): readonly (readonly [table: number, record: unknown])[] {
  const admin = { account: first, userId: 'n' };
  const found = { repositories: [], tenants: [], tokenFloor: 1, admin, wallMs: 1_000 };
  return missingRegistryRows(registry, found)
    .filter(({ table }) => table === TenantTable.admins || table === TenantTable.adminNames)
    .map(({ table, value }) => [table, decodeJsonRow(value)] as const);
}

const fresh = (userId: string) =>
  expect.objectContaining({ user_id: userId, password_hash: 'new', is_active: true });

it('counts accounts that can log in', () => {
  expect(hasAccounts(registryOf([], {}))).toBe(false);
  expect(hasAccounts(registryOf([account('u', 'admin', false)], {}))).toBe(false);
  expect(hasAccounts(registryOf([account('u', 'admin', false), account('v', 'eve', true)], {}))).toBe(true);
});

it('replaces an inactive account that has the name of the new one', () => {
  const registry = registryOf([account('u', 'admin', false)], { admin: 'u' });
  expect(rowsFor(registry)).toEqual([[TenantTable.admins, fresh('u')]]);
});

it('gives a name that is left of a lost account to the new one', () => {
  expect(rowsFor(registryOf([], { admin: 'lost' }))).toEqual([
    [TenantTable.admins, fresh('n')],
    [TenantTable.adminNames, { userId: 'n' }],
  ]);
});
