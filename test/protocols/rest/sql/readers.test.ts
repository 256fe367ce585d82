import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { expectStatus } from '#test/support/content-client.ts';
import { Garden } from '#test/support/garden.ts';
import { startServer, type TestServer } from '#test/support/server.ts';

let server: TestServer;
let garden: Garden;
/** Tokens of identities by the names of their roles; `nobody` has none. */
const readers = new Map<string, string>();

/** Roles, and what they may read. */
const roles: Readonly<Record<string, readonly object[]>> = {
  open: [{ path: '/beds/**', operations: ['read'], workspace: 'g', condition: 'node.open == true' }],
  plants: [{ path: '**', operations: ['read'], workspace: 'g', node_types: ['grow:Plant'] }],
  titles: [{ path: '**', operations: ['read'], workspace: 'g', fields: ['title'] }],
  own: [{ path: '**', operations: ['read'], workspace: 'g', condition: 'node.created_by == auth.user_id' }],
  side: [{ path: '**', operations: ['read'], workspace: 'g', branch_pattern: 'side' }],
};

beforeAll(async () => {
  server = await startServer();
  garden = await Garden.on(server);
  const access = `/api/repository/${garden.client.repository}/main/head/svc:access_control`;
  for (const [id, permissions] of Object.entries(roles)) {
    const node = { name: id, node_type: 'svc:Role', properties: { role_id: id, name: id, permissions } };
    expectStatus(await server.admin('POST', `${access}/roles`, node), 201);
  }
  for (const name of [...Object.keys(roles), 'nobody']) {
    const body = { email: `${name}@example.org`, password: 'rowing-in-may', display_name: name };
    const { json } = await server.request('POST', `/auth/${garden.client.repository}/register`, { body });
    const properties = { roles: name === 'nobody' ? [] : [name] };
    expectStatus(await server.admin('PATCH', `${access}${json.identity.home}`, { properties }), 200);
    readers.set(name, json.access_token);
  }
  await garden.client.branch('side', { upstream_branch: 'main' });
});

afterAll(() => server.close());

function asReader(name: string): { readonly token: string } {
  return { token: readers.get(name) as string };
}

async function rowsOf(name: string, sql: string) {
  return (await garden.run(sql, asReader(name))).rows;
}

async function idsOf(name: string, sql: string): Promise<readonly unknown[]> {
  return (await rowsOf(name, sql)).map(({ id }) => id);
}

