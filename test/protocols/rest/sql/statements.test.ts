import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { expectStatus, revisionOf } from '#test/support/content-client.ts';
import { Garden } from '#test/support/garden.ts';
import { startServer, type TestServer } from '#test/support/server.ts';
import { sharedGarden } from './shared-garden.ts';

let server: TestServer;
let garden: Garden;

beforeAll(async () => {
  server = await startServer();
  garden = await Garden.on(server);
});

afterAll(() => server.close());

const columns = [
  'id',
  'path',
  'name',
  'node_type',
  'archetype',
  'properties',
  'parent_name',
  'version',
  'created_at',
  'updated_at',
  'published_at',
  'published_by',
  'created_by',
  'updated_by',
  'translations',
  'owner_id',
  'relations',
  'parent_path',
  'depth',
  'locale',
  '__revision',
  '__branch',
  '__workspace',
  '__order',
  '__tree_order',
];

describe('a statement', () => {
  it('runs on main, or on the branch of the address [SQL-001]', async () => {
    await garden.client.branch('a/b', { upstream_branch: 'main' });
    await garden.g.on('a/b').add('/', 'only-here');
    const sql = "SELECT name FROM 'g' WHERE name = 'only-here'";
    expect(await garden.run(sql)).toMatchObject({ rows: [] });
    expect(await garden.run(sql, { branch: 'a/b' })).toMatchObject({ rows: [{ name: 'only-here' }] });
    expect((await garden.run('SELECT CURRENT_BRANCH() AS b', { branch: 'a/b' })).rows).toEqual([
      { b: 'a/b' },
    ]);
    const missing = await garden.ask(sql, { branch: 'nope' });
    expect([missing.status, missing.json.code]).toEqual([404, 'BRANCH_NOT_FOUND']);
  });

  it('is answered with columns, rows, their number and the time it took [SQL-002]', async () => {
    const answer = await garden.ask("SELECT name, depth FROM 'g' WHERE id = 'p1'");
    const { json } = expectStatus(answer, 200);
    expect(json).toEqual({
      columns: ['name', 'depth'],
      rows: [{ name: 'basil', depth: 3 }],
      row_count: 1,
      execution_time_ms: expect.any(Number),
    });
    expect(json.execution_time_ms).toBeGreaterThan(0);
    expect(answer.headers['content-type']).toBe('application/json');
    expect(revisionOf(answer)).toBe(await garden.client.headRevision());
  });

  it('takes its values from params, and nothing in them is SQL [SQL-003]', async () => {
    const hostile = "'; SELECT 1 --";
    expect(await garden.rows('SELECT $2 AS b, $1 AS a, $2 AS c', hostile, 7)).toEqual([
      { b: 7, a: hostile, c: 7 },
    ]);
    expect(await garden.column("SELECT id FROM 'g' WHERE name = $1", 'mint')).toEqual(['p2']);
    expect(await garden.column("SELECT id FROM 'g' WHERE properties @> $1", { open: true })).toEqual(['b1']);
    expect(await garden.rows('SELECT $1 IS NULL AS a, $2 AS b, $3 AS c', null, true, 1.5)).toEqual([
      { a: true, b: true, c: 1.5 },
    ]);
    expect(await garden.column("SELECT '$1' AS a", 'x')).toEqual(['$1']);
    const few = await garden.ask('SELECT $1 AS a, $3 AS b', { params: [1, 2] });
    expect(few.json.message).toMatch(/^Parameter \$3 not provided \(only 2 parameters given\)/);
    const zero = await garden.ask('SELECT $0 AS a', { params: [1] });
    expect(zero.json.message).toMatch(/^Parameter indices must start at \$1/);
  });

  it('names a workspace as text, quoted or bare, and by an alias [SQL-061]', async () => {
    for (const name of ["'g'", '"g"', 'g'])
      expect(await garden.column(`SELECT COUNT(*) AS n FROM ${name}`)).toEqual([6]);
    const [count] = await garden.column("SELECT COUNT(*) AS n FROM 'svc:access_control'");
    expect(await garden.column('SELECT COUNT(*) AS n FROM SvcAccessControl')).toEqual([count]);
    expect(await garden.run("SELECT * FROM 'SvcAccessControl'")).toMatchObject({ columns: [], rows: [] });
    expect(await garden.run('SELECT * FROM svcaccesscontrol')).toMatchObject({ columns: [], rows: [] });
  });

  it('answers a name that is no workspace without columns and rows [SQL-007]', async () => {
    for (const sql of ["SELECT * FROM 'no'", 'SELECT id, bogus FROM nowhere WHERE x = 1'])
      expect(await garden.run(sql)).toMatchObject({ columns: [], rows: [], row_count: 0 });
  });

  it('reads definitions as tables [SQL-006]', async () => {
    const names = "SELECT name FROM NodeTypes WHERE name LIKE 'grow:%' ORDER BY name";
    expect(await garden.column(names)).toEqual(['grow:Bed', 'grow:Person', 'grow:Plant']);
    expect(await garden.column("SELECT name FROM Workspaces WHERE name IN ('g', 'p') ORDER BY name")).toEqual(
      ['g', 'p'],
    );
    for (const table of ['Archetypes', 'ElementTypes'])
      expect((await garden.run(`SELECT * FROM ${table}`)).columns).toContain('name');
    const [type] = await garden.rows("SELECT name, properties FROM NodeTypes WHERE name = 'grow:Bed'");
    expect(type?.properties).toMatchObject([{ name: 'title', type: 'String' }]);
  });

  it('shows all columns in their order for * [SQL-012, SQL-013, SQL-014]', async () => {
    const answer = await garden.run("SELECT * FROM 'g' ORDER BY path");
    expect(answer.columns).toEqual(columns);
    for (const row of answer.rows) expect(Object.keys(row)).toEqual(columns);
    const node = await garden.g.node('/beds/north');
    expect(answer.rows.find(({ id }) => id === 'b1')).toMatchObject({
      path: '/beds/north',
      name: 'north',
      node_type: 'grow:Bed',
      archetype: null,
      properties: { title: 'North', area: 12, tags: ['sun', 'herbs'], soil: { ph: 6.5, kind: 'loam' } },
      parent_name: 'beds',
      version: 1,
      created_by: node.created_by,
      published_at: null,
      owner_id: null,
      parent_path: null,
      depth: 2,
      locale: 'en',
      __branch: 'main',
      __workspace: 'g',
    });
    expect(answer.rows.map(({ depth, parent_name: parent }) => [parent, depth])).toEqual([
      ['/', 1],
      ['beds', 2],
      ['north', 3],
      ['north', 3],
      ['beds', 2],
      ['/', 1],
    ]);
    expect(answer.rows.map(({ path }) => path)).not.toContain('/');
  });

  it('shows the path of the parent in conditions on the tree only [SQL-015]', async () => {
    const sql = (condition: string) => `SELECT parent_path AS p FROM 'g' WHERE ${condition} ORDER BY path`;
    expect(await garden.column(sql("CHILD_OF('/beds')"))).toEqual(['/beds', '/beds']);
    expect(await garden.column(sql("DESCENDANT_OF('/beds/north')"))).toEqual(['/beds/north', '/beds/north']);
    expect(await garden.column(sql("id = 'b1'"))).toEqual([null]);
  });

  it('does everything of a query [SQL-017]', async () => {
    const results: readonly (readonly [sql: string, values: readonly unknown[]])[] = [
      ["SELECT DISTINCT node_type FROM 'g' ORDER BY node_type", ['grow:Bed', 'grow:Plant', 'svc:Folder']],
      [
        "SELECT p.id FROM 'g' p JOIN 'g' b ON b.id = 'b1' AND p.parent_name = b.name ORDER BY p.id DESC",
        ['p2', 'p1'],
      ],
      [
        "SELECT a.id FROM 'p' a LEFT JOIN 'g' b ON b.name = a.name WHERE b.id IS NULL ORDER BY 1",
        ['u1', 'u2', 'u3'],
      ],
      ["SELECT COUNT(*) AS n FROM 'g' CROSS JOIN 'p'", [18]],
      [
        "SELECT node_type FROM 'g' GROUP BY node_type HAVING COUNT(*) = 2 ORDER BY node_type LIMIT 1",
        ['grow:Bed'],
      ],
      ["SELECT id FROM 'g' UNION ALL SELECT id FROM 'p' ORDER BY id OFFSET 7", ['u2', 'u3']],
      ["SELECT id FROM 'g' INTERSECT SELECT id FROM 'g' WHERE depth = 3 ORDER BY id", ['p1', 'p2']],
      ["SELECT id FROM 'g' EXCEPT SELECT id FROM 'g' WHERE depth > 1 ORDER BY id", ['f0', 's0']],
      ['WITH x (n) AS (SELECT 1 UNION SELECT 2) SELECT SUM(n) AS s FROM x', [3]],
      [
        'WITH RECURSIVE t (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t WHERE n < 5) SELECT COUNT(*) AS c FROM t',
        [5],
      ],
      [
        "SELECT id FROM 'g' WHERE version = (SELECT MAX(version) FROM 'g') AND depth = 1 ORDER BY id",
        ['f0', 's0'],
      ],
      ["SELECT n FROM (SELECT name AS n FROM 'p') AS q ORDER BY n DESC LIMIT 2", ['cid', 'ben']],
      ["SELECT ROW_NUMBER() OVER (ORDER BY id DESC) AS r FROM 'p' ORDER BY r", [1, 2, 3]],
    ];
    for (const [sql, values] of results) expect([sql, await garden.column(sql)]).toEqual([sql, values]);
  });

  it('reads properties as JSON and as text, and finds what contains something [SQL-022]', async () => {
    const sql =
      "SELECT properties->'soil' AS j, properties->>'area' AS t, properties->'soil'->>'kind' AS k FROM 'g' WHERE properties @> $1";
    expect(await garden.rows(sql, { soil: { kind: 'loam' } })).toEqual([
      { j: { ph: 6.5, kind: 'loam' }, t: '12', k: 'loam' },
    ]);
  });

  it('knows the tree [SQL-023]', async () => {
    const own = await Garden.on(server);
    await own.g.add('/', 'link', {
      to: { 'svc:ref': 'b1', 'svc:workspace': 'g', 'svc:path': '/beds/north' },
    });
    const ids = (condition: string) => own.column(`SELECT name FROM 'g' WHERE ${condition} ORDER BY path`);
    expect(await ids("CHILD_OF('/')")).toEqual(['beds', 'link', 'sheds']);
    expect(await ids("DESCENDANT_OF('/beds', 1)")).toEqual(['north', 'south']);
    expect(await ids("PATH_STARTS_WITH(path, '/beds/north')")).toEqual(['north', 'basil', 'mint']);
    expect(await ids('DEPTH(path) = 3')).toEqual(['basil', 'mint']);
    expect(await ids("PARENT(path) = '/beds'")).toEqual(['north', 'south']);
    expect(await ids("ANCESTOR(path, 1) = '/beds' AND depth = 2")).toEqual(['north', 'south']);
    expect(await ids("REFERENCES('g:/beds/north')")).toEqual(['link']);
    expect(await ids("REFERENCES('g:/beds/south')")).toEqual([]);
  });

  it('combines whole numbers and fractions, and calculates in doubles [SQL-025]', async () => {
    expect(await garden.rows('SELECT 1 + 2.5 AS a, 7 / 2 AS b, 0.1 + 0.2 AS c, 2 * 3 AS d')).toEqual([
      { a: 3.5, b: 3.5, c: 0.30000000000000004, d: 6 },
    ]);
  });

  it('tells cases apart where they are data [SQL-026]', async () => {
    expect(await garden.column("select Count(*) as n from 'g' where Child_Of('/beds')")).toEqual([2]);
    expect(await garden.column("SELECT id FROM 'g' WHERE name = 'North'")).toEqual([]);
    expect(await garden.column("SELECT id FROM 'g' WHERE name LIKE 'N%'")).toEqual([]);
    expect(await garden.column("SELECT id FROM 'g' WHERE name ILIKE 'N%'")).toEqual(['b1']);
    expect(await garden.column("SELECT id FROM 'g' WHERE path = '/Beds'")).toEqual([]);
    expect(await garden.column("SELECT id FROM 'g' WHERE node_type = 'GROW:BED'")).toEqual([]);
    expect(await garden.run("SELECT * FROM 'G'")).toMatchObject({ columns: [] });
    expect((await garden.ask("SELECT Name FROM 'g'")).json.message).toMatch(/^Column not found/);
  });

  it('has subqueries that know nothing of the query around them [SQL-027]', async () => {
    const correlated = [
      "SELECT id FROM 'g' a WHERE EXISTS (SELECT 1 FROM 'g' x WHERE x.parent_name = a.name)",
      "SELECT (SELECT COUNT(*) FROM 'g' x WHERE x.parent_name = a.name) AS n FROM 'g' a",
      "SELECT id FROM 'g' a, (SELECT a.id AS n) AS s",
    ];
    for (const sql of correlated) {
      const answer = await garden.ask(sql);
      expect([sql, answer.status, answer.json.code]).toEqual([sql, 400, 'VALIDATION_FAILED']);
    }
  });

  it('gives columns of one name a number [SQL-056]', async () => {
    const answer = await garden.run(
      "SELECT 1 AS a, 2 AS a, 3 AS a_2, 4 AS a, id, id FROM 'p' WHERE id = 'u1'",
    );
    expect(answer.columns).toEqual(['a', 'a_3', 'a_2', 'a_4', 'id', 'id_2']);
    expect(answer.rows).toEqual([{ a: 1, a_3: 2, a_2: 3, a_4: 4, id: 'u1', id_2: 'u1' }]);
  });

  it('keeps keys that have a meaning for objects, and all digits [SQL-056]', async () => {
    const { text } = await garden.ask(
      `SELECT '{"__proto__":{"a":1},"n":12345678901234567890}'::jsonb AS "__proto__", 9007199254740993 AS big`,
    );
    expect(text).toContain('"rows":[{"__proto__":{"__proto__":{"a":1},"n":12345678901234567890}');
    expect(text).toContain('"big":9007199254740993');
  });
});

