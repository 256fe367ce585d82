import { describe, expect, it } from 'vitest';
import type { JsonValue } from '#runtime/content/values/json-value.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { isPoint } from '#runtime/sql-plan/bind/data/point.ts';
import type { BoundDelete, BoundInsert, BoundUpdate } from '#runtime/sql-plan/bound/bound-change.ts';
import type { BoundStatement } from '#runtime/sql-plan/bound/bound-statement.ts';
import type { DataStatement } from '#runtime/sql-syntax/nodes/data-nodes.ts';
import { typeText } from '#runtime/sql-values/types/type-names.ts';
import { boundChange, changeErrorOf, dataStatement, shown, step, steps } from './binding.ts';

const insert = (sql: string, parameters: readonly JsonValue[] = []) =>
  boundChange(sql, parameters) as BoundInsert;
const update = (sql: string, parameters: readonly JsonValue[] = []) =>
  boundChange(sql, parameters) as BoundUpdate;
const remove = (sql: string, parameters: readonly JsonValue[] = []) =>
  boundChange(sql, parameters) as BoundDelete;

/** The rows of VALUES as text. */
function values({ rows }: BoundInsert): readonly (readonly string[])[] {
  return step(rows.query.plan, 'values').rows.map((row) => row.map(shown));
}

/** The columns of a query: `name TYPE`. */
function columnsOf({ query }: BoundStatement): readonly string[] {
  return query.output.map(({ name, expression }) => `${name} ${typeText(expression.type)}`);
}

/** The new values of an UPDATE of `g`. */
function assigned(assignments: string, ...parameters: readonly JsonValue[]): readonly string[] {
  const { query } = update(`UPDATE 'g' SET ${assignments} WHERE id = 'a'`, parameters).matched;
  return query.output.slice(1).map(({ expression }) => shown(expression));
}

function condition({ query }: BoundStatement): string {
  return shown(step(query.plan, 'filter').predicate);
}

