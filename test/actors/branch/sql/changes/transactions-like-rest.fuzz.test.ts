import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { BranchCommand } from '#actors/branch/messages.ts';
import type { JsonObject, JsonValue } from '#runtime/content/values/json-value.ts';
import { findDamage } from '#test/support/branch-checker.ts';
import { type BranchFixture, openBranch, WORKSPACE as workspace } from '#test/support/branch-fixture.ts';
import { transact } from '#test/support/sql-changes.ts';
import { workloadCount } from '#test/support/workload-count.ts';

const nodeTypes: readonly JsonObject[] = [
  {
    name: 't:Item',
    properties: [
      { name: 'code', type: 'String', unique: true },
      { name: 'size', type: 'Number', index: ['Property'] },
    ],
  },
];

/** A write, as a statement and as a command of REST. Places are ids within one run. */
interface Write {
  readonly sql: (base: string) => string;
  readonly command: (base: string) => BranchCommand;
}

const ids = ['a', 'b', 'c', 'd'] as const;
const id = fc.constantFrom(...ids);
const name = fc.constantFrom('k', 'l', 'm');
const parent = fc.constantFrom('', '/k', '/l', '/k/m');
const properties: fc.Arbitrary<JsonObject> = fc.record(
  { code: fc.constantFrom('1', '2', '3'), size: fc.integer({ min: 0, max: 3 }) as fc.Arbitrary<JsonValue> },
  { requiredKeys: [] },
);
const type = fc.constantFrom('t:Item', 'svc:Folder');

const json = (value: JsonObject): string => `'${JSON.stringify(value)}'`;
/** Ids and unique values are told apart by the run. */
const own = (base: string, text: string): string => `${base.slice(1)}-${text}`;
const coded = (base: string, { code, ...others }: JsonObject): JsonObject =>
  code === undefined ? others : { ...others, code: own(base, code as string) };

const create: fc.Arbitrary<Write> = fc
  .tuple(id, parent, name, type, properties)
  .map(([key, under, as, of, given]) => ({
    sql: (base) =>
      `INSERT INTO '${workspace}' (id, path, node_type, properties) VALUES ('${own(base, key)}', '${base}${under}/${as}', '${of}', ${json(coded(base, given))})`,
    command: (base) => ({
      type: 'CreateNode',
      workspace,
      parentPath: `${base}${under}`,
      node: { id: own(base, key), name: as, nodeType: of, properties: coded(base, given) },
      deep: false,
    }),
  }));

const update: fc.Arbitrary<Write> = fc.tuple(id, properties).map(([key, given]) => ({
  sql: (base) =>
    `UPDATE '${workspace}' SET properties = ${json(coded(base, given))} WHERE id = '${own(base, key)}'`,
  command: (base) => ({
    type: 'UpdateNode',
    workspace,
    place: { id: own(base, key) },
    properties: coded(base, given),
  }),
}));

const patch: fc.Arbitrary<Write> = fc.tuple(id, properties).map(([key, given]) => ({
  sql: (base) =>
    `UPDATE '${workspace}' SET properties = properties || ${json(coded(base, given))} WHERE id = '${own(base, key)}'`,
  command: (base) => ({
    type: 'PatchNode',
    workspace,
    place: { id: own(base, key) },
    properties: coded(base, given),
  }),
}));

const rename: fc.Arbitrary<Write> = fc.tuple(id, name).map(([key, as]) => ({
  sql: (base) => `UPDATE '${workspace}' SET name = '${as}' WHERE id = '${own(base, key)}'`,
  command: (base) => ({ type: 'RenameNode', workspace, place: { id: own(base, key) }, newName: as }),
}));

const remove: fc.Arbitrary<Write> = fc.tuple(parent, name).map(([under, as]) => ({
  sql: (base) => `DELETE FROM '${workspace}' WHERE path = '${base}${under}/${as}'`,
  command: (base) => ({ type: 'DeleteNode', workspace, place: { path: `${base}${under}/${as}` } }),
}));

const writes = fc.array(
  fc.oneof({ arbitrary: create, weight: 4 }, update, patch, rename, { arbitrary: remove, weight: 1 }),
  { minLength: 1, maxLength: 12 },
);

async function codeOf(work: Promise<unknown>): Promise<string> {
  return await work.then(
    () => 'done',
    (error: { code?: string; cause?: { code?: string } }) => {
      if (error.code === undefined) throw error;
      // At the root of a workspace REST says that the request is invalid, where SQL says that the path is taken.
      return error.code;
    },
  );
}

async function stateOf(branch: BranchFixture, base: string): Promise<unknown> {
  const sql = `SELECT id, path, name, node_type, properties, parent_name, version, owner_id FROM '${workspace}' WHERE DESCENDANT_OF('${base}') ORDER BY __tree_order`;
  return ((await branch.query({ type: 'RunSql', sql, parameters: [] })) as { rows: unknown }).rows;
}

describe('statements in one transaction', () => {
  let branch: BranchFixture;
  let beside: BranchFixture;
  let runs = 0;

  beforeAll(async () => {
    branch = await openBranch({ nodeTypes });
    beside = await openBranch({ nodeTypes });
  });

  afterAll(async () => {
    await branch.close();
    await beside.close();
  });

  it('leave what the commands of REST leave one after the other, and fail where those do [SQL-130]', async () => {
    await fc.assert(
      fc.asyncProperty(writes, async (drawn) => {
        runs += 1;
        const base = `/r${runs}`;
        for (const each of [branch, beside]) await each.create(base);
        const done: string[] = [];
        for (const { command, sql } of drawn) {
          const code = await codeOf(beside.command(command(base)));
          const text = [...done, sql(base)].join('; ');
          const dry = await codeOf(transact(branch, text, { dryRun: true }));
          // Deleting what is not there is no error of SQL.
          const isMissing = command(base).type === 'DeleteNode' && code === 'NODE_NOT_FOUND';
          expect([text, dry]).toEqual([text, isMissing ? 'done' : code]);
          if (code === 'done') done.push(sql(base));
        }
        if (done.length > 0) await transact(branch, done.join('; '));
        expect(await stateOf(branch, base)).toEqual(await stateOf(beside, base));
      }),
      { numRuns: workloadCount(12) },
    );
    expect(await branch.inspect(findDamage)).toEqual([]);
  }, 120_000);
});
