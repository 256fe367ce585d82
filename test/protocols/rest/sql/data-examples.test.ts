import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Garden } from '#test/support/garden.ts';
import { startServer, type TestServer } from '#test/support/server.ts';

let server: TestServer;

beforeAll(async () => {
  server = await startServer();
});

afterAll(() => server.close());

/** What statements leave, each from the garden as it is at first. */
describe('the examples of statements that change data', () => {
  const one = [{ affected_rows: 1 }];
  const byId = (id: string, columns: string): string => `SELECT ${columns} FROM 'g' WHERE id = '${id}'`;

  it.each<[string, string, readonly object[], string, readonly object[]]>([
    [
      'SQLEX-052',
      `INSERT INTO 'g' (path, node_type, properties) VALUES ('/sheds/fern', 'grow:Plant', '{"title":"Fern"}'::jsonb)`,
      one,
      "SELECT name FROM 'g' WHERE path = '/sheds/fern'",
      [{ name: 'fern' }],
    ],
    [
      'SQLEX-056',
      `INSERT INTO 'g' (path, node_type, properties) SELECT '/sheds/' || name, node_type, properties FROM 'g' WHERE id = 'p1'`,
      one,
      "SELECT properties->>'title' AS t FROM 'g' WHERE path = '/sheds/basil'",
      [{ t: 'Basil' }],
    ],
    [
      'SQLEX-057',
      `UPSERT INTO 'g' (path, node_type, properties) VALUES ('/beds/south', 'grow:Bed', '{"title":"S2"}')`,
      one,
      byId('b2', "path, properties->>'title' AS t, properties->'area' AS a"),
      [{ path: '/beds/south', t: 'S2', a: null }],
    ],
    [
      'SQLEX-058',
      `UPDATE 'g' SET properties = properties || '{"area":13}' WHERE id = 'b1'`,
      one,
      byId('b1', "properties->'area' AS a, properties->>'title' AS t"),
      [{ a: 13, t: 'North' }],
    ],
    [
      'SQLEX-059',
      `UPDATE 'g' SET properties = JSONB_SET(properties, '{soil,ph}', '7') WHERE path = '/beds/north'`,
      one,
      byId('b1', "properties->'soil' AS s"),
      [{ s: { ph: 7, kind: 'loam' } }],
    ],
    [
      'SQLEX-065',
      `UPDATE 'g' SET name = 'q' WHERE id = 'b1' RETURNING id, updated_at`,
      [{ id: 'b1', updated_at: null }],
      byId('p1', 'path'),
      [{ path: '/beds/q/basil' }],
    ],
    [
      'SQLEX-067',
      `DELETE FROM 'g' WHERE path = '/beds/north'`,
      one,
      "SELECT id FROM 'g' WHERE id IN ('b1', 'p1', 'p2')",
      [],
    ],
    [
      'SQLEX-068',
      `DELETE FROM 'g' WHERE id = 'zz'`,
      [{ affected_rows: 0 }],
      "SELECT COUNT(*) AS n FROM 'g'",
      [{ n: 6 }],
    ],
  ])(
    '%s: %s [SQLEX-052, SQLEX-056, SQLEX-057, SQLEX-058, SQLEX-059, SQLEX-065, SQLEX-067, SQLEX-068]',
    async (_id, sql, answer, look, left) => {
      const garden = await Garden.on(server);
      expect(await garden.rows(sql)).toEqual(answer);
      expect(await garden.rows(look)).toEqual(left);
    },
  );
});

describe('the examples of statements that are refused', () => {
  let garden: Garden;

  beforeAll(async () => {
    garden = await Garden.on(server);
  });

  it.each<[string, string, number, string]>([
    [
      'SQLEX-053',
      `INSERT INTO 'g' (path, properties) VALUES ('/x', '{}')`,
      400,
      "Required column 'node_type' is missing",
    ],
    [
      'SQLEX-054',
      `INSERT INTO 'g' (path, node_type) VALUES ('/beds/north', 'grow:Bed')`,
      409,
      "Node with path '/beds/north' already exists",
    ],
    [
      'SQLEX-055',
      `INSERT INTO 'g' (path, node_type) VALUES ('/k1', 'svc:Folder'), ('/no/k2', 'svc:Folder')`,
      404,
      "Parent node '/no' not found",
    ],
    ['SQLEX-060', `UPDATE 'g' SET name = 'n2' WHERE path = '/zz'`, 404, "Node at path '/zz' not found"],
    [
      'SQLEX-061',
      `UPDATE 'g' SET node_type = 'grow:Plant' WHERE id = 'b1'`,
      400,
      'Cannot change node_type after creation',
    ],
    ['SQLEX-062', `UPDATE 'g' SET archetype = 'no:such' WHERE id = 'b1'`, 400, 'Archetype not found'],
    ['SQLEX-063', `UPDATE 'g' SET properties = '{}'`, 400, 'UPDATE requires a WHERE clause'],
    [
      'SQLEX-066',
      `UPDATE 'g' SET name = 'q' WHERE id = 'b1' RETURNING COUNT(*)`,
      400,
      'aggregate functions are not allowed in RETURNING',
    ],
    [
      'SQLEX-070',
      `INSERT INTO NodeTypes (name) VALUES ('a:B')`,
      400,
      "Direct DML operations on 'NodeTypes' are not allowed",
    ],
  ])(
    '%s: %s [SQLEX-053, SQLEX-054, SQLEX-055, SQLEX-060, SQLEX-061, SQLEX-062, SQLEX-063, SQLEX-066, SQLEX-070]',
    async (_id, sql, status, text) => {
      const head = await garden.client.headRevision();
      const { json, status: answered } = await garden.ask(sql);
      expect([answered, json.message]).toEqual([status, expect.stringMatching(new RegExp(`^${text}`))]);
      expect(await garden.client.headRevision()).toBe(head);
    },
  );
});

describe('a statement that fails outside a transaction', () => {
  it('leaves what the statements before it have done, and nothing of its own [SQL-139]', async () => {
    const garden = await Garden.on(server);
    const sql = `INSERT INTO 'g' (path, node_type) VALUES ('/k1', 'svc:Folder'); INSERT INTO 'g' (path, node_type) VALUES ('/k2', 'svc:Folder'), ('/k1', 'svc:Folder')`;
    const { json, status } = await garden.ask(sql);
    expect([status, json.message]).toEqual([409, "statement 2: Node with path '/k1' already exists (row 2)"]);
    expect(await garden.column("SELECT path FROM 'g' WHERE name IN ('k1', 'k2')")).toEqual(['/k1']);
  });
});