describe('rows that a caller may not read', () => {
  it.each([
    ['open', ['b1']],
    ['plants', ['p1', 'p2']],
    ['titles', ['f0', 'b1', 'p1', 'p2', 'b2', 's0']],
    ['own', []],
    ['side', []],
    ['nobody', []],
  ])('are in no answer: role %s [SQL-058]', async (name, ids) => {
    expect(await idsOf(name, "SELECT id FROM 'g' ORDER BY path")).toEqual(ids);
    expect(await rowsOf(name, "SELECT COUNT(*) AS n, MAX(id) AS last FROM 'g'")).toEqual([
      { n: ids.length, last: [...ids].sort().at(-1) ?? null },
    ]);
    expect(await idsOf(name, "SELECT a.id FROM 'g' a JOIN 'g' b ON a.id = b.id ORDER BY a.path")).toEqual(
      ids,
    );
    const all =
      "SELECT id FROM 'g' WHERE id IN (SELECT id FROM 'g') OR NOT EXISTS (SELECT 1 FROM 'g') ORDER BY path";
    expect(await idsOf(name, all)).toEqual(ids);
    for (const id of ['f0', 'b1', 'p1', 'b2'])
      expect(await idsOf(name, `SELECT id FROM 'g' WHERE id = '${id}'`)).toEqual(
        ids.filter((each) => each === id),
      );
    const numbered = await rowsOf(
      name,
      "SELECT id, ROW_NUMBER() OVER (ORDER BY path) AS r FROM 'g' ORDER BY r",
    );
    expect(numbered).toEqual(ids.map((id, index) => ({ id, r: index + 1 })));
    const grouped = await rowsOf(name, "SELECT node_type, COUNT(*) AS n FROM 'g' GROUP BY node_type");
    expect(grouped.reduce((sum, { n }) => sum + (n as number), 0)).toBe(ids.length);
  });

  it('stay hidden behind conditions on the tree [SQL-058]', async () => {
    expect(await idsOf('plants', "SELECT id FROM 'g' WHERE CHILD_OF('/beds/north') ORDER BY path")).toEqual([
      'p1',
      'p2',
    ]);
    expect(await idsOf('plants', "SELECT id FROM 'g' WHERE DESCENDANT_OF('/') ORDER BY path")).toEqual([
      'p1',
      'p2',
    ]);
    expect(await idsOf('open', "SELECT id FROM 'g' WHERE DESCENDANT_OF('/beds')")).toEqual(['b1']);
    expect(await idsOf('open', "SELECT id FROM 'g' WHERE path LIKE '/%'")).toEqual(['b1']);
  });

  it.each(['open', 'plants', 'nobody'])('do not show in plans: role %s [SQL-058]', async (name) => {
    const plan = async (sql: string): Promise<string> =>
      ((await garden.run(sql, asReader(name))).explain_plan as string)
        .replaceAll(/b2|no|\/beds\/south|\/beds\/nothing|grow:Bed|grow:Not/g, '')
        .replaceAll(/time=[\d.]+/g, '');
    for (const verb of ['EXPLAIN', 'EXPLAIN ANALYZE', 'EXPLAIN VERBOSE'])
      for (const [hidden, missing] of [
        ["id = 'b2'", "id = 'no'"],
        ["path = '/beds/south'", "path = '/beds/nothing'"],
        ["CHILD_OF('/beds/south')", "CHILD_OF('/beds/nothing')"],
        ["REFERENCES('g:/beds/south')", "REFERENCES('g:/beds/nothing')"],
      ] as const)
        expect([hidden, await plan(`${verb} SELECT id FROM 'g' WHERE ${hidden}`)]).toEqual([
          hidden,
          await plan(`${verb} SELECT id FROM 'g' WHERE ${missing}`),
        ]);
    // As many as there are, or none of them: what is hidden is not counted.
    const [some] = (
      (await garden.run("EXPLAIN SELECT id FROM 'g'", asReader(name))).explain_plan as string
    ).match(/rows=\d+/) ?? [''];
    expect(some).toMatch(/rows=/);
    await garden.g.add('/sheds', `more-${name}`);
    const more = (await garden.run("EXPLAIN SELECT id FROM 'g'", asReader(name))).explain_plan;
    expect(more).toContain(some);
    expectStatus(await garden.g.delete(`/sheds/more-${name}`), 200, 204);
  });

  it('are hidden on another branch by its own permissions [SQL-058]', async () => {
    const sql = (branch: string) =>
      `SELECT id FROM 'g' WHERE depth = 1 AND __branch = '${branch}' ORDER BY path`;
    expect(await idsOf('side', sql('main'))).toEqual([]);
    expect(await idsOf('side', sql('side'))).toEqual(['f0', 's0']);
    expect(await idsOf('titles', sql('side'))).toEqual(['f0', 's0']);
    const onSide = { ...asReader('side'), branch: 'side' };
    expect((await garden.run(sql('main'), onSide)).rows).toEqual([]);
    expect((await garden.run(sql('side'), onSide)).row_count).toBe(2);
  });

  it('are none of the own ones [SQL-058]', async () => {
    const own = await Garden.on(server);
    const access = `/api/repository/${own.client.repository}/main/head/svc:access_control`;
    const permissions = [
      {
        path: '**',
        operations: ['read', 'create'],
        condition: 'node.created_by == auth.user_id',
        workspace: 'g',
      },
    ];
    const role = {
      name: 'mine',
      node_type: 'svc:Role',
      properties: { role_id: 'mine', name: 'mine', permissions },
    };
    expectStatus(await server.admin('POST', `${access}/roles`, role), 201);
    const body = { email: 'mine@example.org', password: 'rowing-in-may', display_name: 'Me' };
    const { json } = await server.request('POST', `/auth/${own.client.repository}/register`, { body });
    const properties = { roles: ['mine'] };
    expectStatus(await server.admin('PATCH', `${access}${json.identity.home}`, { properties }), 200);
    const token = json.access_token as string;
    const node = { name: 'mine', node_type: 'svc:Folder', properties: {} };
    expectStatus(await server.request('POST', own.g.url('/'), { token, body: node }), 201);
    expect((await own.run("SELECT path FROM 'g'", { token })).rows).toEqual([{ path: '/mine' }]);
    expect((await own.run('SELECT CURRENT_USER() AS u', { token })).rows).toEqual([{ u: json.identity.id }]);
  });
});

