import { describe, expect, it } from 'vitest';
import { nodeColumns } from '#runtime/sql-plan/node-columns.ts';
import { bound, columns, errorOf, step, steps } from './binding.ts';

describe('columns', () => {
  it('are those of a workspace, in the order of the documentation', () => {
    const names = nodeColumns.map(({ name }) => name);
    expect(bound(`SELECT * FROM 'g'`).query.output.map(({ name }) => name)).toEqual(names);
    expect(bound(`SELECT a.*, b.id FROM 'g' a, 'p' b`).query.output).toHaveLength(names.length + 1);
  });

  it('are found with and without their table', () => {
    expect(columns(`SELECT id, g.path FROM 'g'`)).toEqual(['id TEXT', 'path PATH']);
    expect(columns(`SELECT a.id FROM 'g' AS a`)).toEqual(['id TEXT']);
  });

  it('have second names outside *', () => {
    expect(columns(`SELECT __id, g.__path, __node_type, __created_at, __updated_at FROM 'g'`)).toEqual([
      '__id TEXT',
      '__path PATH',
      '__node_type TEXT',
      '__created_at TIMESTAMPTZ',
      '__updated_at TIMESTAMPTZ',
    ]);
    expect(errorOf(`SELECT __id FROM (SELECT id FROM 'g') x`)).toMatch(/^Column not found: __id/);
    expect(errorOf(`SELECT __id FROM 'g' a, 'p' b`)).toMatch(/^Ambiguous column reference: __id /);
  });

  it('are case-sensitive, and a similar name is suggested', () => {
    expect(errorOf(`SELECT bogus FROM 'g'`)).toBe(
      "Column not found: bogus. A property is written as properties->>'bogus' (line 1, column 8)",
    );
    expect(errorOf(`SELECT Name FROM 'g'`)).toBe(
      'Column not found: Name. Did you mean name? (line 1, column 8)',
    );
    expect(errorOf(`SELECT g.nmae FROM 'g'`)).toMatch(/^Column not found: g\.nmae\. Did you mean name\?/);
    expect(errorOf(`SELECT gg.name FROM 'g'`)).toMatch(/^Column not found: gg\.name\. Did you mean g\?/);
    expect(errorOf(`SELECT other.name FROM 'g'`)).toMatch(
      /^Column not found: other\.name\. FROM has no table other /,
    );
  });

  it('are told from properties and from texts in double quotes', () => {
    const property = (name: string): string => `A property is written as properties->>'${name}'`;
    for (const [sql, hint] of [
      [`SELECT id FROM 'g' WHERE title = 'x'`, property('title')],
      [`SELECT id FROM 'g' a WHERE a.title = 'x'`, property('title')],
      [`SELECT "it's" FROM 'g'`, `A text is written as 'it''s', and a property as properties->>'it''s'`],
      [`SELECT id FROM (SELECT id FROM 'g') x WHERE id = "b1"`, `A text is written as 'b1'`],
      [`SELECT "b1"`, `A text is written as 'b1'`],
    ] as const)
      expect(errorOf(sql)).toContain(`. ${hint} (line 1, column`);
    expect(errorOf(`SELECT title FROM (SELECT id FROM 'g') x`)).toMatch(/^Column not found: title \(line/);
    expect(errorOf(`SELECT ${'t'.repeat(65)} FROM 'g'`)).toMatch(/^Column not found: t{65} \(line/);
    expect(errorOf(`SELECT nmae FROM 'g'`)).toMatch(/^Column not found: nmae\. Did you mean name\? \(line/);
  });

  it('are ambiguous where two tables have them', () => {
    expect(errorOf(`SELECT id FROM 'g' a JOIN 'g' b ON a.id = b.id`)).toBe(
      'Ambiguous column reference: id (line 1, column 8)',
    );
    expect(errorOf(`SELECT x.id FROM (SELECT id, id FROM 'g') x`)).toMatch(
      /^Ambiguous column reference: x\.id/,
    );
    expect(columns(`SELECT a.id FROM 'g' a JOIN 'g' b ON a.id = b.id`)).toEqual(['id TEXT']);
  });

  it('show their place in a statement of several lines', () => {
    expect(() => bound(`SELECT id,\n  bogus\nFROM 'g'`)).toThrow(
      "Column not found: bogus. A property is written as properties->>'bogus' (line 2, column 3)\n  bogus\n  ^",
    );
  });

  it('are hidden by an alias of the table', () => {
    expect(errorOf(`SELECT g.id FROM 'g' AS a`)).toMatch(/^Column not found: g\.id/);
  });

  it('are renamed by names behind the alias', () => {
    expect(columns(`SELECT x, path FROM 'g' AS a(x)`)).toEqual(['x TEXT', 'path PATH']);
    expect(errorOf(`SELECT 1 FROM (SELECT 1) AS a(x, y)`)).toMatch(
      /^Table a has 1 columns, but 2 names are given/,
    );
  });
});

describe('names of the answer', () => {
  it('are the alias, the column or ?column?', () => {
    expect(columns(`SELECT id AS x, path, LOWER(id), id || 'a' FROM 'g'`)).toEqual([
      'x TEXT',
      'path PATH',
      '?column? TEXT',
      '?column? TEXT',
    ]);
  });

  it('are numbered without FROM and in common tables', () => {
    expect(columns(`SELECT 1, 'a'`)).toEqual(['column1 INT', 'column2 TEXT']);
    expect(columns(`WITH t AS (SELECT 1, 'a' AS b) SELECT * FROM t`)).toEqual(['col0 INT', 'b TEXT']);
    expect(columns(`VALUES (1, 'a')`)).toEqual(['column1 INT', 'column2 TEXT']);
  });

  it('may be the same for several columns', () => {
    expect(columns(`SELECT id, id FROM 'g'`)).toEqual(['id TEXT', 'id TEXT']);
  });
});

describe('tables', () => {
  it('are workspaces, quoted, bare or as an alias in CamelCase', () => {
    for (const name of [`'svc:access_control'`, `"svc:access_control"`, 'SvcAccessControl'])
      expect(step(bound(`SELECT id FROM ${name}`).query.plan, 'nodes').workspace).toBe('svc:access_control');
    expect(bound(`SELECT id FROM 'SvcAccessControl'`).query.output).toEqual([]);
  });

  it('may be those of the schema', () => {
    const { plan } = bound(`SELECT name FROM NodeTypes WHERE name = 'grow:Bed'`).query;
    expect(step(plan, 'schema')).toMatchObject({ table: 'NodeTypes', branch: undefined });
    expect(bound(`SELECT * FROM 'Workspaces'`).query.output.map(({ name }) => name)).toContain(
      'allowed_node_types',
    );
  });

  it('need aliases where one is used twice', () => {
    expect(errorOf(`SELECT 1 FROM 'g', 'g'`)).toMatch(/^Table name g is used more than once/);
    expect(steps(bound(`SELECT 1 FROM 'g' a, 'g' b`).query.plan)).toEqual(['join', 'nodes']);
  });

  it('must be there for *', () => {
    expect(errorOf('SELECT *')).toBe('SELECT * requires a FROM clause (line 1, column 8)');
    expect(errorOf(`SELECT b.* FROM 'g' a`)).toMatch(/^Table not found in FROM: b. Did you mean a\?/);
  });

  it('need an alias when they are derived', () => {
    expect(errorOf('SELECT * FROM (SELECT 1)')).toBe('Derived tables must have an alias (line 1, column 15)');
    expect(columns('SELECT * FROM (SELECT 1 AS n) t')).toEqual(['n INT']);
    expect(columns(`SELECT a, b FROM (VALUES (1, 'x'), (2.5, NULL)) AS t(a, b)`)).toEqual([
      'a DOUBLE',
      'b TEXT',
    ]);
  });

  it('are no functions yet', () => {
    expect(errorOf('SELECT * FROM FROB(1) AS f')).toMatch(/^Function not found in FROM: FROB /);
  });
});

describe('a workspace that does not exist', () => {
  it('gives no columns and no rows, whatever is selected', () => {
    for (const sql of [
      `SELECT * FROM 'nowhere'`,
      `SELECT COUNT(*) FROM 'nowhere'`,
      `SELECT bogus FROM 'nowhere' LIMIT 2`,
      `(SELECT 1 FROM 'g' JOIN 'nowhere' n ON TRUE)`,
      `WITH t AS (SELECT 1) SELECT * FROM nowhere`,
    ]) {
      const { query } = bound(sql);
      expect(query.output).toEqual([]);
      expect(query.plan).toMatchObject({ kind: 'values', rows: [] });
    }
  });

  it('is a table without rows elsewhere', () => {
    const { query } = bound(`SELECT COUNT(*) AS n FROM (SELECT id FROM 'nowhere') x`);
    expect(query.output.map(({ name }) => name)).toEqual(['n']);
    expect(step(query.plan, 'values').rows).toEqual([]);
    expect(columns(`SELECT id FROM 'g' WHERE id IN (SELECT id FROM 'nowhere')`)).toEqual(['id TEXT']);
    expect(columns(`SELECT id FROM 'nowhere' UNION SELECT id FROM 'g'`)).toEqual(['id TEXT']);
  });
});

describe('joins', () => {
  it('see both sides in ON, and nothing else', () => {
    expect(columns(`SELECT a.id FROM 'g' a LEFT JOIN 'g' b ON a.name = b.name`)).toEqual(['id TEXT']);
    expect(errorOf(`SELECT 1 FROM 'g' c, 'g' a JOIN 'g' b ON a.id = c.id`)).toMatch(
      /^Column not found: c\.id/,
    );
    expect(errorOf(`SELECT 1 FROM 'g' a JOIN 'g' b ON a.id`)).toMatch(
      /^Type mismatch: expected BOOLEAN in ON, got TEXT/,
    );
  });

  it('keep their type', () => {
    for (const [sql, type] of [
      ['CROSS JOIN', 'inner'],
      ['FULL JOIN', 'full'],
      ['RIGHT JOIN', 'right'],
    ] as const) {
      const on = type === 'inner' ? '' : 'ON a.id = b.id';
      expect(bound(`SELECT a.id FROM 'g' a ${sql} 'p' b ${on}`).query.plan).toMatchObject({
        kind: 'join',
        type,
      });
    }
  });
});

describe('subqueries', () => {
  it('cannot refer to the query around them', () => {
    expect(
      errorOf(`SELECT id FROM 'g' a WHERE EXISTS (SELECT 1 FROM 'g' x WHERE x.parent_name = a.name)`),
    ).toBe('Subqueries cannot refer to the outer query: a.name is a column of it (line 1, column 78)');
    expect(errorOf(`SELECT (SELECT n) FROM (VALUES (1)) AS t(n)`)).toMatch(
      /^Subqueries cannot refer to the outer/,
    );
    expect(errorOf(`SELECT 1 FROM 'g' a, LATERAL (SELECT a.id) b`)).toMatch(
      /^Subqueries cannot refer to the outer/,
    );
    expect(errorOf(`SELECT 1 FROM 'g' a JOIN (SELECT a.id) b ON TRUE`)).toMatch(/^Subqueries cannot refer/);
  });

  it('have one column where a value is wanted', () => {
    expect(errorOf(`SELECT (SELECT 1, 2)`)).toMatch(/^Subquery must return exactly one column, got 2 /);
    expect(errorOf(`SELECT 1 IN (SELECT 1, 2)`)).toMatch(
      /^IN subquery must return exactly one column, got 2 /,
    );
    expect(errorOf(`SELECT 1 = ANY (SELECT 1, 2)`)).toMatch(
      /^ANY subquery must return exactly one column, got 2 /,
    );
    expect(columns(`SELECT (SELECT 'x'), 1 IN (SELECT 1), EXISTS (SELECT 1, 2), 1 < ALL (SELECT 2)`)).toEqual(
      ['column1 TEXT', 'column2 BOOLEAN', 'column3 BOOLEAN', 'column4 BOOLEAN'],
    );
  });
});
