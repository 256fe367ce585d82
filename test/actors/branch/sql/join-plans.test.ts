import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseRevision } from '#runtime/content/revision.ts';
import type { Caller } from '#runtime/commit/behaviour.ts';
import type { BoundCall } from '#runtime/sql-plan/bound/bound-statement.ts';
import { column, compare } from '#test/support/bound-expressions.ts';
import { administrator, type BranchFixture, callerWith, openBranch } from '#test/support/branch-fixture.ts';
import { forcedPlan, forcedRows, type ForcedRun, joinPlans } from '#test/support/forced-tables.ts';
import { withTables } from '#test/support/sql-tables.ts';
import { stepped } from '#test/support/stepped.ts';
import { fillJoinTables, joinTables, joinTypes, RandomJoins } from '#test/sql/random-joins.ts';

let branch: BranchFixture;

beforeAll(async () => {
  const anything = { allowed_node_types: [], allowed_root_node_types: [] };
  const workspaces = Object.fromEntries(Object.keys(joinTables).map((name) => [name, anything]));
  branch = await openBranch({ nodeTypes: joinTypes, workspaces });
  await fillJoinTables(branch);
  await branch.buildIndexes();
});
afterAll(() => branch.close());

const sorted = (rows: readonly unknown[][]): readonly string[] =>
  rows.map((row) => JSON.stringify(row)).sort();

/** The rows of a query, the same ones however its joins are made. */
function rowsOf(sql: string, run: ForcedRun = {}): readonly string[] {
  const expected = sorted(forcedRows(branch, sql, { ...run, plans: 'hash' }));
  for (const plans of joinPlans) {
    expect(sorted(forcedRows(branch, sql, { ...run, plans })), `${plans}: ${sql}`).toEqual(expected);
  }
  return expected;
}

describe('the plan of a join', () => {
  test('looks up the rows of a large table by the keys of a small one [SQL-143]', () => {
    const sql =
      "SELECT m.id FROM many m JOIN middle x ON x.path = m.path WHERE x.path IN ('/n1', '/n2', '/n0/n2')";
    expect(forcedPlan(branch, sql)).toEqual([
      '  Project: m.id (rows=2)',
      '    IndexLookupJoin: type=inner, on=(x.path = m.path) (rows=2)',
      '      PathIndexScan: path=<key> (rows=1 per key) (rows=2 lookups=2 scans=0)',
      '      PathIndexScan: path IN (3 values) (rows=3) (rows=2)',
    ]);
    expect(rowsOf(sql)).toHaveLength(2);
  });

  test.each([
    ['id', "m.id = x.properties->>'target'", 'NodeIdScan: id=<key>'],
    ['property', "m.properties->>'target' = x.id", 'PropertyIndexScan: target=<key>'],
    [
      'unique property',
      "m.node_type = 'join:Item' AND m.properties->>'serial' = x.properties->>'code'",
      'UniqueIndexScan: serial=<key>',
    ],
    ['parent', 'PARENT(m.path) = x.path', 'ChildrenScan: parent=<key>'],
  ])('finds rows by %s', (_name, on, path) => {
    const sql = `SELECT m.id, x.id FROM middle x LEFT JOIN many m ON ${on} WHERE x.path = '/n4'`;
    const plan = forcedPlan(branch, sql, { plans: 'lookup' });
    expect(plan.find((line) => line.includes('<key>'))).toContain(path);
    expect(plan.join('\n')).toMatch(/IndexLookupJoin: type=left/);
    rowsOf(sql);
    rowsOf(sql.replace("'/n4'", "'/n4' OR x.depth > 0"));
  });

  test('scans for keys that are so long that a table of them would take long to make', () => {
    for (const [length, shown] of [
      [4_096, 'lookups=2 scans=0'],
      [4_097, 'lookups=0 scans=1'],
    ] as const) {
      const sql = `SELECT m.id FROM many m JOIN (VALUES (REPEAT('x', ${length})), ('n0')) v (k) ON m.id = v.k`;
      expect(forcedPlan(branch, sql, { plans: 'lookup' }).join('\n')).toContain(shown);
      rowsOf(sql);
    }
  });

  test('scans by another index where a folder has more children than that has rows', () => {
    const sql =
      'SELECT m.id FROM middle x JOIN many m ON PARENT(m.path) = PARENT(x.path) ' +
      "WHERE x.path = '/n4' AND m.properties->>'target' = (SELECT id FROM middle WHERE path = '/n4')";
    const constant = forcedRows(branch, "SELECT id FROM middle WHERE path = '/n4'")[0]?.[0];
    const plan = forcedPlan(branch, sql.replace(/\(SELECT.*\)/, `'${constant}'`));
    expect(plan.find((line) => line.includes('parent=<key>'))).toContain('lookups=0 scans=1');
    rowsOf(sql);
    // All rows would be read otherwise.
    const all = 'SELECT m.id FROM middle x JOIN many m ON PARENT(m.path) = x.path WHERE x.path = ';
    expect(forcedPlan(branch, `${all}'/n4'`).find((line) => line.includes('parent=<key>'))).toContain(
      'lookups=1 scans=0',
    );
  });

  test('merges sides that come in the order of the key anyway', () => {
    const sql = 'SELECT a.id, b.id FROM many a FULL JOIN middle b ON a.id = b.id';
    expect(forcedPlan(branch, sql, { plans: 'merge' })[0]).toContain(
      'MergeJoin: type=full, on=(a.id = b.id)',
    );
    expect(rowsOf(sql)).toHaveLength(joinTables.many + joinTables.middle);
    const both = 'SELECT a.id, c.path FROM many a JOIN many b ON a.id = b.id LEFT JOIN many c ON c.id = a.id';
    expect(
      forcedPlan(branch, both, { plans: 'merge' }).filter((line) => line.includes('MergeJoin')),
    ).toHaveLength(2);
    expect(rowsOf(both)).toHaveLength(joinTables.many);
  });

  test('begins with the smallest input, and keeps the columns in their order', () => {
    const sql =
      "SELECT * FROM (SELECT m.id AS a, x.id AS b, f.id AS c FROM many m JOIN middle x ON x.properties->>'group' = m.properties->>'group' JOIN few f ON f.path = x.path) t";
    const plan = forcedPlan(branch, sql, { plans: 'hash' });
    const scans = plan.filter((line) => line.includes('TableScan')).map((line) => line.trim().split(' ')[1]);
    expect(scans).toEqual(['few', 'middle', 'many']);
    const [first] = rowsOf(sql);
    expect(JSON.parse(first as string)).toEqual([
      expect.stringMatching(/^00000002/),
      expect.stringMatching(/^00000001/),
      expect.stringMatching(/^00000000/),
    ]);
  });

  test('keeps the order in which conditions that may fail were written', () => {
    const code = "properties->>'code'";
    const sql =
      `SELECT m.id FROM many m JOIN middle x ON x.${code} = m.${code} AND m.${code} = '7' ` +
      `JOIN few f ON (x.${code})::INT = f.depth + 6 AND f.path = '/n1'`;
    expect(rowsOf(sql).length).toBeGreaterThan(0);
  });

  test('finds rows by the values of a subquery', () => {
    const sql = "SELECT id FROM many WHERE properties->>'target' IN (SELECT id FROM few WHERE path = '/n4')";
    expect(forcedPlan(branch, sql, { plans: 'lookup' }).find((line) => line.includes('<key>'))).toMatch(
      /PropertyIndexScan: target=<key> \(rows=4 per key\) \(rows=\d+ lookups=1 scans=0\)$/,
    );
    expect(rowsOf(sql).length).toBeGreaterThan(0);
    expect(rowsOf(sql.replace(' IN ', ' NOT IN ')).length).toBeGreaterThan(0);
    expect(rowsOf("SELECT id FROM many WHERE path = (SELECT path FROM few WHERE path = '/n4')")).toHaveLength(
      1,
    );
    expect(rowsOf('SELECT id FROM many WHERE id IN (SELECT NULL)')).toEqual([]);
  });

  test('raises the error of a subquery only where there is a row', () => {
    const failing = (where: string) =>
      `SELECT id FROM many WHERE ${where}path IN (SELECT ('/x' || (1 / (depth - 1))::TEXT)::PATH FROM few)`;
    for (const plans of joinPlans) {
      expect(() => forcedRows(branch, failing(''), { plans })).toThrow('Division by zero');
      expect(forcedRows(branch, failing("id = 'none' AND "), { plans })).toEqual([]);
    }
  });
});

