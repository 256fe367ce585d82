import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Operation, Policy, Subject } from '#runtime/access/policy.ts';
import type { JsonObject, JsonValue } from '#runtime/content/values/json-value.ts';
import { makeNodeRecord } from '#runtime/tree/record/make-record.ts';
import { type BranchFixture, openBranch } from '#test/support/branch-fixture.ts';
import { plainHeader } from '#test/support/plain-header.ts';
import { roleCaller } from '#test/support/role-caller.ts';
import { changeBySql } from '#test/support/sql-garden.ts';
import { workloadCount } from '#test/support/workload-count.ts';

const ACCESS = 'svc:access_control';
const operations = ['create', 'read', 'update', 'delete', 'translate', 'relate', 'unrelate'] as const;
const names = ['title', 'secret', 'it"s', 'Read'];
const types = ['t:A', 't:B', 'svc:User'];

let branch: BranchFixture;

beforeAll(async () => {
  branch = await openBranch();
});

afterAll(() => branch.close());

const some = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined, freq: 2 });
const conditions = [
  'node.title == "x, y"',
  "node.created_by == auth.user_id && !(node.secret > 5 || node.title == ')')",
  "['a', 'b'].contains(node.title)",
  "node.path.descendantOf('/a') || node.title.toLowerCase() == \"it's\"",
  "  node.name   !=   'x'  ",
  'true',
];
/** A permission, as REST writes it. */
const permission = fc.record({
  path: fc
    .array(fc.constantFrom('a', 'b', "o'b", '*', '**', 'a*'), { minLength: 1, maxLength: 3 })
    .map((parts) => `/${parts.join('/')}`),
  operations: fc.uniqueArray(fc.constantFrom(...operations), { minLength: 1, maxLength: 4 }),
  workspace: some(fc.constantFrom('*', 'content', 'cont*', 'svc:*')),
  branch_pattern: some(fc.constantFrom('main', 'feature/*', '*')),
  node_types: some(fc.uniqueArray(fc.constantFrom(...types), { minLength: 1 })),
  fields: some(fc.uniqueArray(fc.constantFrom(...names), { minLength: 1 })),
  except_fields: some(fc.uniqueArray(fc.constantFrom(...names), { minLength: 1 })),
  condition: some(fc.constantFrom(...conditions)),
});
type Permission = typeof permission extends fc.Arbitrary<infer P> ? P : never;

const quoted = (text: string): string => `'${text.replaceAll("'", "''")}'`;
const list = (texts: readonly string[]): string => `(${texts.map(quoted).join(', ')})`;

function clause(word: string, text: string | undefined): string {
  return text === undefined ? '' : ` ${word} ${text}`;
}

/** The same permission as a grant of SQL. */
function grantOf(each: Permission): string {
  return (
    `ALLOW ${each.operations.join(', ').toUpperCase()}` +
    clause('ON', each.workspace && quoted(each.workspace)) +
    clause('PATH', quoted(each.path)) +
    clause('BRANCH', each.branch_pattern && quoted(each.branch_pattern)) +
    clause('NODE TYPES', each.node_types && list(each.node_types)) +
    clause('FIELDS', each.fields && list(each.fields)) +
    clause('EXCEPT FIELDS', each.except_fields && list(each.except_fields)) +
    clause('WHERE', each.condition)
  );
}

const node = fc.record({
  workspace: fc.constantFrom('content', 'contents', ACCESS),
  path: fc
    .array(fc.constantFrom('a', 'b', 'ab', "o'b"), { minLength: 1, maxLength: 4 })
    .map((parts) => `/${parts.join('/')}`),
  nodeType: fc.constantFrom(...types),
  createdBy: fc.constantFrom('ada', 'you'),
  properties: fc.constantFrom<JsonObject>(
    {},
    { title: 'x, y' },
    { title: "it's", secret: 9 },
    { title: 'b' },
  ),
});

/** What a policy says of a node. */
function decisions(policy: Policy, { workspace, ...columns }: { workspace: string } & JsonObject): unknown {
  const { createdBy, nodeType, path, properties } = columns as unknown as {
    createdBy: string;
    nodeType: string;
    path: string;
    properties: JsonObject;
  };
  const header = { ...plainHeader, path, nodeType, createdBy, name: path.slice(path.lastIndexOf('/') + 1) };
  const subject: Subject = { workspace, path, nodeType, node: makeNodeRecord(header, properties) };
  const shown = (operation: 'read' | 'create' | 'update') =>
    names.filter((name) => policy.fields(operation, subject).has(name));
  return [
    operations.map((operation: Operation) => policy.allows(operation, subject)),
    shown('read'),
    shown('create'),
    shown('update'),
  ];
}

let roles = 0;

/** The permissions of a role as they are stored, after it was made by one of the ways. */
async function stored(make: (name: string) => Promise<unknown>) {
  roles += 1;
  const name = `r${roles}`;
  await make(name);
  return (await branch.read(`/roles/${name}`, undefined, ACCESS)).properties;
}

describe('a role that SQL has made', () => {
  it('decides exactly as the same role that REST has made [SQLACC-011]', async () => {
    const seen = { yes: 0, no: 0 };
    await fc.assert(
      fc.asyncProperty(
        fc.array(permission, { minLength: 1, maxLength: 4 }),
        fc.array(node, { minLength: 1, maxLength: 8 }),
        async (drawn, nodes) => {
          const permissions = JSON.parse(JSON.stringify(drawn)) as JsonObject[];
          const rest = await stored((name) =>
            branch.command({
              type: 'CreateNode',
              workspace: ACCESS,
              parentPath: '/roles',
              node: { name, nodeType: 'svc:Role', properties: { role_id: name, name, permissions } },
              deep: false,
            }),
          );
          const grants = drawn.map(grantOf);
          const atOnce = await stored((name) =>
            changeBySql(branch, `CREATE ROLE '${name}' PERMISSIONS (${grants.join(', ')})`),
          );
          const inParts = await stored(async (name) => {
            await changeBySql(branch, `CREATE ROLE '${name}'`);
            for (const grant of grants)
              await changeBySql(branch, `ALTER ROLE '${name}' ADD PERMISSION ${grant}`);
          });
          const [policy, ...others] = [rest, atOnce, inParts].map(
            (properties) => roleCaller((properties as { permissions: JsonValue }).permissions).policy,
          ) as [Policy, Policy, Policy];
          for (const each of nodes) {
            const expected = decisions(policy, each);
            const allowed = (expected as [boolean[]])[0];
            seen.yes += allowed.filter(Boolean).length;
            seen.no += allowed.filter((isAllowed) => !isAllowed).length;
            for (const other of others) expect(decisions(other, each)).toEqual(expected);
          }
        },
      ),
      { numRuns: workloadCount(40) },
    );
    // Both kinds of answers were compared. How many there are of each is left to chance.
    expect(Math.min(seen.yes, seen.no)).toBeGreaterThan(0);
  });
});
