import { describe, expect, it } from 'vitest';
import { bound, columns, errorOf, shown, step, steps } from './binding.ts';

const g = `FROM 'g'`;

describe('ORDER BY', () => {
  const keys = (sql: string): readonly string[] =>
    step(bound(sql).query.plan, 'sort').keys.map(
      ({ expression, isDescending, nullsFirst }) =>
        `${shown(expression)} ${isDescending ? 'desc' : 'asc'} ${nullsFirst ? 'first' : 'last'}`,
    );

  it('has NULLs at the end, or first when it descends', () => {
    expect(keys(`SELECT id ${g} ORDER BY path, name DESC, version NULLS FIRST, id DESC NULLS LAST`)).toEqual([
      'r0.c1 asc last',
      'r0.c2 desc first',
      'r0.c7 asc first',
      'r0.c0 desc last',
    ]);
  });

  it('means a name of the select list before a column', () => {
    expect(keys(`SELECT id AS path ${g} ORDER BY path, g.path, 1`)).toEqual([
      'r0.c0 asc last',
      'r0.c1 asc last',
    ]);
    expect(keys(`SELECT LOWER(id) AS x ${g} ORDER BY x`)).toEqual(['LOWER(r0.c0) asc last']);
    expect(errorOf(`SELECT id AS x, path AS x ${g} ORDER BY x`)).toMatch(/^Ambiguous column reference: x /);
    expect(keys(`SELECT id, id ${g} ORDER BY id`)).toHaveLength(1);
    expect(errorOf(`SELECT id ${g} ORDER BY 2`)).toMatch(/^ORDER BY position 2 is not in the select list/);
  });

  it('uses what is in the select list of a SELECT DISTINCT', () => {
    const { plan, output } = bound(
      `SELECT DISTINCT name, LOWER(id) AS l ${g} ORDER BY LOWER(id), name`,
    ).query;
    expect(steps(plan)).toEqual(['sort', 'distinct', 'project', 'nodes']);
    expect(step(plan, 'sort').keys.map((key) => key.expression)).toEqual([
      output[1]!.expression,
      output[0]!.expression,
    ]);
    expect(errorOf(`SELECT DISTINCT name ${g} ORDER BY id`)).toBe(
      'For SELECT DISTINCT, ORDER BY expressions must appear in the select list (line 1, column 40)',
    );
  });

  it('begins with what is distinct', () => {
    const { plan } = bound(`SELECT DISTINCT ON (node_type, 2) id, name ${g} ORDER BY 2, node_type, id`).query;
    expect(steps(plan)).toEqual(['distinct', 'sort', 'nodes']);
    expect(step(plan, 'distinct').on?.map(shown)).toEqual(['r0.c3', 'r0.c2']);
    expect(errorOf(`SELECT DISTINCT ON (node_type) id ${g} ORDER BY id`)).toBe(
      'DISTINCT ON expressions must lead ORDER BY (line 1, column 53)',
    );
    expect(errorOf(`SELECT DISTINCT ON (node_type, name) id ${g} ORDER BY name, id, node_type`)).toMatch(
      /^DISTINCT ON expressions must lead ORDER BY/,
    );
    expect(steps(bound(`SELECT DISTINCT ON (name) id ${g}`).query.plan)).toEqual(['distinct', 'nodes']);
  });

  it('of a set operation uses its columns alone', () => {
    expect(errorOf(`SELECT id ${g} UNION SELECT id ${g} ORDER BY LOWER(id)`)).toMatch(
      /^ORDER BY can only use names and numbers/,
    );
    expect(errorOf(`SELECT id ${g} UNION SELECT name ${g} ORDER BY name`)).toMatch(
      /^ORDER BY can only use names/,
    );
    expect(keys(`SELECT id AS x ${g} UNION SELECT name ${g} ORDER BY x, 1 DESC`)).toHaveLength(2);
    expect(keys('VALUES (2), (1) ORDER BY column1')).toHaveLength(1);
  });
});