describe('several statements', () => {
  it('run in order, and the last one answers [SQL-004]', async () => {
    const { columns: names, rows } = await garden.run("SELECT 1 AS a; SELECT id FROM 'p'; ; SELECT 3 AS c;");
    expect([names, rows]).toEqual([['c'], [{ c: 3 }]]);
    expect(await garden.rows("SELECT ';' AS a -- ; not here\n; /* ; */ SELECT $1 AS b", 'x')).toEqual([
      { b: 'x' },
    ]);
  });

  it('stop at the first error, which says where it is [SQL-004, SQL-011]', async () => {
    const failing = await garden.ask('SELECT 1 AS a; SELECT 1 / 0 AS b; SELECT 2 AS c');
    expect(failing.status).toBe(400);
    expect(failing.json.message).toMatch(/^statement 2: Division by zero/);
    const unknown = await garden.ask("SELECT 1 AS a;\n  SELECT bogus FROM 'g'");
    expect(unknown.json).toMatchObject({ code: 'VALIDATION_FAILED', details: { line: 2, column: 10 } });
    expect(unknown.json.message).toMatch(/^statement 2: Column not found/);
    const only = await garden.ask("SELECT bogus FROM 'g'");
    expect(only.json.message).toMatch(/^Column not found/);
  });

  it('need a statement among them [SQL-011]', async () => {
    for (const sql of ['', ' \n\t']) expect((await garden.ask(sql)).json.message).toMatch(/^Empty statement/);
    for (const sql of ['-- nothing', ';;', '/* a */ ; -- b'])
      expect((await garden.ask(sql)).json.message).toMatch(/^No valid statements to execute/);
  });
});

