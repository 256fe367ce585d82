import { describe, expect, test } from 'vitest';
import { Jsonb } from '#runtime/sql-values/sql-value.ts';
import type { NodeRow } from '#test/support/memory-tables.ts';
import { SqlInMemory, sqlRows } from '#test/support/sql-in-memory.ts';

function node(id: string, name: string | null, version: number | null, properties = {}): NodeRow {
  return { id, name, version, properties: new Jsonb(properties) };
}

const garden = {
  beds: [
    node('b1', 'north', 1, { kind: 'loam', area: 12 }),
    node('b2', 'south', 2, { kind: 'sand' }),
    node('b3', null, null),
  ],
  plants: [node('p1', 'north', 3), node('p2', 'north', 4), node('p3', 'west', 5), node('p4', null, 6)],
  many: Array.from({ length: 5_000 }, (_, index) => node(`m${index}`, `n${index % 7}`, index)),
};

function rows(sql: string): unknown[][] {
  return sqlRows(sql, { workspaces: garden });
}

describe('joins', () => {
  test.each([
    [
      'INNER',
      [
        ['b1', 'p1'],
        ['b1', 'p2'],
      ],
    ],
    [
      'LEFT',
      [
        ['b1', 'p1'],
        ['b1', 'p2'],
        ['b2', null],
        ['b3', null],
      ],
    ],
    [
      'RIGHT',
      [
        ['b1', 'p1'],
        ['b1', 'p2'],
        [null, 'p3'],
        [null, 'p4'],
      ],
    ],
    [
      'FULL',
      [
        ['b1', 'p1'],
        ['b1', 'p2'],
        ['b2', null],
        ['b3', null],
        [null, 'p3'],
        [null, 'p4'],
      ],
    ],
  ])('%s', (type, expected) => {
    const sql = `SELECT b.id AS b, p.id AS p FROM 'beds' b ${type} JOIN 'plants' p ON b.name = p.name ORDER BY b, p`;
    expect(rows(sql)).toEqual(expected);
  });

  test('of a path and a text, or of whole numbers and others, look partners up', () => {
    const workspaces = {
      a: [
        { id: 'a1', path: '/x', version: 1, properties: new Jsonb({ of: '/y' }) },
        { id: 'a2', path: '/y', version: 2, properties: new Jsonb({ of: '/x' }) },
      ],
    };
    for (const [on, expected] of [
      [`a.path = b.properties->>'of'`, ['a2', 'a1']],
      ['a.version = b.version::DOUBLE', ['a1', 'a2']],
      ['b.version::BIGINT = a.version', ['a1', 'a2']],
    ] as const) {
      const run = new SqlInMemory({ workspaces });
      const sql = `SELECT a.id FROM 'a' a JOIN 'a' b ON ${on} ORDER BY b.id`;
      expect(run.json(sql).flat()).toEqual(expected);
      expect(run.explain(sql)).toContain('HashJoin');
    }
    const sql = `SELECT id FROM 'a' WHERE path IN (SELECT properties->>'of' FROM 'a' WHERE id = 'a1')`;
    expect(sqlRows(sql, { workspaces })).toEqual([['a2']]);
  });

  test('a table that is looked at row by row is kept once', () => {
    const run = new SqlInMemory({ workspaces: garden });
    expect(run.json(`SELECT COUNT(*) AS n FROM 'beds' b, 'plants' p WHERE b.version < p.version`)).toEqual([
      [8],
    ]);
    expect(run.tables.visited).toBe(3 + 4);
  });

  test('conditions reach the tables that they name, through inner joins and derived tables', () => {
    const run = new SqlInMemory({ workspaces: garden });
    run.json(
      `SELECT d.v FROM (SELECT version AS v, name AS n FROM 'beds' WHERE version > 0) d JOIN 'plants' p ON d.n = p.name AND p.version > 3 WHERE d.v = 1`,
    );
    expect(run.tables.reads.map(({ conditions }) => conditions.length)).toEqual([2, 1]);
  });

  test('a condition on the outer side of a LEFT JOIN is checked after it', () => {
    const sql = `SELECT b.id FROM 'beds' b LEFT JOIN 'plants' p ON b.name = p.name WHERE p.id IS NULL ORDER BY b.id`;
    expect(rows(sql)).toEqual([['b2'], ['b3']]);
  });

  test('DISTINCT ON chooses before a condition above it', () => {
    const sql = `SELECT * FROM (SELECT DISTINCT ON (name) name AS n, id AS i FROM 'plants' ORDER BY name, version) d WHERE d.i = 'p2'`;
    expect(rows(sql)).toEqual([]);
  });

  test('OR keeps the rows that an outer join has filled, where one side of it may hold for them', () => {
    const sql = `SELECT b.id FROM 'beds' b LEFT JOIN 'plants' p ON p.name = b.name WHERE p.id = 'p1' OR b.id = 'b2'`;
    expect(rows(sql).flat()).toEqual(['b1', 'b2']);
  });

  test('so does what is not NULL for NULL', () => {
    const sql = `SELECT b.id FROM 'beds' b LEFT JOIN 'plants' p ON p.name = b.name WHERE p.name IS DISTINCT FROM 'north'`;
    expect(rows(sql).flat()).toEqual(['b2', 'b3']);
  });

  test('a condition leaves out the row of a group without keys', () => {
    expect(rows(`SELECT n FROM (SELECT COUNT(*) AS n FROM 'beds') AS t WHERE FALSE`)).toEqual([]);
    expect(rows(`SELECT COUNT(*) AS n FROM 'beds' HAVING FALSE`)).toEqual([]);
  });

  test('a condition above a limit, and one above a window, chooses among what they have seen', () => {
    expect(rows(`SELECT id FROM (SELECT id FROM 'beds' ORDER BY id LIMIT 1) AS t WHERE id = 'b2'`)).toEqual(
      [],
    );
    expect(
      rows(
        `SELECT r FROM (SELECT id, ROW_NUMBER() OVER (ORDER BY id) AS r FROM 'beds') AS t WHERE id = 'b2'`,
      ),
    ).toEqual([[2]]);
  });

  test('= ALL of an empty list keeps the rows that a LEFT JOIN has filled', () => {
    const sql = `SELECT b.id FROM 'beds' b LEFT JOIN 'plants' p ON b.name = p.name WHERE p.version = ALL (SELECT version FROM 'beds' WHERE FALSE) ORDER BY b.id`;
    expect(rows(sql)).toEqual([['b1'], ['b1'], ['b2'], ['b3']]);
  });
});

