import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { expectStatus } from '#test/support/content-client.ts';
import { Garden } from '#test/support/garden.ts';
import { startServer, type TestServer } from '#test/support/server.ts';

let server: TestServer;
let garden: Garden;

beforeAll(async () => {
  server = await startServer();
  garden = await Garden.on(server);
});

afterAll(() => server.close());

type Row = Readonly<Record<string, unknown>>;

/** An example: the number of its requirement, the statement and what comes of it, or how the error begins. */
type Example = readonly [number: string, sql: string, outcome: readonly Row[] | string];

const expressions: readonly Example[] = [
  ['001', 'SELECT 1 + 2 * 3 AS n, 7 / 2 AS q, 7 % 4 AS r', [{ n: 7, q: 3.5, r: 3 }]],
  ['002', 'SELECT 1 / 0 AS x', 'Division by zero'],
  ['003', "SELECT 'a' || NULL AS t, NULL = NULL AS e", [{ t: null, e: null }]],
  ['004', "SELECT '41.9'::INT AS n, 'yes'::BOOLEAN AS b, LENGTH('Grün') AS l", [{ n: 41, b: true, l: 4 }]],
  ['005', "SELECT '5'::NUMERIC AS n", 'Unsupported SQL type'],
  ['006', 'SELECT 2 BETWEEN 1 AND 2 AS a, 3 IN (1, 2) AS b', [{ a: true, b: false }]],
  ['007', "SELECT 'Basil' LIKE 'b%' AS a, 'Basil' ILIKE 'b_sil' AS b", [{ a: false, b: true }]],
  ['008', `SELECT '{"a":{"b":[1,2]}}'::jsonb #>> '{a,b,1}' AS v`, [{ v: '2' }]],
  ['009', `SELECT '{"a":{"x":1}}'::jsonb || '{"a":{"y":2}}'::jsonb AS j`, [{ j: { a: { y: 2 } } }]],
  [
    '010',
    `SELECT '{"a":1,"b":2}'::jsonb - 'a' AS j, '{"a":{"b":1,"c":2}}'::jsonb #- '{a,b}' AS k`,
    [{ j: { b: 2 }, k: { a: { c: 2 } } }],
  ],
  [
    '011',
    "SELECT '2031-01-31T00:00:00Z'::TIMESTAMPTZ + INTERVAL '1 day 6 hours' = '2031-02-01T06:00:00Z' AS t",
    [{ t: true }],
  ],
  ['012', "SELECT INTERVAL '3 moons' AS i", "Unsupported INTERVAL unit 'moons'"],
  [
    '013',
    "SELECT COALESCE(NULL, 'x') AS c, NULLIF(2, 2) AS n, ROUND(-2.5) AS a, ROUND(3.14159, 2) AS b",
    [{ c: 'x', n: null, a: -3, b: 3.14 }],
  ],
  [
    '014',
    `SELECT JSON_VALUE('{"a":[{"b":7}]}'::jsonb, '$.a[0].b') AS v, JSON_EXISTS('{"a":null}'::jsonb, '$.a') AS e`,
    [{ v: '7', e: true }],
  ],
  ['015', `SELECT JSON_QUERY('{"a":[1,2]}'::jsonb, '$.a[*]', 'WITH WRAPPER') AS q`, [{ q: [1, 2] }]],
  ['016', `SELECT JSONB_SET('{"a":1}', '{b,c}', '"z"') AS j`, [{ j: { a: 1, b: { c: 'z' } } }]],
  ['016', `SELECT JSONB_SET('{"a":1}', '{b,c}', '"z"', FALSE) AS j`, [{ j: { a: 1 } }]],
  [
    '017',
    "SELECT DEPTH('/a/b') AS d, PARENT('/a/b') AS p, ANCESTOR('/a/b/c', 1) AS a, PARENT('/') AS r",
    [{ d: 2, p: '/a', a: '/a', r: null }],
  ],
  ['018', 'SELECT FROB(1) AS x', 'Function not found: FROB(INT)'],
  ['019', 'SELECT $1 AS a', 'Parameter $1 not provided (only 0 parameters given)'],
];

/** Rows with one column. */
function ids(...values: readonly string[]): readonly Row[] {
  return values.map((id) => ({ id }));
}

