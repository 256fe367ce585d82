import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Garden, type SqlRequest } from '#test/support/garden.ts';
import { startServer, type TestServer } from '#test/support/server.ts';

let server: TestServer;
let garden: Garden;
/** The token of a person who reads `/beds/north` and nothing below it. */
let kim: string;

beforeAll(async () => {
  server = await startServer();
  garden = await Garden.on(server);
  await garden.g.add(
    '/',
    'plan',
    { title: 'Plan', bed: reference('b1'), all: [reference('b1'), reference('p1')] },
    'svc:Page',
    {
      id: 'plan',
    },
  );
  await garden.g.add(
    '/',
    'year',
    { plan: reference('plan'), none: reference('zz'), title: 'Year' },
    'svc:Page',
    {
      id: 'year',
    },
  );
  const body = { email: 'kim@example.org', password: 'rowing-in-may' };
  kim = (await server.request('POST', `/auth/${garden.client.repository}/register`, { body })).json
    .access_token;
  await garden.run("ALTER USER 'kim@example.org' DROP ROLES ('viewer', 'authenticated_user')");
  await garden.run(
    "CREATE ROLE 'north' PERMISSIONS (ALLOW READ ON 'g' PATH '/beds/north' FIELDS (title), ALLOW READ ON 'g' PATH '/plan')",
  );
  await garden.run("GRANT ROLE 'north' TO USER 'kim@example.org'");
});

afterAll(() => server.close());

function reference(id: string): object {
  return { 'svc:ref': id, 'svc:workspace': 'g' };
}

async function resolved(json: unknown, more = '', request: SqlRequest = {}): Promise<unknown> {
  const answer = await garden.run(`SELECT RESOLVE($1::jsonb${more}) AS j`, { ...request, params: [json] });
  return answer.rows[0]?.j;
}

async function refused(sql: string): Promise<unknown> {
  const { json, status } = await garden.ask(sql);
  return [status, json.code, json.message];
}

const node = (id: string, path: string, more: object): object => ({
  id,
  path,
  name: path.split('/').pop(),
  node_type: expect.any(String),
  workspace: 'g',
  properties: expect.objectContaining(more),
});

describe('RESOLVE', () => {
  it('puts nodes in the place of references, one level deep or more [SQLFN-001]', async () => {
    const bed = node('b1', '/beds/north', { title: 'North', area: 12 });
    expect(await resolved(reference('b1'))).toEqual(bed);
    expect(await resolved({ a: [reference('b1'), 1, null], b: { c: reference('zz') } })).toEqual({
      a: [bed, 1, null],
      b: { c: reference('zz') },
    });
    const plan = { bed: expect.objectContaining({ 'svc:ref': 'b1' }) };
    const year = (inner: object) => node('year', '/year', { plan: inner, title: 'Year' });
    expect(await resolved(reference('year'))).toEqual(year(expect.objectContaining({ 'svc:ref': 'plan' })));
    expect(await resolved(reference('year'), ', 2')).toEqual(year(node('plan', '/plan', plan)));
    expect(await resolved(reference('year'), ', 3')).toEqual(year(node('plan', '/plan', { bed })));
    expect(await resolved(reference('year'), ', 0')).toEqual(reference('year'));
    expect(await resolved({ 'svc:ref': '/beds/north', 'svc:workspace': 'g' })).toEqual(bed);
    for (const other of [{ 'svc:ref': 'b1' }, { 'svc:ref': 'b1', 'svc:workspace': 'none' }, [1], null])
      expect(await resolved(other)).toEqual(other);
    const { rows } = await garden.run(
      "SELECT RESOLVE(properties->'bed')->>'path' AS p FROM 'g' WHERE id IN ('plan', 'b2') ORDER BY p",
    );
    expect(rows).toEqual([{ p: '/beds/north' }, { p: null }]);
  });

  it('shows nodes as the caller sees them, and hidden ones as missing [SQLFN-002]', async () => {
    const all = { token: kim };
    const { rows } = await garden.run("SELECT RESOLVE(properties) AS j FROM 'g' WHERE id = 'plan'", all);
    const [{ j }] = rows as [{ j: { bed: object; all: object[] } }];
    expect(j.bed).toEqual(node('b1', '/beds/north', { title: 'North' }));
    expect(JSON.stringify(j)).not.toContain('area');
    expect(j.all[1]).toMatchObject({ 'svc:ref': 'p1' });
    expect(await resolved(reference('p1'), '', all)).toEqual(reference('p1'));
    expect(await resolved(reference('zz'), '', all)).toEqual(reference('zz'));
  });

  it('has bounds [SQLFN-003]', async () => {
    const many = Array.from({ length: 100 }, () => reference('b1'));
    expect(await resolved(many)).toHaveLength(100);
    const more = await garden.ask('SELECT RESOLVE($1::jsonb)', { params: [[...many, reference('b1')]] });
    expect([more.status, more.json.code]).toEqual([413, 'REQUEST_TOO_EXPENSIVE']);
    for (const depth of ['-1', '11'])
      expect(await refused(`SELECT RESOLVE('{}', ${depth})`)).toEqual([
        400,
        'VALIDATION_FAILED',
        expect.stringContaining('from 0 to 10'),
      ]);
    expect(await refused('SELECT RESOLVE()')).toEqual([
      400,
      'VALIDATION_FAILED',
      expect.stringContaining('Invalid argument count for RESOLVE: expected 1 to 2, got 0'),
    ]);
    expect(await refused("SELECT RESOLVE(path) FROM 'g'")).toEqual([
      400,
      'VALIDATION_FAILED',
      expect.stringContaining('Type mismatch: expected JSONB, got PATH'),
    ]);
  });

  it('puts at most 4 MiB of nodes into one value, and tells nothing of nodes that may not be read', async () => {
    const text = 'x'.repeat(600_000);
    await garden.g.add('/', 'large', { title: 'Large', text }, 'svc:Page', { id: 'large' });
    const value = (count: number): object => ({
      all: Array.from({ length: count }, () => reference('large')),
    });
    const count = async (how: object, request: SqlRequest = {}): Promise<unknown> => {
      const sql = "SELECT JSON_ARRAY_LENGTH(RESOLVE($1::jsonb)->'all') AS n";
      const { json, status } = await garden.ask(sql, { ...request, params: [how] });
      return [status, json.code ?? json.rows];
    };
    expect(await count(value(6))).toEqual([200, [{ n: 6 }]]);
    expect(await count(value(7))).toEqual([413, 'REQUEST_TOO_EXPENSIVE']);
    expect(await count(value(7), { token: kim })).toEqual([200, [{ n: 7 }]]);
  });
});

it('numbers that are read from stored bytes are not those of hidden properties', async () => {
  const sum = "SELECT SUM(CAST(properties->>'area' AS INT)) AS s FROM 'g'";
  const found = "SELECT id FROM 'g' WHERE (properties->>'area')::INT > 10";
  expect((await garden.run(sum)).rows).not.toEqual([{ s: null }]);
  expect((await garden.run(found)).rows).toContainEqual({ id: 'b1' });
  expect((await garden.run(sum, { token: kim })).rows).toEqual([{ s: null }]);
  expect((await garden.run(found, { token: kim })).rows).toEqual([]);
});