describe('what is read of a table', () => {
  function wanted(sql: string): unknown[] {
    const run = new SqlInMemory({ workspaces: garden });
    run.json(sql);
    return run.tables.reads.map((read) =>
      read.wanted.map((each) =>
        each.kind === 'column'
          ? read.table.columns[each.column]!.name
          : `${each.isText ? '->>' : '->'}${each.key}`,
      ),
    );
  }

  test.each([
    [`SELECT name FROM 'beds' WHERE version = 1`, [['name']]],
    [`SELECT COUNT(*) AS n FROM 'beds'`, [[]]],
    [`SELECT properties->>'kind' AS k, properties->'area'->'x' AS a FROM 'beds'`, [['->>kind', '->area']]],
    [`SELECT properties, properties->>'kind' AS k FROM 'beds'`, [['properties']]],
    [`SELECT d.properties->>'kind' AS k FROM (SELECT * FROM 'beds') d`, [['->>kind']]],
    [`WITH w AS (SELECT * FROM 'beds') SELECT properties->>'kind' AS k FROM w`, [['->>kind']]],
    [`SELECT id FROM 'beds' ORDER BY properties->>'kind'`, [['id', '->>kind']]],
    [`SELECT b.id FROM 'beds' b JOIN 'plants' p ON b.name = p.name`, [['id', 'name'], ['name']]],
    [`SELECT 1 AS x FROM 'beds' WHERE EXISTS (SELECT name FROM 'plants')`, [[], []]],
    [`SELECT translations->>'de' AS t FROM 'beds'`, [['translations']]],
  ])('%s', (sql, expected) => {
    expect(wanted(sql)).toEqual(expected);
  });
});