describe('properties that a caller may not read', () => {
  it('are missing in rows, conditions and orders [ACC-030]', async () => {
    const [row] = await rowsOf('titles', "SELECT * FROM 'g' WHERE id = 'b1'");
    expect(row).toMatchObject({
      id: 'b1',
      path: '/beds/north',
      name: 'north',
      properties: { title: 'North' },
    });
    expect(Object.keys(row?.properties as object).filter((key) => !key.startsWith('$'))).toEqual(['title']);
    const read = await server.request('GET', garden.g.url('/beds/north'), asReader('titles'));
    expect(Object.keys(read.json.properties).filter((key) => !key.startsWith('$'))).toEqual(['title']);
    for (const condition of [
      "properties->>'open' = 'true'",
      `properties @> '{"open":true}'`,
      "properties ? 'open'",
      "(properties->>'area')::DOUBLE > 0",
      "properties->'soil'->>'kind' = 'loam'",
      "properties#>>'{soil,kind}' = 'loam'",
      "properties::TEXT LIKE '%loam%'",
      "'sun' = ANY(properties->'tags')",
    ])
      expect([condition, await idsOf('titles', `SELECT id FROM 'g' WHERE ${condition}`)]).toEqual([
        condition,
        [],
      ]);
    expect(
      await rowsOf(
        'titles',
        "SELECT MAX(properties->>'area') AS a, COUNT(properties->>'stock') AS n FROM 'g'",
      ),
    ).toEqual([{ a: null, n: 0 }]);
    expect(
      await idsOf('titles', "SELECT id FROM 'g' ORDER BY properties->>'area' DESC NULLS LAST, id"),
    ).toEqual(['b1', 'b2', 'f0', 'p1', 'p2', 's0']);
  });
});

describe('a caller without access', () => {
  it('gets no rows without a token, whatever the repository and the statement are [ACC-010]', async () => {
    const nothing = { columns: [], rows: [], row_count: 0, execution_time_ms: 0 };
    for (const sql of ["SELECT * FROM 'g'", 'SELECT 1 AS a', 'SELEC', '']) {
      const answer = await garden.ask(sql, { token: null });
      expect([sql, answer.status, answer.json]).toEqual([sql, 200, nothing]);
      expect(answer.headers['x-svc-revision']).toBeUndefined();
    }
    for (const path of ['nope', `${garden.client.repository}/nope`, `${garden.client.repository}/side`]) {
      const answer = await server.request('POST', `/api/sql/${path}`, { body: { sql: 'SELECT 1 AS a' } });
      expect([path, answer.status, answer.json]).toEqual([path, 200, nothing]);
    }
  });

  it('gets no rows with a token that is of no use [ACC-010]', async () => {
    const answer = await garden.run("SELECT * FROM 'g'", { token: 'of-no-use' });
    expect(answer.row_count).toBe(0);
  });

  it('gets no rows and no nodes with an identity that has no user node [ACC-014]', async () => {
    const other = await Garden.on(server);
    const answer = await other.ask("SELECT * FROM 'g'", asReader('titles'));
    expect([answer.status, answer.json.rows]).toEqual([200, []]);
    const read = await server.request('GET', other.g.url('/beds'), asReader('titles'));
    expect(read.status).toBe(404);
  });

  it('sees what the anonymous role grants, where anonymous access is on [SQL-058]', async () => {
    const own = await Garden.on(server);
    const base = `/api/repository/${own.client.repository}/main/head`;
    const permissions = [{ path: '/beds', operations: ['read'], workspace: 'g' }];
    const anonymous = { properties: { permissions } };
    expectStatus(await server.admin('PATCH', `${base}/svc:access_control/roles/anonymous`, anonymous), 200);
    const properties = { repo_id: own.client.repository, anonymous_enabled: true };
    const node = { name: own.client.repository, node_type: 'svc:RepoAuthConfig', properties };
    expectStatus(await server.admin('POST', `${base}/svc:system/config/repos/`, node), 201);
    const answer = await own.run("SELECT id FROM 'g'", { token: null });
    expect(answer).toMatchObject({ columns: ['id'], rows: [{ id: 'f0' }] });
    expect((await own.ask('SELECT 1 / 0 AS x', { token: null })).status).toBe(400);
  });
});