describe('an error in a statement', () => {
  it('shows the place [SQL-011]', async () => {
    const { json, status } = await garden.ask("SELECT name,\n       nme\nFROM 'g'");
    expect(status).toBe(400);
    expect(json).toEqual({
      code: 'VALIDATION_FAILED',
      message: expect.stringMatching(/^Column not found: nme[^\n]* \(line 2, column 8\)\n {7}nme\n {7}\^/),
      details: { line: 2, column: 8 },
      timestamp: expect.any(String),
    });
  });

  it('names what the parser met [SQL-011]', async () => {
    for (const [sql, column] of [
      ['SELECT FROM WHERE', 8],
      ["SELECT 'open", 8],
      ['SELECT (1 + 2 AS a', 15],
      ['SELEC 1', 1],
    ] as const) {
      const { json, status } = await garden.ask(sql);
      expect([sql, status, json.code]).toEqual([sql, 400, 'VALIDATION_FAILED']);
      expect([sql, json.details]).toEqual([sql, { line: 1, column }]);
    }
  });

  it('is one of the body where that is not as it should be [SQL-057]', async () => {
    const path = `/api/sql/${garden.client.repository}`;
    for (const [body, text] of [
      [{}, 'missing field `sql`'],
      [{ sql: 5 }, 'invalid type for `sql`: expected string, found number'],
      [{ sql: 'SELECT 1', params: 'x' }, 'invalid type for `params`: expected array, found string'],
      [[], 'invalid type for the body: expected object, found array'],
    ] as const) {
      const answer = await server.admin('POST', path, body);
      expect([answer.status, answer.text]).toEqual([422, text]);
    }
    const unknown = await server.admin('POST', path, { sql: 'SELECT 1', parms: [] });
    expect([unknown.status, unknown.json.code]).toEqual([400, 'VALIDATION_FAILED']);
    const long = await server.admin('POST', path, { sql: `SELECT 1 -- ${'x'.repeat(1_000_000)}` });
    expect([long.status, long.json.field]).toEqual([400, 'sql']);
    const many = await server.admin('POST', path, { sql: 'SELECT 1', params: Array(65_536).fill(0) });
    expect([many.status, many.json.field]).toEqual([400, 'params']);
    const most = await garden.ask('SELECT $65535 AS last', { params: Array(65_535).fill(7) });
    expect(most.json.rows).toEqual([{ last: 7 }]);
  });
});