describe('INSERT and UPSERT', () => {
  it('give the values of each column, in the types of the columns', () => {
    const bound = insert(
      `INSERT INTO 'g' (path, node_type, properties, id) VALUES ('/x', 'T', '{"a":1}', $1), ($2, $2, $3, 'i')`,
      ['u', 'v', { b: [1] }],
    );
    expect(bound).toMatchObject({ kind: 'insert', isUpsert: false, workspace: 'g', returning: undefined });
    expect(bound.columns).toEqual(['path', 'node_type', 'properties', 'id']);
    expect(columnsOf(bound.rows)).toEqual(['path TEXT', 'node_type TEXT', 'properties JSONB', 'id TEXT']);
    expect(values(bound)).toEqual([
      ['/x', 'T', '{"a":1}', 'u'],
      ['v', 'v', '{"b":[1]}', 'i'],
    ]);
    expect(insert(`UPSERT INTO g (path, node_type) VALUES ('/x', 'T')`).isUpsert).toBe(true);
  });

  it('read texts as JSON, however they are given', () => {
    const json = (value: string, ...parameters: readonly JsonValue[]) =>
      values(
        insert(`INSERT INTO 'g' (path, node_type, translations) VALUES ('/x', 'T', ${value})`, parameters),
      )[0]?.[2];
    expect(json(`'{"de":{}}'`)).toBe('{"de":{}}');
    expect(json(`'{"de":{}}'::jsonb`)).toBe('{"de":{}}');
    expect(json(`'{"de":' || '{}}'`)).toBe('{"de":{}}');
    expect(json('$1', '{"de":{}}')).toBe('{"de":{}}');
    expect(json('$1', { de: {} })).toBe('{"de":{}}');
    expect(json('NULL')).toBe('null');
    // A long text is read when the statement runs.
    expect(json(`'{"de":"${'x'.repeat(2_000)}"}'`)).toMatch(/^CAST\(/);
    expect(json(`LOWER($1)`, `{"A":"${'X'.repeat(2_000)}"}`)).toMatch(/^CAST\(LOWER\(/);
  });

  it('take a number as a text only where it was given as a parameter', () => {
    expect(values(insert(`INSERT INTO 'g' (path, node_type, name) VALUES ('/x', 'T', $1)`, [5]))).toEqual([
      ['/x', 'T', '5'],
    ]);
    expect(changeErrorOf(`INSERT INTO 'g' (path, node_type, name) VALUES ('/x', 'T', 5)`)).toBe(
      'Type mismatch: expected TEXT, got INT (line 1, column 60)',
    );
  });

  it('may have rows of different kinds in one column', () => {
    const rows = values(
      insert(
        `INSERT INTO 'g' (path, node_type, properties)
         VALUES ('/a', 'T', '{}'::jsonb), ('/b', 'T', NULL), (PARENT('/d/e'), 'T', '{}')`,
      ),
    );
    expect(rows).toEqual([
      ['/a', 'T', '{}'],
      ['/b', 'T', 'null'],
      ['/d', 'T', '{}'],
    ]);
  });

  it('take rows of queries, also of VALUES with an order', () => {
    const selected = insert(
      `INSERT INTO 'g' (path, node_type, properties) SELECT '/s/' || name, node_type, '{}' FROM 'p' WHERE id = 'p1'`,
    );
    expect(columnsOf(selected.rows)).toEqual(['path TEXT', 'node_type TEXT', 'properties JSONB']);
    expect(steps(selected.rows.query.plan)).toEqual(['filter', 'nodes']);
    const texts = insert(`INSERT INTO 'g' (path, node_type, properties) SELECT path, name, name FROM 'p'`);
    expect(texts.rows.query.output.map(({ expression }) => shown(expression))).toEqual([
      'CAST(r0.c1)',
      'r0.c2',
      'CAST(r0.c2)',
    ]);
    const sorted = insert(
      `INSERT INTO 'g' (path, node_type) (VALUES ('/b', 'T'), ('/a', 'T') ORDER BY 1 LIMIT 1)`,
    );
    expect(steps(sorted.rows.query.plan)).toEqual(['limit', 'sort', 'values']);
    const common = insert(
      `INSERT INTO 'g' (path, node_type) WITH a AS (SELECT path, node_type FROM 'p') SELECT * FROM a`,
    );
    expect(common.rows.commonTables).toHaveLength(1);
    const union = insert(
      `INSERT INTO 'g' (path, node_type, properties) SELECT '/a', 'T', '{}' UNION ALL SELECT '/b', 'T', '{}'`,
    );
    expect(columnsOf(union.rows)).toEqual(['path TEXT', 'node_type TEXT', 'properties JSONB']);
  });

  it('take no rows of a workspace that does not exist', () => {
    const { query } = insert(`INSERT INTO 'g' (path, node_type) SELECT path, node_type FROM 'nowhere'`).rows;
    expect(query.plan).toMatchObject({ kind: 'values', rows: [] });
    expect(query.output).toHaveLength(2);
  });

  it('know columns by their second names', () => {
    expect(insert(`INSERT INTO 'g' (__path, __node_type) VALUES ('/x', 'T')`).columns).toEqual([
      'path',
      'node_type',
    ]);
  });

  it.each<[sql: string, error: string, parameters?: readonly JsonValue[]]>([
    [
      `INSERT INTO 'g' (path, properties) VALUES ('/x', '{}')`,
      `Required column 'node_type' is missing (line 1, column 18)`,
    ],
    [`UPSERT INTO 'g' (node_type) VALUES ('T')`, `Required column 'path' is missing (line 1, column 18)`],
    [
      `INSERT INTO 'g' (path, nodetype) VALUES ('/x', 'T')`,
      'Column not found: g.nodetype. Did you mean node_type? (line 1, column 24)',
    ],
    [
      `INSERT INTO 'g' (path, node_type, created_at) VALUES ('/x', 'T', NOW())`,
      `Column 'created_at' cannot be inserted: the server sets it (line 1, column 35)`,
    ],
    [
      `INSERT INTO 'g' (path, node_type, __branch) VALUES ('/x', 'T', 'dev')`,
      `Column '__branch' cannot be inserted: the server sets it (line 1, column 35)`,
    ],
    [
      `INSERT INTO 'g' (path, node_type, __path) VALUES ('/x', 'T', '/y')`,
      `Column 'path' is named more than once (line 1, column 35)`,
    ],
    [
      `INSERT INTO 'g' (path, node_type) VALUES ('/x', 'T'), ('/y')`,
      'INSERT names 2 columns, but 1 values are given (line 1, column 56)',
    ],
    [
      `UPSERT INTO 'g' (path, node_type) VALUES ('/x', 'T', 1)`,
      'UPSERT names 2 columns, but 3 values are given (line 1, column 43)',
    ],
    [
      `INSERT INTO 'g' (path, node_type) SELECT path FROM 'g'`,
      'INSERT names 2 columns, but 1 values are given (line 1, column 35)',
    ],
    [
      `INSERT INTO 'g' (path, node_type, properties) VALUES ('/x', 'T', '[1]')`,
      'properties column must be a JSON object (line 1, column 66)',
    ],
    [
      `INSERT INTO 'g' (path, node_type, properties) VALUES ('/x', 'T', $1)`,
      'properties column must be a JSON object (line 1, column 66)',
      [[1]],
    ],
    [
      `INSERT INTO 'g' (path, node_type, properties) VALUES ('/x', 'T', $1)`,
      'properties column must be a JSON object (line 1, column 66)',
      [5],
    ],
    [
      `INSERT INTO 'g' (path, node_type, translations) VALUES ('/x', 'T', TRUE)`,
      'translations column must be a JSON object (line 1, column 68)',
    ],
    [
      `INSERT INTO 'g' (path, node_type, properties) VALUES ('/x', 'T', '{a}')`,
      expect.stringMatching(/^Invalid JSON literal: .*column 66\)$/),
    ],
    [`INSERT INTO 'g' (path, node_type) VALUES (path, 'T')`, 'Column not found: path (line 1, column 43)'],
    [
      `INSERT INTO 'g' (path, node_type) VALUES (COUNT(*), 'T')`,
      'Aggregate function COUNT not allowed in VALUES (line 1, column 43)',
    ],
    [
      `INSERT INTO 'g' (path, node_type) VALUES ($2, 'T')`,
      'Parameter $2 not provided (only 0 parameters given) (line 1, column 43)',
    ],
    [
      `INSERT INTO NodeTypes (name) VALUES ('a:B')`,
      `Direct DML operations on 'NodeTypes' are not allowed. Use DDL syntax instead: CREATE/ALTER/DROP NODETYPE (line 1, column 13)`,
    ],
  ])('refuse %s [SQLEX-053]', (sql, error, parameters = []) => {
    expect(changeErrorOf(sql, parameters)).toEqual(error);
  });
});

describe('UPDATE', () => {
  it('reads the nodes that match as they are stored, and computes new values', () => {
    const bound = update(
      `UPDATE 'g' SET name = 'n', properties = properties || '{"a":1}' WHERE CHILD_OF('/b')`,
    );
    expect(bound).toMatchObject({ kind: 'update', workspace: 'g', branch: undefined, point: undefined });
    expect(bound.columns).toEqual(['name', 'properties']);
    expect(columnsOf(bound.matched)).toEqual(['id TEXT', 'name TEXT', 'properties JSONB']);
    expect(condition(bound.matched)).toBe('CHILD_OF(r0.c1, /b)');
    expect(step(bound.matched.query.plan, 'nodes')).toMatchObject({
      workspace: 'g',
      branch: undefined,
      revision: undefined,
      locales: undefined,
    });
  });

  it('computes with the columns of the node', () => {
    expect(assigned(`properties = properties || '{"a":1}'`)).toEqual(['||(r0.c5, {"a":1})']);
    expect(assigned(`properties = JSONB_SET(properties, '{a,b}', '7')`)[0]).toMatch(/^JSONB_SET\(r0\.c5, /);
    expect(assigned(`properties = properties - 'k'`)).toEqual(['-(r0.c5, k)']);
    expect(assigned(`properties = '{}'::jsonb`)).toEqual(['{}']);
    expect(assigned('properties = $1', { a: 1 })).toEqual(['{"a":1}']);
    expect(assigned('properties = $1', '{"a":1}')).toEqual(['{"a":1}']);
    expect(assigned(`path = parent_path || '/x', name = g.name || '2', owner_id = NULL`)).toEqual([
      '||(r0.c17, /x)',
      '||(r0.c2, 2)',
      'null',
    ]);
    expect(assigned(`__path = '/x', translations = NULL, archetype = $1`, 'a:B')).toEqual([
      '/x',
      'null',
      'a:B',
    ]);
    expect(assigned(`name = path`)).toEqual(['CAST(r0.c1)']);
  });

  it.each([
    [`name = 'n', nme = 'x'`, 'Column not found: g.nme. Did you mean name? (line 1, column 28)'],
    [`node_type = 'T'`, 'Cannot change node_type after creation (line 1, column 16)'],
    [`__node_type = 'T'`, 'Cannot change node_type after creation (line 1, column 16)'],
    [`id = 'x'`, `Column 'id' is not assignable: a node keeps its id (line 1, column 16)`],
    [`created_at = NOW()`, `Column 'created_at' is not assignable: the server sets it (line 1, column 16)`],
    [`created_by = 'x'`, `Column 'created_by' is not assignable: the server sets it (line 1, column 16)`],
    ['version = 2', `Column 'version' is not assignable: the server sets it (line 1, column 16)`],
    [`updated_at = NOW()`, `Column 'updated_at' is not assignable: the server sets it (line 1, column 16)`],
    [`__branch = 'b'`, `Column '__branch' is not assignable: the server sets it (line 1, column 16)`],
    [`locale = 'de'`, `Column 'locale' is not assignable: the server sets it (line 1, column 16)`],
    [`name = 'a', name = 'b'`, `Column 'name' is assigned more than once (line 1, column 28)`],
    [`name = 5`, 'Type mismatch: expected TEXT, got INT (line 1, column 23)'],
    [`name = properties->'k'`, 'Type mismatch: expected TEXT, got JSONB (line 1, column 23)'],
    [`properties = NULL`, 'properties column must be a JSON object (line 1, column 29)'],
    [`properties = 5`, 'properties column must be a JSON object (line 1, column 29)'],
    [`properties = '"x"'`, 'properties column must be a JSON object (line 1, column 29)'],
    [`properties = $1`, 'properties column must be a JSON object (line 1, column 29)'],
    [`name = (SELECT 'x')`, 'Subqueries in UPDATE/DELETE are not supported (line 1, column 24)'],
    [`name = COUNT(*)`, 'Aggregate function COUNT not allowed in SET clause (line 1, column 23)'],
    [
      `name = ROW_NUMBER() OVER ()`,
      'Window function ROW_NUMBER not allowed in SET clause (line 1, column 23)',
    ],
    [
      `name = bogus`,
      "Column not found: bogus. A property is written as properties->>'bogus' (line 1, column 23)",
    ],
    [
      `title = 'x'`,
      `Column not found: g.title. A property is written in properties: '{"title": …}' (line 1, column 16)`,
    ],
    [`name = p.name`, expect.stringMatching(/^Column not found: p\.name/)],
    [`name = (1, 2)`, expect.stringMatching(/^Row values such as/)],
  ] as readonly (readonly [string, string])[])(
    'refuses SET %s [SQL-039, SQLEX-061]',
    (assignments, error) => {
      expect(changeErrorOf(`UPDATE 'g' SET ${assignments} WHERE id = 'a'`, [[1]])).toEqual(error);
    },
  );
});

describe('the condition of UPDATE and DELETE', () => {
  const both = (where: string, ...parameters: readonly JsonValue[]) => [
    update(`UPDATE 'g' SET name = 'n'${where}`, parameters),
    remove(`DELETE FROM 'g'${where}`, parameters),
  ];

  it('is required [SQL-034, SQL-048, SQLEX-063]', () => {
    expect(changeErrorOf(`UPDATE 'g' SET properties = '{}'`)).toBe(
      'UPDATE requires a WHERE clause (line 1, column 1)',
    );
    expect(changeErrorOf(`DELETE FROM 'g'`)).toBe('DELETE requires a WHERE clause (line 1, column 1)');
    // The name of a branch chooses no nodes of it.
    expect(changeErrorOf(`DELETE FROM 'g' WHERE __branch = 'dev'`)).toBe(
      'DELETE requires a WHERE clause (line 1, column 23)',
    );
    for (const { matched } of both(' WHERE TRUE')) expect(condition(matched)).toBe('true');
  });

  it('names one node by its id or path', () => {
    for (const bound of both(` WHERE id = 'b1'`)) expect(bound.point).toEqual({ by: 'id', value: 'b1' });
    for (const bound of both(` WHERE g.__path = $1 AND __branch = 'main'`, '/a'))
      expect(bound.point).toEqual({ by: 'path', value: '/a' });
    for (const bound of both(' WHERE id = $1', 5)) {
      expect(bound.point).toEqual({ by: 'id', value: '5' });
      expect(condition(bound.matched)).toBe('=(r0.c0, 5)');
    }
    for (const bound of both(' WHERE id = $1', null)) expect(bound.point).toEqual({ by: 'id', value: null });
  });

  it.each([
    `id IN ('b1')`,
    `'b1' = id`,
    `id = 'b1' AND name = 'x'`,
    `path = '/a' AND CHILD_OF('/')`,
    'id = name',
  ])('names many nodes where it is anything else: %s [SQL-051]', (where) => {
    for (const bound of both(` WHERE ${where}`)) expect(bound.point).toBeUndefined();
  });

  it('names one node alone', () => {
    const names = (sql: string) => isPoint(dataStatement(sql) as Exclude<DataStatement, { kind: 'insert' }>);
    expect(names(`DELETE FROM 'g' WHERE id = $1`)).toBe(true);
    expect(names(`DELETE FROM 'g' WHERE id = $1 AND TRUE`)).toBe(false);
    expect(names(`DELETE FROM 'g'`)).toBe(false);
  });

  it('may name another branch, which is left out of it', () => {
    for (const bound of both(` WHERE 'dev' = g.__branch AND name = 'x' AND __branch = $1`, 'dev')) {
      expect(bound.branch).toBe('dev');
      expect(step(bound.matched.query.plan, 'nodes').branch).toBe('dev');
      expect(condition(bound.matched)).toBe('=(r0.c2, x)');
    }
    for (const bound of both(` WHERE __branch = 'main' AND name = 'x'`)) expect(bound.branch).toBeUndefined();
  });

  it('is evaluated again for some ids, which are looked at first', () => {
    for (const bound of both(` WHERE name = 'x'`)) {
      const some = bound.matchedAmong(['a', 'b']);
      expect(condition(some)).toBe('and(in(r0.c0, a, b), =(r0.c2, x))');
      expect(columnsOf(some)).toEqual(columnsOf(bound.matched));
      expect(condition(bound.matchedAmong([]))).toBe('and(in(r0.c0), =(r0.c2, x))');
    }
  });

  it('gives ids behind another, in order', () => {
    for (const bound of both(` WHERE name = 'x' AND depth > 1`)) {
      const first = bound.idsAfter(undefined, 7);
      expect(columnsOf(first)).toEqual(['id TEXT']);
      expect(steps(first.query.plan)).toEqual(['limit', 'sort', 'filter', 'nodes']);
      expect(step(first.query.plan, 'limit')).toMatchObject({ limit: 7, offset: 0 });
      expect(condition(first)).toBe('and(=(r0.c2, x), >(r0.c18, 1))');
      const next = bound.idsAfter('m', 7);
      expect(condition(next)).toBe('and(>(r0.c0, m), =(r0.c2, x), >(r0.c18, 1))');
      expect(step(next.query.plan, 'sort').keys).toEqual([
        { expression: next.query.output[0]?.expression, isDescending: false, nullsFirst: false },
      ]);
    }
  });

  it('may refer to the tree, and to the workspace by its alias', () => {
    expect(condition(remove(`DELETE FROM 'g' WHERE REFERENCES('p:/u')`).matched)).toBe(
      'REFERENCES(r0.c5, p:/u)',
    );
    expect(remove(`DELETE FROM SvcAccessControl WHERE SvcAccessControl.name = 'x'`).workspace).toBe(
      'svc:access_control',
    );
  });

  it.each([
    [`id = (SELECT 'x')`, /^Subqueries in UPDATE\/DELETE are not supported/],
    [`id IN (SELECT id FROM 'g')`, /^Subqueries in UPDATE\/DELETE are not supported/],
    [`EXISTS (SELECT 1)`, /^Subqueries in UPDATE\/DELETE are not supported/],
    [`id = ANY (SELECT id FROM 'g')`, /^Subqueries in UPDATE\/DELETE are not supported/],
    [
      `name = 'x' AND NOT (name = 'y' OR name = (SELECT 'x'))`,
      /^Subqueries in UPDATE\/DELETE are not supported/,
    ],
    [`id = 'a' AND __revision = '5-0'`, /^__revision cannot choose nodes in UPDATE and DELETE.*version/],
    [`id = 'a' AND __revision = 5`, /^__revision cannot choose nodes/],
    [`locale = 'de' AND id = 'a'`, /^locale cannot choose nodes in UPDATE and DELETE.*UPDATE … FOR LOCALE/],
    [`locale IN ('de', 'en')`, /^locale cannot choose nodes/],
    [`__branch = 'a' AND __branch = 'b' AND id = 'x'`, /^Contradictory conditions on __branch/],
    [`__branch = 5 AND id = 'x'`, /^A text is wanted here/],
    [`__branch = NULL AND id = 'x'`, /^A text is wanted here/],
    [`__branch = $1 AND id = 'x'`, /^Parameter \$1 not provided/],
    [`NOT (__branch = 'dev')`, /^__branch cannot choose nodes in UPDATE and DELETE: write __branch = '…'/],
    [`path = '/a' OR TRUE AND __branch = 'dev'`, /^__branch cannot choose nodes/],
    [`__branch IN ('dev') AND path = '/a'`, /^__branch cannot choose nodes/],
    [`name = 'a' AND g.__branch <> 'dev'`, /^__branch cannot choose nodes/],
    [`COUNT(*) > 1`, /^Aggregate function COUNT not allowed in WHERE clause/],
    [`RANK() OVER () > 1`, /^Window function RANK not allowed in WHERE clause/],
    ['nme = 1', /^Column not found: nme\. Did you mean name\?/],
    ['name', /^Type mismatch: expected BOOLEAN in WHERE, got TEXT/],
    ['name > 5', /^Type mismatch|^Cannot/],
    ['(id, path) = (1, 2)', /^Row values such as/],
    [`x.__branch = 'b' AND id = 'a'`, /^Column not found: x\.__branch/],
  ])('is refused: %s [SQL-053]', (where, error) => {
    expect(changeErrorOf(`UPDATE 'g' SET name = 'n' WHERE ${where}`)).toMatch(error);
    expect(changeErrorOf(`DELETE FROM 'g' WHERE ${where}`)).toMatch(error);
  });

  it('may name the locale and the revision as columns', () => {
    for (const { matched } of both(` WHERE locale <> 'de' OR __revision < '5-0'`))
      expect(condition(matched)).toBe('or(<>(r0.c19, de), <(r0.c20, 5-0))');
  });
});

describe('the table of a statement that writes', () => {
  const statements = (name: string) => [
    `INSERT INTO ${name} (path, node_type) VALUES ('/x', 'T')`,
    `UPSERT INTO ${name} (bogus) VALUES (1)`,
    `UPDATE ${name} SET bogus = 1`,
    `DELETE FROM ${name}`,
  ];

  it.each([
    ['NodeTypes', 'Use DDL syntax instead: CREATE/ALTER/DROP NODETYPE'],
    ['"Archetypes"', 'Use DDL syntax instead: CREATE/ALTER/DROP ARCHETYPE'],
    [`'ElementTypes'`, 'Use DDL syntax instead: CREATE/ALTER/DROP ELEMENTTYPE'],
    ['Workspaces', 'Use PUT /api/workspaces/{repo}/{name} instead'],
  ])('is not one of the schema: %s [SQLEX-070]', (name, advice) => {
    const plain = name.replaceAll(/['"]/g, '');
    for (const sql of statements(name))
      expect(changeErrorOf(sql)).toMatch(
        `Direct DML operations on '${plain}' are not allowed. ${advice} (line 1`,
      );
  });

  it('exists', () => {
    for (const sql of statements(`'nowhere'`))
      expect(() => boundChange(sql)).toThrow(
        new ServiceError('WORKSPACE_NOT_FOUND', `Workspace 'nowhere' not found`),
      );
    // A quoted name is no alias.
    expect(() => boundChange(`DELETE FROM 'SvcAccessControl' WHERE id = 'x'`)).toThrow(/not found/);
  });
});

describe('RETURNING', () => {
  const of = (list: string, kind = 'delete') =>
    boundChange(
      kind === 'delete'
        ? `DELETE FROM 'g' WHERE id = 'a' RETURNING ${list}`
        : kind === 'update'
          ? `UPDATE 'g' SET name = 'q' WHERE id = 'a' RETURNING ${list}`
          : `INSERT INTO 'g' (path, node_type) VALUES ('/x', 'T') RETURNING ${list}`,
    ).returning!;

  it('reads the nodes that were written, by their ids', () => {
    const { columns, output, statementFor } = of(`id, g.name AS n, properties->>'a', 'x'`);
    expect(columns).toEqual([{ name: 'id' }, { name: 'n' }, { name: '?column?' }, { name: '?column?' }]);
    expect(output.map(({ expression }) => shown(expression))).toEqual([
      'r0.c0',
      'r0.c2',
      '->>(r0.c5, a)',
      'x',
    ]);
    const statement = statementFor(['a', 'b']);
    expect(columnsOf(statement)).toEqual(['id TEXT', 'id TEXT', 'n TEXT', '?column? TEXT', '?column? TEXT']);
    expect(condition(statement)).toBe('in(r0.c0, a, b)');
    expect(step(statement.query.plan, 'nodes')).toMatchObject({ workspace: 'g', branch: undefined });
  });

  it('may be all columns', () => {
    expect(
      of('*')
        .columns.map(({ name }) => name)
        .slice(0, 3),
    ).toEqual(['id', 'path', 'name']);
    expect(of('g.*, *').output).toHaveLength(50);
  });

  it('has no stamps of an UPDATE, but those of other statements', () => {
    const columns = `updated_at, updated_by, __revision, __updated_at, version, created_at`;
    const shownOf = (kind: string) => of(columns, kind).output.map(({ expression }) => shown(expression));
    expect(shownOf('update')).toEqual(['null', 'null', 'null', 'null', 'r0.c7', 'r0.c8']);
    for (const kind of ['insert', 'delete'])
      expect(shownOf(kind)).toEqual(['r0.c9', 'r0.c13', 'r0.c20', 'r0.c9', 'r0.c7', 'r0.c8']);
    expect(shown(of(`COALESCE(updated_by, name)`, 'update').output[0]!.expression)).toBe(
      'coalesce(null, r0.c2)',
    );
    expect(of('*', 'update').output.filter(({ expression }) => shown(expression) === 'null')).toHaveLength(3);
  });

  it.each([
    ['COUNT(*)', 'aggregate functions are not allowed in RETURNING'],
    ['id, 1 + LENGTH(name) + SUM(version)', 'aggregate functions are not allowed in RETURNING'],
    [`CASE WHEN TRUE THEN MAX(name) END`, 'aggregate functions are not allowed in RETURNING'],
    ['COUNT(*) OVER ()', 'window functions are not allowed in RETURNING'],
    ['ROW_NUMBER() OVER (ORDER BY id)', 'window functions are not allowed in RETURNING'],
    ['RANK()', 'window functions are not allowed in RETURNING'],
    ['(SELECT 1)', 'Subqueries in RETURNING are not supported'],
    [`id IN (SELECT id FROM 'g')`, 'Subqueries in RETURNING are not supported'],
    ['bogus', 'Column not found: bogus'],
    ['p.*', 'Table not found in FROM: p'],
    [`REFERENCES('p:/u')`, 'REFERENCES is only allowed in WHERE and ON'],
  ])('refuses %s [SQL-047, SQLEX-066]', (list, error) => {
    for (const kind of ['insert', 'update', 'delete']) expect(() => of(list, kind)).toThrow(error);
  });
});