describe('LIMIT and OFFSET', () => {
  const limits = (sql: string, parameters: readonly (number | string | null)[] = []) => {
    const { limit, offset } = step(bound(sql, parameters).query.plan, 'limit');
    return [limit, offset];
  };

  it('take whole numbers and parameters', () => {
    expect(limits(`SELECT id ${g} LIMIT 5 OFFSET 2`)).toEqual([5, 2]);
    expect(limits(`SELECT id ${g} LIMIT $1 OFFSET $2`, [3, '4'])).toEqual([3, 4]);
    expect(limits(`SELECT id ${g} LIMIT NULL OFFSET $1`, [null])).toEqual([undefined, 0]);
    expect(limits(`SELECT id ${g} LIMIT 9223372036854775807`)).toEqual([Number.MAX_SAFE_INTEGER, 0]);
    expect(limits(`SELECT id ${g} OFFSET 1`)).toEqual([undefined, 1]);
    expect(steps(bound(`SELECT id ${g}`).query.plan)).toEqual(['nodes']);
  });

  it('refuse everything else', () => {
    expect(errorOf(`SELECT id ${g} LIMIT -1`)).toBe('Invalid LIMIT value: -1 (line 1, column 26)');
    for (const bad of ['1.5', `'2'`, '1 + 1', 'id', 'TRUE'])
      expect(errorOf(`SELECT id ${g} LIMIT ${bad}`)).toMatch(/^Invalid LIMIT value: /);
    for (const bad of [-1, 1.5, 'x', '-1', '1e3'])
      expect(errorOf(`SELECT id ${g} OFFSET $1`, [bad])).toMatch(new RegExp(`^Invalid OFFSET value: ${bad}`));
  });
});

describe('set operations', () => {
  it('bring both sides to common types, with the names of the first', () => {
    expect(columns(`SELECT 1 AS a, NULL AS b UNION ALL SELECT 2.5, 'x'`)).toEqual(['a DOUBLE', 'b TEXT']);
    const { plan } = bound(`SELECT 1 AS a UNION ALL SELECT 2.5`).query;
    expect(plan.kind === 'set-operation' && plan.left.output[0]!.expression.type.name).toBe('double');
    expect(columns(`SELECT NULL AS a UNION SELECT id ${g} EXCEPT SELECT 'x'`)).toEqual(['a TEXT']);
    expect(columns(`SELECT created_at ${g} UNION SELECT '2031-05-01'`)).toEqual(['created_at TIMESTAMPTZ']);
  });

  it('refuse sides that do not fit', () => {
    expect(errorOf('SELECT 1 UNION SELECT 1, 2')).toMatch(
      /^Each side of UNION must have the same number of columns, got 1 and 2 /,
    );
    expect(errorOf(`SELECT version ${g} INTERSECT SELECT name ${g}`)).toMatch(
      /^Type mismatch: expected INT, got TEXT/,
    );
  });

  it('may be long chains', () => {
    const sql = Array.from({ length: 150 }, () => 'SELECT 1').join(' UNION ALL ');
    expect(columns(sql)).toEqual(['column1 INT']);
  });
});

describe('VALUES', () => {
  it('has rows of the same length and columns of common types', () => {
    expect(columns(`VALUES (1, NULL), (2.5, 'x')`)).toEqual(['column1 DOUBLE', 'column2 TEXT']);
    expect(errorOf('VALUES (1), (1, 2)')).toMatch(/^All rows of VALUES must have the same number of columns/);
    expect(errorOf(`VALUES (1), (TRUE)`)).toMatch(/^Type mismatch: expected INT, got BOOLEAN/);
  });
});

describe('common tables', () => {
  it('hide workspaces, and are seen by those behind them', () => {
    const { commonTables, query } = bound(
      `WITH g AS (SELECT 1 AS n), h AS (SELECT n FROM g) SELECT * FROM 'h', g`,
    );
    expect(commonTables.map(({ name }) => name)).toEqual(['g', 'h']);
    expect(query.output.map(({ name }) => name)).toEqual(['n', 'n']);
    expect(commonTables[1]!.query.plan).toMatchObject({ kind: 'common-table', table: 0 });
  });

  it('are not seen before they are written, nor outside', () => {
    expect(columns(`WITH h AS (SELECT * FROM g), g AS (SELECT 1 AS n) SELECT * FROM h`)).toHaveLength(25);
    expect(columns(`SELECT * FROM (WITH g AS (SELECT 1 AS n) SELECT * FROM g) a, g b`)).toHaveLength(26);
  });

  it('have unique names, and names for columns', () => {
    expect(errorOf('WITH a AS (SELECT 1), a AS (SELECT 2) SELECT 1')).toBe(
      'Duplicate CTE name: a (line 1, column 23)',
    );
    expect(columns('WITH a(x) AS (SELECT 1, 2) SELECT * FROM a')).toEqual(['x INT', 'col1 INT']);
    expect(errorOf('WITH a(x, y) AS (SELECT 1) SELECT 1')).toMatch(
      /^Table a has 1 columns, but 2 names are given/,
    );
  });

  it('cannot refer to the query around them', () => {
    expect(errorOf(`SELECT 1 FROM 'g' a WHERE EXISTS (WITH t AS (SELECT a.id) SELECT 1 FROM t)`)).toMatch(
      /^Subqueries cannot refer to the outer query: a\.id/,
    );
  });
});