describe('order and limit', () => {
  const sql = `SELECT id FROM 'many' WHERE version >= 10 ORDER BY version DESC LIMIT 3 OFFSET 1`;
  const expected = [['m4998'], ['m4997'], ['m4996']];

  test('a table that gives the order is neither sorted nor read to its end', () => {
    const run = new SqlInMemory({ workspaces: garden, canOrder: true, batchRows: 10 });
    expect(run.json(sql)).toEqual(expected);
    expect(run.tables.visited).toBe(10);
    expect(run.tables.reads[0]).toMatchObject({
      limit: 4,
      order: [{ isDescending: true, nullsFirst: true }],
    });
    expect(run.explain(sql)).not.toMatch(/TopN|Sort/);
  });

  test('a table that does not is sorted, keeping no more than is wanted', () => {
    const run = new SqlInMemory({ workspaces: garden });
    expect(run.json(sql)).toEqual(expected);
    expect(run.explain(sql)).toMatch(/Limit: limit=3, offset=1\n +TopN: .*count=4/);
  });

  test('the order goes through a projection', () => {
    const derived = `SELECT d.i FROM (SELECT id AS i, properties->>'kind' AS k FROM 'beds') d ORDER BY d.k LIMIT 2`;
    const run = new SqlInMemory({ workspaces: garden, canOrder: true });
    expect(run.json(derived)).toEqual([['b1'], ['b2']]);
    expect(run.tables.reads[0]!.order).toEqual([
      { wanted: { kind: 'property', key: 'kind', isText: true }, isDescending: false, nullsFirst: false },
    ]);
    expect(run.explain(derived)).not.toMatch(/TopN|Sort/);
  });

  test('an order that the table gave to an inner query is not taken for that of the outer one', () => {
    const nested = `SELECT d.i FROM (SELECT id AS i, version AS v FROM 'beds' ORDER BY version DESC LIMIT 10) d ORDER BY d.i DESC`;
    expect(sqlRows(nested, { workspaces: garden, canOrder: true })).toEqual([['b3'], ['b2'], ['b1']]);
  });

  test('a limit stops the table below it', () => {
    const run = new SqlInMemory({ workspaces: garden, batchRows: 10 });
    expect(run.json(`SELECT id FROM 'many' LIMIT 12`)).toHaveLength(12);
    expect(run.tables.visited).toBe(20);
    expect(run.tables.reads[0]!.limit).toBe(12);
  });

  test.each([
    ['LIMIT 0', []],
    ['LIMIT 2', ['b1', 'b2']],
    ['OFFSET 1', ['b2', 'b3']],
    ['LIMIT 1 OFFSET 1', ['b2']],
    ['LIMIT 5 OFFSET 3', []],
  ])('%s', (limit, ids) => {
    expect(rows(`SELECT id FROM 'beds' ORDER BY id ${limit}`).flat()).toEqual(ids);
    expect(rows(`SELECT id FROM 'beds' ${limit}`).flat()).toEqual(ids);
  });
});

