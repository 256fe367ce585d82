import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Caller } from '#runtime/commit/behaviour.ts';
import { isJsonArray, type JsonObject, type JsonValue } from '#runtime/content/values/json-value.ts';
import { administrator, type BranchFixture, openBranch } from '#test/support/branch-fixture.ts';
import { roleCaller } from '#test/support/role-caller.ts';
import { changeBySql } from '#test/support/sql-garden.ts';
import { workloadCount } from '#test/support/workload-count.ts';

let branch: BranchFixture;

beforeAll(async () => {
  branch = await openBranch();
  for (const sql of [
    "CREATE GROUP 'press' DESCRIPTION 'Writes' ROLES ('author', 'viewer')",
    "CREATE GROUP 'staff'",
    "CREATE ROLE 'clerk' INHERITS ('viewer') DESCRIPTION 'x'",
    "CREATE USER 'ada' EMAIL 'ada@example.org' ROLES ('clerk') GROUPS ('press')",
    "CREATE USER 'bob' EMAIL 'bob@example.org' ROLES ('viewer') IN FOLDER '/team'",
    "CREATE USER 'cyd' EMAIL 'cyd@example.org' GROUPS ('press', 'staff') IN FOLDER '/team'",
    "ALTER SECURITY CONFIG 'content' SET ANONYMOUS ENABLED TRUE ANONYMOUS ROLE 'viewer'",
  ])
    await changeBySql(branch, sql);
});

afterAll(() => branch.close());

const names = ['role_id', 'group_id', 'email', 'display_name', 'roles', 'groups', 'inherits', 'description'];
const some = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined, freq: 1 });
const permissions = fc.array(
  fc.record(
    {
      path: fc.constantFrom(
        '**',
        '/roles/**',
        '/roles/a*',
        '/groups/**',
        '/users/**',
        '/users/team/*',
        '/config/*',
      ),
      operations: fc.constant(['read']),
      node_types: some(
        fc.subarray(['svc:User', 'svc:Role', 'svc:Group', 'svc:SecurityConfig'], { minLength: 1 }),
      ),
      fields: some(fc.subarray(names)),
      except_fields: some(fc.subarray(names)),
      condition: some(
        fc.constantFrom("node.name != 'bob'", "node.description != 'x'", "node.groups.contains('press')"),
      ),
    },
    { requiredKeys: ['path', 'operations'] },
  ),
  { maxLength: 3 },
);

async function rowsOf(sql: string, caller: Caller): Promise<readonly JsonObject[]> {
  const answer = await branch.query({ type: 'RunSql', sql, parameters: [] }, caller);
  return (answer as { rows: JsonObject[] }).rows;
}

/** What a caller finds with a query over the same nodes. */
async function selected(type: string, folder: string, caller: Caller) {
  const sql = `SELECT name, properties FROM 'svc:access_control' WHERE node_type = 'svc:${type}' AND path LIKE '${folder}/%' ORDER BY path`;
  return (await rowsOf(sql, caller)) as readonly { name: string; properties: Record<string, JsonValue> }[];
}

function listOf(value: JsonValue | undefined): JsonValue {
  return value !== undefined && isJsonArray(value) ? value : [];
}

describe('what is shown of access', () => {
  it('is what a query over the nodes finds for the same caller [SQLACC-009]', async () => {
    let shown = 0;
    let hidden = 0;
    await fc.assert(
      fc.asyncProperty(permissions, async (drawn) => {
        const caller = roleCaller(JSON.parse(JSON.stringify(drawn)) as JsonValue);
        const users = await selected('User', '/users', caller);
        shown += users.length;
        hidden += (await selected('User', '/users', administrator)).length - users.length;
        expect(await rowsOf('SHOW USERS', caller)).toEqual(
          users.map(({ name, properties: p }) => ({
            user_id: p.user_id ?? name,
            email: p.email ?? null,
            display_name: p.display_name ?? null,
            roles: listOf(p.roles),
            groups: listOf(p.groups),
          })),
        );
        expect(await rowsOf('SHOW ROLES', caller)).toEqual(
          (await selected('Role', '/roles', caller)).map(({ properties: p }) => ({
            role_id: p.role_id ?? null,
            description: p.description ?? null,
            inherits: listOf(p.inherits),
          })),
        );
        expect(await rowsOf('SHOW GROUPS', caller)).toEqual(
          (await selected('Group', '/groups', caller)).map(({ properties: p }) => ({
            group_id: p.group_id ?? null,
            description: p.description ?? null,
            roles: listOf(p.roles),
          })),
        );
        const configs = await selected('SecurityConfig', '/config', caller);
        expect(await rowsOf('SHOW SECURITY CONFIG', caller)).toHaveLength(configs.length);
        for (const { properties } of configs) expect(properties).toHaveProperty('anonymous_enabled');
      }),
      { numRuns: workloadCount(120) },
    );
    expect(Math.min(shown, hidden)).toBeGreaterThan(10);
  });

  it('finds a user by a name exactly where a query finds the node by it [SQLACC-009]', async () => {
    const ways = [
      ["DESCRIBE USER 'ada@example.org'", "properties->>'email' = 'ada@example.org'"],
      ["DESCRIBE USER 'bob'", "name = 'bob'"],
      ["DESCRIBE USER '/users/team/cyd'", "path = '/users/team/cyd'"],
      ["DESCRIBE ROLE 'clerk'", "properties->>'role_id' = 'clerk'"],
      ["DESCRIBE GROUP 'staff'", "properties->>'group_id' = 'staff'"],
    ] as const;
    const seen = { found: 0, missing: 0 };
    await fc.assert(
      fc.asyncProperty(permissions, fc.constantFrom(...ways), async (drawn, [statement, condition]) => {
        const caller = roleCaller(JSON.parse(JSON.stringify(drawn)) as JsonValue);
        const type = statement.split(' ')[1]?.replace(/(?<=.)./g, (letter) => letter.toLowerCase());
        const sql = `SELECT id FROM 'svc:access_control' WHERE node_type = 'svc:${type}' AND ${condition}`;
        const isThere = (await rowsOf(sql, caller)).length === 1;
        seen[isThere ? 'found' : 'missing'] += 1;
        const described = rowsOf(statement, caller).then(
          () => true,
          (error: { code: string }) => error.code !== 'NOT_FOUND' && error.code,
        );
        expect([statement, await described]).toEqual([statement, isThere]);
      }),
      { numRuns: workloadCount(240) },
    );
    expect(Math.min(seen.found, seen.missing)).toBeGreaterThan(5);
  });
});
