import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { BranchQuery } from '#actors/branch/messages.ts';
import type { JsonValue } from '#runtime/content/values/json-value.ts';
import { administrator } from '#test/support/branch-fixture.ts';
import { roleCaller } from '#test/support/role-caller.ts';
import { SqlGarden } from '#test/support/sql-garden.ts';

let garden: SqlGarden;

beforeAll(async () => {
  garden = await SqlGarden.open();
});
afterAll(() => garden.close());

/** The lines of an explanation. */
async function plan(
  sql: string,
  parameters: readonly JsonValue[] = [],
  caller = administrator,
): Promise<readonly string[]> {
  const query: BranchQuery = { type: 'RunSql', sql, parameters };
  const answer = (await garden.branch.query(query, caller)) as {
    readonly rows: readonly unknown[];
    readonly explain_plan: string;
  };
  expect(answer.rows).toEqual([{ 'QUERY PLAN': answer.explain_plan }]);
  return answer.explain_plan.split('\n');
}

const head = '=== Physical Execution Plan ===';

describe('EXPLAIN of a statement that writes', () => {
  it('names the workspace and that it is done in bulk [SQLEX-106, SQL-045]', async () => {
    const lines = await plan(`EXPLAIN UPDATE 'g' SET name = 'q' WHERE CHILD_OF('/beds')`);
    expect(lines).toEqual([
      head,
      '  Update: workspace=g, strategy=bulk, columns=[name]',
      `    Project: g.id, 'q'`,
      '      ChildrenScan: parent=/beds (rows=2)',
    ]);
  });

  it('names the fast path, and how the one node is found [SQL-045]', async () => {
    expect((await plan(`EXPLAIN UPDATE 'g' SET name = 'q' WHERE id = 'b1' RETURNING *`)).slice(0, 2)).toEqual(
      [head, '  Update: workspace=g, strategy=fast path, columns=[name]'],
    );
    expect(await plan(`EXPLAIN DELETE FROM 'g' WHERE path = $1`, ['/beds/north'])).toEqual([
      head,
      '  Delete: workspace=g, strategy=fast path',
      '    PathIndexScan: path=/beds/north (rows=1)',
    ]);
    expect((await plan(`EXPLAIN DELETE FROM 'g' WHERE id IN ('b1')`))[1]).toBe(
      '  Delete: workspace=g, strategy=bulk',
    );
  });

  it('shows the rows of an INSERT', async () => {
    const values = `EXPLAIN INSERT INTO 'g' (path, node_type) VALUES ('/x', 'svc:Folder')`;
    expect((await plan(values)).slice(0, 2)).toEqual([
      head,
      '  Insert: workspace=g, columns=[path, node_type]',
    ]);
    const rows = await plan(
      `EXPLAIN UPSERT INTO 'g' (path, node_type) SELECT path, node_type FROM 'p' WHERE id = 'u1'`,
    );
    expect(rows[1]).toBe('  Upsert: workspace=g, columns=[path, node_type]');
    expect(rows.at(-1)).toMatch(/NodeIdScan: id=u1/);
  });

  it('shows logical plans where they are asked for', async () => {
    const lines = await plan(`EXPLAIN VERBOSE DELETE FROM 'g' WHERE name = 'x'`);
    expect(lines.filter((line) => line.startsWith('==='))).toEqual([
      '=== Logical Plan ===',
      '=== Optimized Logical Plan ===',
      head,
    ]);
    expect(lines.map((line) => line.trim())).toContain('Scan: workspace=g, alias=g');
  });

  it('is refused as the statement would be, and is never measured', async () => {
    await expect(plan(`EXPLAIN UPDATE 'g' SET name = 'q'`)).rejects.toThrow('UPDATE requires a WHERE clause');
    await expect(plan(`EXPLAIN DELETE FROM 'nowhere' WHERE id = 'x'`)).rejects.toThrow(
      `Workspace 'nowhere' not found`,
    );
    await expect(plan(`EXPLAIN ANALYZE DELETE FROM 'g' WHERE id = 'b1'`)).rejects.toThrow(/ANALYZE/);
  });

  it('does not tell how many nodes there are to whoever may not read all', async () => {
    const caller = roleCaller([{ path: '/sheds/**', operations: ['read'] }]);
    const [known, unknown] = await Promise.all(
      ['/beds', '/none'].map(async (path) => {
        const lines = await plan(`EXPLAIN DELETE FROM 'g' WHERE CHILD_OF('${path}')`, [], caller);
        return lines.join('\n').replace(path, '');
      }),
    );
    expect(known).toBe(unknown);
  });

  it('writes nothing, also within a transaction [SQL-045, SQLEX-106]', async () => {
    const before = await garden.branch.read('/beds', undefined, 'g');
    const sql = `EXPLAIN DELETE FROM 'g' WHERE DESCENDANT_OF('/'); EXPLAIN UPDATE 'g' SET name = 'q' WHERE id = 'b1'`;
    const { revision, rows } = await garden.run(sql, { isTransaction: true });
    expect(revision).toBeNull();
    expect(rows).toEqual([{ 'QUERY PLAN': expect.stringContaining('strategy=fast path') }]);
    expect(await garden.branch.read('/beds', undefined, 'g')).toEqual(before);
    expect(await garden.read('g', '/beds/north')).toMatchObject({ id: 'b1', name: 'north' });
  });
});