describe('a condition on the branch or the revision', () => {
  it('reads another branch, or a tag, and is no condition on rows [SQL-028]', async () => {
    const own = await sharedGarden(server);
    const sql = "SELECT id, __branch AS b FROM 'g' WHERE name = 'side' AND __branch = $1";
    expect(await own.rows(sql, 'side')).toEqual([{ id: 's1', b: 'side' }]);
    expect(await own.rows(sql, 'main')).toEqual([]);
    expect((await own.run(sql, { branch: 'side', params: ['main'] })).rows).toEqual([]);
    const joined =
      "SELECT a.id AS x, b.id AS y FROM 'g' a JOIN 'g' b ON a.path = b.path WHERE a.__branch = 'side' AND a.id = 'b1'";
    expect(await own.rows(joined)).toEqual([{ x: 'b1', y: 'b1' }]);
    expect(await own.column("SELECT COUNT(*) AS n FROM 'g' WHERE __branch = 'v1'")).toEqual([6]);
    const missing = await own.ask("SELECT 1 AS a; SELECT id FROM 'g' WHERE __branch = 'nope'");
    expect([missing.status, missing.json.code]).toEqual([404, 'BRANCH_NOT_FOUND']);
    expect(missing.json.message).toBe("statement 2: Branch 'nope' not found");
  });

  it('reads a revision [SQL-030]', async () => {
    const own = await sharedGarden(server);
    const before = await own.client.headRevision();
    await own.g.add('/', 'later', {}, 'svc:Folder', { id: 'l1' });
    const sql = "SELECT COUNT(*) AS n FROM 'g' WHERE name = 'later'";
    expect(await own.column(sql)).toEqual([1]);
    expect(await own.column(`${sql} AND __revision = $1`, before)).toEqual([0]);
    const [ms] = (await own.client.headRevision()).split('-') as [string];
    expect(await own.column(`${sql} AND __revision = ${Number(ms) + 0}`)).toEqual(
      await own.column(`${sql} AND __revision = '${ms}-0'`),
    );
    for (const [revision, status, code] of [
      ['99999999999999-0', 404, 'REVISION_NOT_FOUND'],
      ['1-0', 404, 'REVISION_NOT_FOUND'],
    ] as const) {
      const answer = await own.ask(`${sql} AND __revision = '${revision}'`);
      expect([revision, answer.status, answer.json.code]).toEqual([revision, status, code]);
    }
    expect((await own.ask(`${sql} AND __revision = 'yesterday'`)).status).toBe(400);
  });

  it('shows nothing later than a tag [SQL-030]', async () => {
    const own = await sharedGarden(server);
    const sql = "SELECT name FROM 'g' WHERE name = 'after-tag'";
    await own.g.add('/', 'after-tag');
    const later = await own.client.headRevision();
    expect((await own.run(sql)).row_count).toBe(1);
    const tagged = await own.ask(sql, { branch: 'v1' });
    expect(tagged.json.rows).toEqual([]);
    expect(await own.rows(`${sql} AND __branch = 'v1'`)).toEqual([]);
    const late = await own.ask(`${sql} AND __branch = 'v1' AND __revision = '${later}'`);
    expect([late.status, late.json.code]).toEqual([404, 'REVISION_NOT_FOUND']);
    const beyond = await own.ask(`${sql} AND __revision = '${later}'`, { branch: 'v1' });
    expect([beyond.status, beyond.json.code]).toEqual([404, 'REVISION_NOT_FOUND']);
  });
});