const selects: readonly Example[] = [
  [
    '020',
    "SELECT name FROM 'g' WHERE CHILD_OF('/beds') ORDER BY name",
    [{ name: 'north' }, { name: 'south' }],
  ],
  ['021', "SELECT id FROM 'g' WHERE DESCENDANT_OF('/beds') ORDER BY path", ids('b1', 'p1', 'p2', 'b2')],
  ['022', `SELECT id FROM 'g' WHERE properties @> '{"open":true}'`, ids('b1')],
  ['023', "SELECT id FROM 'g' WHERE properties->'tags' ? 'sun'", ids('b1')],
  ['023', "SELECT id FROM 'g' WHERE properties->'tags' ?| ARRAY['shade','wind']", ids('b2')],
  ['024', "SELECT id FROM 'g' WHERE 'sun' = ANY(properties->'tags')", ids('b1')],
  ['025', "SELECT id FROM 'g' WHERE properties->>'stock' > 10", 'Type mismatch'],
  ['026', "SELECT id FROM 'g' WHERE (properties->>'stock')::INT > 10", ids('p1')],
  ['027', "SELECT id FROM 'g' WHERE properties->>'open'::Boolean = TRUE", ids('b1')],
  [
    '028',
    "SELECT id FROM 'g' WHERE node_type = 'grow:Plant' ORDER BY properties->>'stock' DESC",
    ids('p2', 'p1'),
  ],
  [
    '029',
    "SELECT id, properties->'price' AS c FROM 'g' WHERE node_type = 'grow:Plant' ORDER BY c",
    [
      { id: 'p1', c: 3 },
      { id: 'p2', c: null },
    ],
  ],
  ['030', "SELECT node_type, COUNT(*) AS n FROM 'g' GROUP BY node_type HAVING COUNT(*) > 2", []],
  ['031', "SELECT SUM(properties->>'area') AS s FROM 'g'", 'SUM() requires numeric argument, got TEXT'],
  [
    '032',
    "SELECT COUNT(properties->>'price') AS c, COUNT(*) AS n FROM 'g' WHERE node_type = 'grow:Plant'",
    [{ c: 1, n: 2 }],
  ],
  ['033', "SELECT MAX(version) AS m, COUNT(*) AS n FROM 'g' WHERE id = 'zz'", [{ m: null, n: 0 }]],
  ['034', "SELECT COUNT(*) FILTER (WHERE properties->>'open' = 'true') AS n FROM 'g'", [{ n: 1 }]],
  ['035', "SELECT id FROM 'g' WHERE COUNT(*) > 1", 'Aggregate function COUNT not allowed in WHERE clause'],
  ['036', "SELECT name, node_type FROM 'g' GROUP BY name", 'Column node_type must appear in GROUP BY'],
  [
    '037',
    "SELECT id, RANK() OVER (PARTITION BY node_type ORDER BY id DESC) AS r FROM 'g' WHERE node_type = 'grow:Bed' ORDER BY id",
    [
      { id: 'b1', r: 2 },
      { id: 'b2', r: 1 },
    ],
  ],
  [
    '038',
    "SELECT id, SUM((properties->>'area')::DOUBLE) OVER (ORDER BY id) AS s FROM 'g' WHERE node_type = 'grow:Bed'",
    [
      { id: 'b1', s: 12 },
      { id: 'b2', s: 19.5 },
    ],
  ],
  [
    '039',
    "WITH b AS (SELECT id FROM 'g' WHERE node_type = 'grow:Bed') SELECT COUNT(*) AS n FROM b",
    [{ n: 2 }],
  ],
  [
    '040',
    "SELECT p.name AS a, b.name AS b FROM 'g' p JOIN 'g' b ON p.parent_name = b.name WHERE p.id = 'p1'",
    [{ a: 'basil', b: 'north' }],
  ],
  [
    '041',
    "SELECT id FROM 'g' WHERE node_type = 'grow:Bed' UNION SELECT id FROM 'g' WHERE id = 'b1' ORDER BY id",
    ids('b1', 'b2'),
  ],
  [
    '041',
    "SELECT id FROM 'g' WHERE node_type = 'grow:Bed' EXCEPT SELECT id FROM 'g' WHERE id = 'b1' ORDER BY id",
    ids('b2'),
  ],
  ['042', "SELECT id FROM 'g' WHERE id IN (SELECT id FROM 'g' WHERE name = 'mint')", ids('p2')],
  [
    '043',
    "SELECT id FROM 'g' a WHERE EXISTS (SELECT 1 FROM 'g' x WHERE x.parent_name = a.name)",
    'Subqueries cannot',
  ],
  ['044', "SELECT id FROM 'g' LIMIT -1", 'Invalid LIMIT value'],
  ['046', "SELECT id FROM 'g' WHERE (path, id) > ('/beds', 'a')", 'Row'],
  ['047', "SELECT id FROM 'g' WHERE path > '/beds/north/basil' ORDER BY path LIMIT 2", ids('p2', 'b2')],
  ['049', "SELECT $.properties.soil.kind AS k FROM 'g' WHERE id = 'b1'", [{ k: 'loam' }]],
  ['050', "SELECT bogus FROM 'g'", 'Column not found'],
  ['051', "SELECT name FROM NodeTypes WHERE name = 'grow:Bed'", [{ name: 'grow:Bed' }]],
];