describe('subqueries', () => {
  test('of several rows are no value', () => {
    expect(() => rows(`SELECT (SELECT id FROM 'beds') AS x`)).toThrow(
      'more than one row returned by a subquery used as an expression',
    );
  });

  test('that fail are an error only where their value is used', () => {
    expect(
      rows(
        `SELECT CASE WHEN version > 0 THEN 1 ELSE (SELECT version FROM 'beds') END AS x FROM 'plants' LIMIT 1`,
      ),
    ).toEqual([[1]]);
  });

  test('are run once, and not without a row', () => {
    const run = new SqlInMemory({ workspaces: garden });
    run.json(
      `SELECT id FROM 'many' WHERE version > (SELECT MAX(version) FROM 'plants') AND name IN (SELECT name FROM 'beds')`,
    );
    expect(run.tables.visited).toBe(5_000 + 4 + 3);
    const none = new SqlInMemory({ workspaces: garden });
    none.json(`SELECT id FROM 'beds' WHERE version > 100 AND name IN (SELECT name FROM 'many')`);
    expect(none.tables.visited).toBe(3);
  });

  test('of no row are NULL', () => {
    expect(
      rows(`SELECT (SELECT id FROM 'beds' WHERE FALSE) AS x, EXISTS (SELECT 1 FROM 'beds' WHERE FALSE) AS e`),
    ).toEqual([[null, false]]);
  });

  test('EXISTS reads up to the first row', () => {
    const run = new SqlInMemory({ workspaces: garden, batchRows: 5 });
    expect(run.json(`SELECT EXISTS (SELECT 1 FROM 'many') AS e`)).toEqual([[true]]);
    expect(run.tables.visited).toBe(5);
  });

  test('stand in VALUES, in joins, in groups and in orders', () => {
    expect(rows(`VALUES ((SELECT MAX(version) FROM 'beds'))`)).toEqual([[2]]);
    expect(
      rows(
        `SELECT b.id FROM 'beds' b LEFT JOIN 'plants' p ON b.version = (SELECT MIN(version) FROM 'beds') AND p.id = 'p1' WHERE p.id IS NOT NULL`,
      ),
    ).toEqual([['b1']]);
    expect(
      rows(`SELECT COUNT(*) FILTER (WHERE name IN (SELECT name FROM 'plants')) AS n FROM 'beds'`),
    ).toEqual([[1]]);
    expect(
      rows(`SELECT id FROM 'beds' ORDER BY id IN (SELECT id FROM 'beds' WHERE id = 'b2') DESC, id`).flat(),
    ).toEqual(['b2', 'b1', 'b3']);
  });
});

describe('common tables', () => {
  test('are run once, however often they are read', () => {
    const run = new SqlInMemory({ workspaces: garden });
    const sql = `WITH w AS (SELECT name AS n FROM 'beds') SELECT COUNT(*) AS n FROM w x, w y WHERE x.n = y.n`;
    expect(run.json(sql)).toEqual([[2]]);
    expect(run.tables.visited).toBe(3);
    expect(run.execution.budget.memory).toBe(0);
  });

  test('that nothing reads are not run', () => {
    const run = new SqlInMemory({ workspaces: garden });
    expect(run.json(`WITH w AS (SELECT name FROM 'beds') SELECT 1 AS x`)).toEqual([[1]]);
    expect(run.tables.reads).toEqual([]);
  });

  test('that are read once help with the conditions of the reader', () => {
    const run = new SqlInMemory({ workspaces: garden });
    run.json(`WITH w AS (SELECT id, name AS n FROM 'beds') SELECT id FROM w WHERE n = 'north'`);
    expect(run.tables.reads[0]!.conditions).toHaveLength(1);
  });

  test('recursive ones go on until a round has no rows', () => {
    expect(
      rows(
        `WITH RECURSIVE t AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM t WHERE n < 5) SELECT n FROM t`,
      ).flat(),
    ).toEqual([1, 2, 3, 4, 5]);
    expect(
      rows(`WITH RECURSIVE t AS (SELECT 1 AS n UNION SELECT n % 3 FROM t) SELECT n FROM t`).flat(),
    ).toEqual([1]);
    const up = `WITH RECURSIVE t AS (SELECT id, name FROM 'plants' WHERE id = 'p1' UNION SELECT b.id, b.name FROM 'plants' b JOIN t ON b.name = t.name) SELECT id FROM t ORDER BY id`;
    expect(rows(up).flat()).toEqual(['p1', 'p2']);
  });

  test('recursive ones without end stop at a limit above them', () => {
    const sql = `WITH RECURSIVE t AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM t) SELECT n FROM t LIMIT 4`;
    expect(rows(sql).flat()).toEqual([1, 2, 3, 4]);
  });

  test.each([
    ['work', { workMax: 20_000_000 }],
    ['memory', { memoryMax: 1_000_000 }],
  ])('recursive ones without end are refused at the limit of %s, with pauses', (_name, limits) => {
    const run = new SqlInMemory({ workspaces: garden, limits });
    const sql = `WITH RECURSIVE t AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM t) SELECT MAX(n) AS m FROM t`;
    expect(() => run.json(sql)).toThrow(expect.objectContaining({ code: 'REQUEST_TOO_EXPENSIVE' }));
    expect(run.longestStep).toBeLessThan(2_000_000);
    expect(run.execution.budget.memory).toBe(0);
  });
});