describe('pages of rows', () => {
  it('go by offset [SQLPAGE-001, SQLPAGE-007]', async () => {
    const page = (rest: string) => garden.column(`SELECT id FROM 'g' ORDER BY path ${rest}`);
    expect(await page('LIMIT 2')).toEqual(['f0', 'b1']);
    expect(await page('LIMIT 2 OFFSET 2')).toEqual(['p1', 'p2']);
    expect(await page('LIMIT 2 OFFSET 6')).toEqual([]);
    expect(await page('LIMIT 0')).toEqual([]);
    expect(await garden.column("SELECT id FROM 'g' ORDER BY path LIMIT $1 OFFSET $2", 1, 3)).toEqual(['p2']);
    expect(await garden.column("SELECT COUNT(*) AS n FROM 'g'")).toEqual([6]);
    for (const rest of ['LIMIT -1', "LIMIT 'x'", 'LIMIT 1.5', 'LIMIT id'])
      expect((await garden.ask(`SELECT id FROM 'g' ${rest}`)).json.message).toMatch(/^Invalid LIMIT value/);
  });

  it.each([
    ['path', 'path', false],
    ['creation', 'created_at', false],
    ['change, backwards', 'updated_at', true],
    ['a property', "properties->>'title'", true],
  ])('go on by %s and give each row once [SQLPAGE-002]', async (_name, column, isDescending) => {
    const own = await sharedGarden(server);
    const [operator, direction] = isDescending ? ['<', 'DESC'] : ['>', 'ASC'];
    const having = `${column} IS NOT NULL`;
    const order = `ORDER BY ${column} ${direction}, id ${direction} LIMIT 2`;
    const all = await own.column(
      `SELECT id FROM 'g' WHERE ${having} ORDER BY ${column} ${direction}, id ${direction}`,
    );
    const seen: unknown[] = [];
    let last: readonly unknown[] = [];
    for (;;) {
      const behind =
        last.length === 0 ? '' : `AND (${column} ${operator} $1 OR (${column} = $1 AND id ${operator} $2))`;
      const sql = `SELECT id, ${column} AS c FROM 'g' WHERE ${having} ${behind} ${order}`;
      const rows = await own.rows(sql, ...last);
      if (rows.length === 0) break;
      seen.push(...rows.map(({ id }) => id));
      const { c, id } = rows.at(-1) as { c: unknown; id: unknown };
      last = [c, id];
    }
    expect(all.length).toBeGreaterThan(3);
    expect(seen).toEqual(all);
  });

  it('go on by the editorial order of children and of a subtree [SQLPAGE-004, SQLPAGE-005, SQLPAGE-006]', async () => {
    const own = await Garden.on(server);
    await own.g.add('/beds', 'east', {}, 'svc:Folder', { id: 'e1' });
    await own.g.done('/beds/east', 'reorder', { targetPath: '/beds/north', movePosition: 'before' });
    const walk = async (condition: string, column: string): Promise<readonly unknown[]> => {
      const seen: unknown[] = [];
      let last: unknown;
      for (;;) {
        const behind = last === undefined ? '' : `AND ${column} > $1`;
        const sql = `SELECT id, ${column} AS t FROM 'g' WHERE ${condition} ${behind} ORDER BY ${column} LIMIT 1`;
        const [row] = await own.rows(sql, ...(last === undefined ? [] : [last]));
        if (row === undefined) return seen;
        expect(row.t).toEqual(expect.any(String));
        seen.push(row.id);
        last = row.t;
      }
    };
    expect(await walk("CHILD_OF('/beds')", '__order')).toEqual(['e1', 'b1', 'b2']);
    expect(await walk("DESCENDANT_OF('/beds')", '__tree_order')).toEqual(['e1', 'b1', 'p1', 'p2', 'b2']);
  });

  it('do not compare rows [SQLPAGE-003]', async () => {
    const answer = await garden.ask("SELECT id FROM 'g' WHERE (path, id) < ($1, $2)", {
      params: ['/a', 'b'],
    });
    expect([answer.status, answer.json.code]).toEqual([400, 'VALIDATION_FAILED']);
  });
});

describe('a plan', () => {
  it('is a row with one column, and beside the rows [SQL-010]', async () => {
    const plan = await garden.run("EXPLAIN SELECT id FROM 'g' WHERE path = '/beds' LIMIT 1");
    expect(plan).toMatchObject({ columns: ['QUERY PLAN'], row_count: 1 });
    expect(plan.explain_plan).toMatch(/^=== Physical Execution Plan ===\n/);
    expect(plan.rows).toEqual([{ 'QUERY PLAN': plan.explain_plan }]);
    expect(await garden.run("SELECT id FROM 'g'")).not.toHaveProperty('explain_plan');
    const verbose = await garden.run("EXPLAIN VERBOSE SELECT id FROM 'g'");
    expect(verbose.explain_plan).toMatch(/^=== Logical Plan ===\n/);
  });

  it('does not run the statement, unless it is to be measured [SQL-010]', async () => {
    expect((await garden.ask("EXPLAIN SELECT 1 / (depth - depth) AS x FROM 'g'")).status).toBe(200);
    const measured = await garden.ask("EXPLAIN ANALYZE SELECT 1 / (depth - depth) AS x FROM 'g'");
    expect(measured.json.message).toMatch(/^Division by zero/);
  });
});