describe.each([
  ['expression', expressions],
  ['query', selects],
] as const)('an example of an %s', (_name, examples) => {
  it.each(examples)('[SQLEX-%s] %s', async (_number, sql, outcome) => {
    const answer = await garden.ask(sql);
    if (typeof outcome === 'string') {
      expect(answer.json).toMatchObject({ code: 'VALIDATION_FAILED' });
      expect(answer.json.message.slice(0, outcome.length)).toBe(outcome);
      expect(answer.status).toBe(400);
      return;
    }
    const { rows, row_count } = expectStatus(answer, 200).json;
    expect(rows).toEqual(outcome);
    expect(row_count).toBe(outcome.length);
  });
});

describe('an example', () => {
  it('adds an interval to a time [SQLEX-011]', async () => {
    const [row] = await garden.rows(
      "SELECT '2031-01-31T00:00:00Z'::TIMESTAMPTZ + INTERVAL '1 day 6 hours' AS t",
    );
    expect(new Date(row?.t as string)).toEqual(new Date('2031-02-01T06:00:00Z'));
    expect(row?.t).toMatch(/^2031-02-01T06:00:00(\.0+)?(Z|\+00:00)$/);
  });

  it('answers a name that is no workspace without columns and rows [SQLEX-045]', async () => {
    expect(await garden.run("SELECT * FROM 'nowhere'")).toMatchObject({
      columns: [],
      rows: [],
      row_count: 0,
    });
  });

  it('pages by the editorial order [SQLEX-048]', async () => {
    const [token] = await garden.column("SELECT __order FROM 'g' WHERE id = 'b1'");
    const next = "SELECT id FROM 'g' WHERE CHILD_OF('/beds') AND __order > $1 ORDER BY __order";
    expect(await garden.rows(next, token)).toEqual(ids('b2'));
  });

  it('gives a row for each locale [SQLEX-080]', async () => {
    const own = await Garden.on(server);
    await own.g.done('/beds/north', 'translate', { locale: 'de', translations: { '/title': 'Nord' } });
    const sql =
      "SELECT locale, properties->>'title' AS t FROM 'g' WHERE id = 'b1' AND locale IN ('en', 'de') ORDER BY locale";
    expect(await own.rows(sql)).toEqual([
      { locale: 'de', t: 'Nord' },
      { locale: 'en', t: 'North' },
    ]);
  });

  it('reads another branch [SQLEX-084]', async () => {
    const own = await Garden.on(server);
    await own.client.branch('dev', { upstream_branch: 'main' });
    expectStatus(await own.g.on('dev').put('/beds/north', { properties: { title: 'N', area: 13 } }), 200);
    const sql = "SELECT properties->>'area' AS a FROM 'g' WHERE id = 'b1'";
    const onDev = { branch: 'dev' };
    expect((await own.run(sql, onDev)).rows).toEqual([{ a: '13' }]);
    expect((await own.run(`${sql} AND __branch = 'main'`, onDev)).rows).toEqual([{ a: '12' }]);
  });

  it('explains a statement [SQLEX-105]', async () => {
    const answer = await garden.run("EXPLAIN SELECT id FROM 'g' WHERE path = '/beds'");
    expect(answer.columns).toEqual(['QUERY PLAN']);
    const text = answer.rows.map((row) => row['QUERY PLAN']).join('\n');
    expect(text).toContain('PathIndexScan');
    expect(answer.explain_plan).toBe(text);
  });
});