test('a row as JSON has the names of its columns as keys, whatever they mean to objects', () => {
  const [[row]] = rows(`SELECT TO_JSON(t) AS j FROM (SELECT 1 AS "__proto__", 2 AS a) AS t`) as [[object]];
  expect(JSON.stringify(row)).toBe('{"__proto__":1,"a":2}');
});

describe('memory', () => {
  const long = `REPEAT('x', 1000)`;
  const numbers = (union: string): string =>
    `WITH RECURSIVE t AS (SELECT 1 AS n, ${long} AS x ${union} SELECT n + 1, x FROM t WHERE n < 500) SELECT MAX(n) AS m FROM t`;

  test('of the rows that a recursive table knows is counted', () => {
    const limits = { memoryMax: 1_500_000 };
    expect(sqlRows(numbers('UNION ALL'), { limits })).toEqual([[500]]);
    expect(() => sqlRows(numbers('UNION'), { limits })).toThrow(
      expect.objectContaining({ code: 'REQUEST_TOO_EXPENSIVE' }),
    );
  });

  test('of the values that a subquery gives is counted', () => {
    const sql = `SELECT 'x' IN (SELECT id FROM 'many') AS e`;
    expect(sqlRows(sql, { workspaces: garden })).toEqual([[false]]);
    expect(() => sqlRows(sql, { workspaces: garden, limits: { memoryMax: 100_000 } })).toThrow(
      expect.objectContaining({ code: 'REQUEST_TOO_EXPENSIVE' }),
    );
  });
});

describe('a run', () => {
  const heavy = `SELECT a.name AS n, COUNT(*) AS c FROM 'many' a JOIN 'many' b ON a.name = b.name AND a.version > b.version + 4000 WHERE a.version > 4800 GROUP BY a.name ORDER BY n`;

  test('pauses after each millisecond of work', () => {
    const run = new SqlInMemory({ workspaces: garden });
    run.json(heavy);
    expect(run.execution.budget.work).toBeGreaterThan(20_000_000);
    expect(run.longestStep).toBeLessThan(2_500_000);
  });

  test('frees everything when it is abandoned', () => {
    const run = new SqlInMemory({ workspaces: garden, batchRows: 100 });
    const statement = run.open(
      `WITH w AS (SELECT id, name FROM 'many') SELECT x.id FROM w x JOIN w y ON x.name = y.name`,
    );
    expect(run.batch(statement)!.length).toBeGreaterThan(0);
    expect(run.execution.budget.memory).toBeGreaterThan(0);
    expect(run.tables.open).toBe(0);
    statement.close();
    statement.close();
    expect(run.execution.budget.memory).toBe(0);
  });

  test('closes its tables when it is abandoned', () => {
    const run = new SqlInMemory({ workspaces: garden, batchRows: 100 });
    const statement = run.open(`SELECT id FROM 'many'`);
    run.batch(statement);
    expect(run.tables.open).toBe(1);
    statement.close();
    expect(run.tables.open).toBe(0);
  });

  test('names its columns also without rows', () => {
    const run = new SqlInMemory({ workspaces: garden });
    const statement = run.open(`SELECT id, version AS v FROM 'beds' WHERE FALSE`);
    expect(statement.columns).toEqual([
      { name: 'id', type: { name: 'text' } },
      { name: 'v', type: { name: 'int' } },
    ]);
    statement.close();
  });
});