describe('recursive common tables', () => {
  const counted = `WITH RECURSIVE t(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM t WHERE n < 5)`;

  it('take the type of both parts', () => {
    const { commonTables, query } = bound(`${counted} SELECT n FROM t`);
    expect(query.output[0]!.expression.type.name).toBe('double');
    expect(commonTables).toHaveLength(1);
    expect(commonTables[0]).toMatchObject({ name: 't', isDistinct: false });
    const { step: round, query: start } = commonTables[0]!;
    expect(start.output[0]!.expression.type.name).toBe('double');
    expect(step(round!.plan, 'common-table')).toMatchObject({ table: 0, columns: [{ name: 'n' }] });
    expect(round!.output[0]!.expression.type.name).toBe('double');
  });

  it('leave rows out with UNION', () => {
    const { commonTables } = bound(
      `WITH RECURSIVE t AS (SELECT id, parent_name FROM 'g' UNION SELECT g.id, g.parent_name FROM 'g', t) SELECT 1`,
    );
    expect(commonTables[0]!.isDistinct).toBe(true);
  });

  it('need not be recursive', () => {
    const { commonTables } = bound(
      `WITH RECURSIVE a AS (SELECT 1 AS n), b AS (SELECT n FROM a UNION ALL SELECT 2) SELECT * FROM b`,
    );
    expect(commonTables.map((table) => table.step)).toEqual([undefined, undefined]);
    expect(columns(`WITH RECURSIVE b AS (SELECT 1 AS n UNION ALL SELECT 2.5) SELECT * FROM b`)).toEqual([
      'n DOUBLE',
    ]);
  });

  it('may use other tables in their second part, which stand before them', () => {
    const { commonTables } = bound(
      `WITH RECURSIVE t(n) AS (SELECT 1.5 UNION ALL (WITH one AS (SELECT 1 AS i) SELECT n + i FROM t, one)) SELECT 1`,
    );
    expect(commonTables.map(({ name }) => name)).toEqual(['one', 't']);
    const join = step(commonTables[1]!.step!.plan, 'join');
    expect([join.left, join.right]).toMatchObject([{ table: 1 }, { table: 0 }]);
  });

  it('name themselves once, and only in the second part of a UNION', () => {
    const recursive = (body: string): string => errorOf(`WITH RECURSIVE t(n) AS (${body}) SELECT * FROM t`);
    expect(recursive('SELECT n FROM t')).toMatch(/^Recursive query t must have the form/);
    expect(recursive('SELECT n FROM t UNION SELECT 1')).toMatch(
      /^Recursive reference to t must not appear in the first part of its UNION \(line 1, column \d+\)/,
    );
    expect(recursive('SELECT 1 EXCEPT SELECT n FROM t')).toMatch(/^Recursive query t must have the form/);
    expect(recursive('(SELECT 1 UNION ALL SELECT n FROM t) LIMIT 3')).toMatch(
      /^Recursive query t must have the form/,
    );
    expect(recursive('SELECT 1 UNION ALL SELECT a.n FROM t a, t b')).toMatch(
      /must not appear more than once/,
    );
    expect(recursive('SELECT 1 UNION ALL SELECT (SELECT n FROM t)')).toMatch(
      /must not appear within a subquery/,
    );
    expect(recursive('SELECT 1 UNION ALL (WITH s AS (SELECT n FROM t) SELECT n FROM s)')).toMatch(
      /must not appear within a subquery/,
    );
    expect(columns(`${counted.replace('FROM t', 'FROM (SELECT n FROM t) s')} SELECT n FROM t`)).toEqual([
      'n DOUBLE',
    ]);
  });

  it('refuse parts that do not fit', () => {
    expect(errorOf(`WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n, n FROM t) SELECT 1`)).toMatch(
      /^Each side of UNION must have the same number of columns, got 1 and 2/,
    );
    expect(errorOf(`WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT TRUE FROM t) SELECT 1`)).toMatch(
      /^Type mismatch: expected INT, got BOOLEAN/,
    );
  });
});
