import { beforeAll, describe, expect, it } from 'vitest';
import { checkIdentities, repairIdentities } from '#actors/identities/check-identities.ts';
import { identitiesActor } from '#actors/identities/identities-actor.ts';
import { IdentitiesTable } from '#actors/identities/identities-tables.ts';
import { isPassing } from '#actors/identities/restored-rows.ts';
import { CommonTable, commonTableNames, FIRST_OWN_TABLE } from '#runtime/commit/behaviour.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { IdentitiesFixture, placeOf } from '#test/support/identities-fixture.ts';
import { providerChange } from '#test/support/provider-change.ts';

type Rows = readonly { readonly table: number; readonly key: string; readonly value: Uint8Array }[];

const tableNames = [...commonTableNames, ...identitiesActor.tables];

let rows: Rows;

beforeAll(async () => {
  const real = await IdentitiesFixture.open();
  await real.configure({
    oidc_providers: [providerChange('acme', { display_name: 'Acme' })],
  });
  await real.register('ann@example.org');
  await real.logIn('ann@example.org', 'right', { place: placeOf('work') });
  await real.open({
    kind: 'provider',
    providerId: 'acme',
    issuer: 'https://acme.example.org',
    externalId: 'sub',
    email: 'ben@example.org',
    emailVerified: true,
    displayName: null,
    avatarUrl: null,
    claims: {},
    groups: [],
  });
  for (const email of ['ann@example.org', 'nobody@example.org'])
    await real.logIn(email, 'wrong', { place: placeOf('stranger') }).catch(() => undefined);
  await real.send({
    type: 'IssueOneTimeToken',
    kind: 'workspace_invite',
    email: 'new@example.org',
    tokenHash: 'invitation',
    payload: {},
  });
  const { identityId } = await real.register('cat@example.org');
  const repository = 'site~0123456789';
  await real.send({ type: 'RequestAccess', repository, identityId, message: null, roles: ['viewer'] });
  await real.send({
    type: 'InviteToRepository',
    repository,
    email: 'dan@example.org',
    roles: ['viewer'],
    message: null,
    days: 7,
    by: 'admin',
  });
  await real.send({ type: 'UpdateIdentity', identityId, changes: { is_active: false } });
  for (const email of ['ann@example.org', 'nobody@example.org'])
    await real.send({
      type: 'RequestLink',
      email,
      repository: null,
      landing: 'https://www.example.org/',
      place: placeOf('home'),
    });
  rows = await real.reading((file) =>
    tableNames.flatMap((_, table) =>
      [...file.rows(table)].map(({ key, value }) => ({ table, key, value: Buffer.from(value) })),
    ),
  );
  await real.close();
});

function readerOver(all: Rows): TableReader {
  const sorted = [...all].sort((a, b) => (a.key < b.key ? -1 : 1));
  return {
    get: (table, key) => sorted.find((row) => row.table === table && row.key === key)?.value,
    range: (table, { end, start }) =>
      sorted.filter((row) => row.table === table && row.key >= start && row.key < end),
  };
}

function findingsOf(all: Rows): readonly string[] {
  const findings: string[] = [];
  const work = checkIdentities(readerOver(all), (table, what) => void findings.push(`${table}: ${what}`));
  while (work.next().done !== true);
  return findings;
}

function repaired(all: Rows): Rows {
  const after = new Map(all.map((row) => [`${row.table} ${row.key}`, row]));
  for (const { key, table, value } of repairIdentities(readerOver(all))) {
    if (value === null) after.delete(`${table} ${key}`);
    else after.set(`${table} ${key}`, { table, key, value });
  }
  return [...after.values()];
}

const isOwn = ({ table }: { readonly table: number }): boolean => table >= FIRST_OWN_TABLE;
const shown = ({ key, table }: Rows[number]): string => `${tableNames[table]} ${key}`;

describe('a check of identities', () => {
  it('finds nothing in what the actor has stored, which has rows in every table', () => {
    expect(findingsOf(rows)).toEqual([]);
    expect(new Set(rows.filter(isOwn).map(({ table }) => table)).size).toBe(identitiesActor.tables.length);
  });

  it('finds each row that is missing, except what nothing refers to', () => {
    const unnoticed = rows.filter(
      (row) => isOwn(row) && findingsOf(rows.filter((each) => each !== row)).length === 0,
    );
    // Without it the defaults are in force.
    expect(unnoticed.map(({ table }) => table)).toEqual([
      IdentitiesTable.settings,
      // Then links without an issuer belong to the present one.
      IdentitiesTable.settings,
      // Then the status of the user nodes is set when the identity is changed the next time.
      IdentitiesTable.statusChanges,
    ]);
  });

  it('finds each row that was changed or has another key', () => {
    for (const row of rows.filter(isOwn)) {
      const others = rows.filter((each) => each !== row);
      const value = Buffer.from(row.value);
      const last = value.length - 1;
      value[last] = (value[last] as number) ^ 1;
      expect(findingsOf([...others, { ...row, value }]), shown(row)).not.toEqual([]);
      if (row.table !== IdentitiesTable.settings)
        expect(findingsOf([...others, { ...row, key: `x${row.key}` }]), shown(row)).not.toEqual([]);
    }
  });

  it('finds a count that is wrong', () => {
    const count = rows.find(({ key, table }) => table === CommonTable.meta && key === 'other_attempts');
    expect(count).toBeDefined();
    expect(findingsOf(rows.filter((row) => row !== count))).toEqual([
      'meta: there are 1 rows of other-attempts, and 0 are counted',
    ]);
  });
});

describe('a repair of identities', () => {
  it('keeps accounts and settings, and ends sessions, links and failures', () => {
    const after = repaired(rows);
    expect(findingsOf(after)).toEqual([]);
    expect(after.filter(isOwn)).toEqual(rows.filter((row) => isOwn(row) && !isPassing(row.table)));
  });

  it('makes a check find nothing whatever row was lost', () => {
    for (const row of rows.filter(isOwn)) {
      const after = repaired(rows.filter((each) => each !== row));
      expect(findingsOf(after), shown(row)).toEqual([]);
      const isDerived = row.table === IdentitiesTable.emails || row.table === IdentitiesTable.providers;
      if (isDerived)
        expect(after.find((each) => each.table === row.table && each.key === row.key)).toEqual(row);
    }
  });
});