describe('EXPLAIN', () => {
  const sql = `SELECT b.id FROM 'beds' b JOIN 'plants' p ON b.name = p.name WHERE p.version > 3 ORDER BY b.id LIMIT 2`;

  test('shows the steps, each below what reads it', () => {
    const run = new SqlInMemory({ workspaces: garden });
    expect(run.explain(sql).split('\n')).toEqual([
      '=== Physical Execution Plan ===',
      '  Project: b.id',
      '    Limit: limit=2, offset=0',
      '      TopN: keys=[b.id ASC], count=2',
      '        HashJoin: type=inner, on=(b.name = p.name)',
      '          TableScan: workspace=beds (rows=3)',
      '          TableScan: workspace=plants, filter=(p.version > 3) (rows=4)',
    ]);
    expect(run.tables.visited).toBe(0);
  });

  test('VERBOSE shows the logical plan before and after conditions were moved', () => {
    const text = new SqlInMemory({ workspaces: garden }).explain(sql, { isVerbose: true });
    const [, logical, optimized] = text.split(/=== .* ===\n/);
    expect(text.startsWith('=== Logical Plan ===')).toBe(true);
    expect(logical).toMatch(/Filter: \(p\.version > 3\)\n +Join/);
    expect(optimized).toMatch(/Join.*\n.*Scan.*beds.*\n +Filter: \(p\.version > 3\)\n +Scan/);
  });

  test('ANALYZE runs the statement, and counts the rows of each step', () => {
    const run = new SqlInMemory({ workspaces: garden });
    const text = run.explain(sql, { isAnalyze: true });
    expect(text).toMatch(/HashJoin: .* \(rows=1 time=\d+\.\d\d ms\)/);
    expect(text).toMatch(/TableScan: workspace=beds .*\(rows=3 time=/);
    expect(run.tables.visited).toBe(7);
    expect(run.execution.budget.memory).toBe(0);
    expect(run.tables.open).toBe(0);
  });

  test('shows subqueries and common tables', () => {
    const text = new SqlInMemory({ workspaces: garden }).explain(
      `WITH w AS (SELECT name AS n FROM 'beds') SELECT x.n FROM w x, w y WHERE x.n IN (SELECT name FROM 'plants')`,
    );
    expect(text).toMatch(/HashSemiJoin\n +TableScan: workspace=plants/);
    expect(text).toMatch(/CommonTable: w\n +TableScan: workspace=beds/);
  });
});

test('a statement that is nested too deeply is an error of the caller', () => {
  const chain = (count: number): string =>
    Array.from({ length: count }, (_, index) => `name || '${index}'`).join(' || ');
  expect(rows(`SELECT ${chain(40)} AS x FROM 'beds' WHERE id = 'b3'`)).toEqual([[null]]);
  expect(() => rows(`SELECT ${chain(4_000)} AS x FROM 'beds'`)).toThrow(
    expect.objectContaining({ code: 'VALIDATION_FAILED' }),
  );
});

test('a plan says that a workspace does not exist', () => {
  const run = new SqlInMemory({ workspaces: garden });
  const missing = "Values: rows=0, workspace 'bed' does not exist";
  expect(run.explain('SELECT id FROM bed WHERE version > 1')).toContain(missing);
  expect(run.explain('SELECT id FROM bed', { isVerbose: true }).split(missing)).toHaveLength(4);
  expect(run.explain('SELECT b.id FROM beds b, (SELECT id FROM bed) c')).toContain(missing);
  expect(run.explain('SELECT id FROM beds')).not.toContain('does not exist');
  expect(run.explain('SELECT 1')).toMatch(/Values: rows=1$/);
});

test('a call that names no column is made once for a statement, and its memory freed', () => {
  const run = new SqlInMemory({ workspaces: garden });
  const sql = "SELECT id FROM many WHERE name = REPEAT('n', 100000) OR (version < 0 AND 1 / 0 = 1)";
  expect(run.rows(sql)).toEqual([]);
  // The text for each of the 5,000 rows would be seconds of work.
  expect(run.execution.budget.work).toBeLessThan(100_000_000);
  expect(run.execution.budget.memory).toBe(0);
});