describe('what is looked up', () => {
  test('has the rows that the caller may read, and no others [SQL-144]', () => {
    fc.assert(
      fc.property(fc.nat(), fc.integer({ min: 2, max: 5 }), fc.nat(4), (seed, divisor, rest) => {
        const caller = callerWith((_operation, { node }) => Number(node?.id.slice(-3)) % divisor !== rest);
        const joins = new RandomJoins(seed + 1);
        const sql = joins.next();
        if (!sql.includes('CROSS')) rowsOf(sql, { caller });
        const hidden = rowsOf('SELECT m.id FROM many m JOIN middle x ON PARENT(m.path) = x.path', { caller });
        for (const row of hidden) expect(Number(row.slice(-5, -2)) % divisor).not.toBe(rest);
      }),
      { numRuns: 6 },
    );
  });

  test('is measured only for a caller who may read every node', () => {
    const key = { expression: column('id'), equals: (compare('id', '=', 'x') as BoundCall).function };
    const isMeasured = (caller: Caller): boolean | undefined =>
      withTables(branch, { caller }, (tables) => {
        const { lookUp } = tables.access({ plan: { workspace: 'many' } });
        return lookUp && stepped(lookUp(key)).value?.isMeasured;
      });
    expect([isMeasured(administrator), isMeasured(callerWith(() => true))]).toEqual([true, false]);
  });

  test('is not chosen by what the caller cannot read', () => {
    const sql = 'SELECT m.id FROM many m JOIN few x ON x.path = m.path';
    const plan = (allows: boolean) =>
      forcedPlan(branch, sql, { caller: callerWith(() => allows) }).map((line) =>
        line.replace(/ \(rows=\d+[^)]*\)$/, ''),
      );
    expect(plan(true)).toEqual(plan(false));
  });

  test('is that of the revision which is read', async () => {
    const sql =
      "SELECT m.path, x.path FROM few x JOIN many m ON m.path = x.path OR m.id = 'none' WHERE x.path = '/n4'";
    const joined =
      "SELECT m.path, m.properties->>'code' FROM few x JOIN many m ON m.path = x.path WHERE x.path IN ('/n4', '/n6')";
    const before = rowsOf(joined);
    const { revision } = await branch.command({
      type: 'UpdateNode',
      workspace: 'many',
      place: { path: '/n4' },
      properties: { code: 'changed' },
    });
    const at = parseRevision(revision);
    expect(rowsOf(joined)).not.toEqual(before);
    await branch.command({ type: 'DeleteNode', workspace: 'many', place: { path: '/n6' } });
    expect(rowsOf(joined)).toHaveLength(1);
    expect(rowsOf(joined, { at })).toHaveLength(2);
    expect(rowsOf(sql)).toHaveLength(1);
  });
});
