import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { expectStatus } from '#test/support/content-client.ts';
import { Garden } from '#test/support/garden.ts';
import { JobsClient } from '#test/support/jobs-client.ts';
import { startServer, type TestServer } from '#test/support/server.ts';

let server: TestServer;
let garden: Garden;
const tokens = new Map<string, string>();

/** Roles, and what they may do. */
const roles: Readonly<Record<string, readonly object[]>> = {
  titles: [
    { path: '**', operations: ['read'] },
    { path: '**', operations: ['update', 'translate'], fields: ['title'] },
  ],
  elsewhere: [{ path: '**', operations: ['read', 'update'], branch_pattern: 'main' }],
};

beforeAll(async () => {
  server = await startServer();
  garden = await Garden.on(server);
  const access = `/api/repository/${garden.client.repository}/main/head/svc:access_control`;
  for (const [id, permissions] of Object.entries(roles)) {
    const node = { name: id, node_type: 'svc:Role', properties: { role_id: id, name: id, permissions } };
    expectStatus(await server.admin('POST', `${access}/roles`, node), 201);
    const body = { email: `${id}@example.org`, password: 'rowing-in-may', display_name: id };
    const { json } = await server.request('POST', `/auth/${garden.client.repository}/register`, { body });
    const properties = { roles: [id] };
    expectStatus(await server.admin('PATCH', `${access}${json.identity.home}`, { properties }), 200);
    tokens.set(id, json.access_token);
  }
  const revision = await garden.client.headRevision();
  expectStatus(await garden.client.managed('POST', '/tags', { name: 'v1', revision }), 200, 201);
  await garden.client.branch('dev', { upstream_branch: 'main' });
});
afterAll(() => server.close());

const as = (name: string) => ({ token: tokens.get(name) as string });
const area = async (branch: string) =>
  (await garden.run("SELECT properties->'area' AS a FROM 'g' WHERE id = 'b1'", { branch })).rows[0]?.['a'];
const setArea = (branch: string, value: number) =>
  garden.run(`UPDATE 'g' SET properties = properties || '{"area":${value}}' WHERE id = 'b1'`, { branch });

describe('statements about the tree over REST', () => {
  it('run on the branch that they name [SQL-113]', async () => {
    const { rows } = await garden.run("MOVE 'g' IN BRANCH 'dev' SET id='p1' TO path='/sheds'");
    expect(rows).toEqual([{ affected_rows: 1 }]);
    const path = async (branch: string) =>
      (await garden.run("SELECT path FROM 'g' WHERE id = 'p1'", { branch })).rows;
    expect([await path('dev'), await path('main')]).toEqual([
      [{ path: '/sheds/basil' }],
      [{ path: '/beds/north/basil' }],
    ]);
    await garden.run("MOVE 'g' IN BRANCH dev SET id='p1' TO id='b1'");
  });

  it('restore the state of another branch, and of a tag [SQL-105]', async () => {
    await setArea('dev', 20);
    await setArea('dev', 21);
    await setArea('main', 30);
    await garden.run("RESTORE NODE id='b1' TO REVISION dev~1");
    expect(await area('main')).toBe(20);
    await garden.run("RESTORE NODE id='b1' TO REVISION dev~0");
    expect(await area('main')).toBe(21);
    await garden.run("RESTORE NODE id='b1' TO REVISION v1~0");
    expect(await area('main')).toBe(12);
    await garden.run("RESTORE NODE id='b1' TO REVISION main~1");
    expect(await area('main')).toBe(21);
    await garden.run("RESTORE NODE id='b1' TO REVISION HEAD~2", { branch: 'dev' });
    expect(await area('dev')).toBe(12);
    for (const [revision, code] of [
      ['nowhere~0', 'BRANCH_NOT_FOUND'],
      ['v1~1', 'VALIDATION_FAILED'],
    ] as const) {
      const answer = await garden.ask(`RESTORE NODE id='b1' TO REVISION ${revision}`);
      expect(answer.json).toMatchObject({ code });
    }
  });

  it('restore a tree to the state of another branch in the background [SQL-105, SQL-110]', async () => {
    await setArea('main', 40);
    await setArea('dev', 50);
    const [row] = await garden.rows("RESTORE TREE NODE path='/beds' IN WORKSPACE 'g' TO REVISION main~0");
    expect(row).toMatchObject({ status: 'queued', path: '/beds' });
    const { rows } = await garden.run("RESTORE TREE NODE id='b1' IN WORKSPACE 'g' TO REVISION dev~0");
    const jobs = new JobsClient(server, server.adminToken);
    await jobs.ended(rows[0]?.['job_id'] as string);
    expect(await area('main')).toBe(50);
  });

  it('take from another branch only what the caller may read there [SQL-105]', async () => {
    const sql = (branch: string) => `RESTORE NODE id='b1' TO REVISION ${branch}~0`;
    await garden.run(sql('main'), as('elsewhere'));
    const answer = await garden.ask(sql('dev'), as('elsewhere'));
    expect(answer.status).toBe(404);
    expect(answer.json).toMatchObject({ message: "Node with id 'b1' not found on branch 'dev'" });
  });

  it('ask for the properties that they write [SQL-109, SQL-112]', async () => {
    const restored = await garden.ask("RESTORE NODE id='b1' TO REVISION HEAD~1", as('titles'));
    expect([restored.status, restored.json.code]).toEqual([403, 'PERMISSION_DENIED']);
    const translate = (set: string, where: string) =>
      garden.ask(`UPDATE 'g' FOR LOCALE 'de' SET ${set} WHERE ${where}`, as('titles'));
    expect((await translate("title = 'Nord'", "id = 'b1'")).json.rows).toEqual([{ affected_rows: 1 }]);
    const denied = await translate("soil.kind = 'Lehm'", "id = 'b1'");
    expect([denied.status, denied.json.code]).toEqual([403, 'PERMISSION_DENIED']);
    expect((await translate("soil.kind = 'Lehm'", "node_type = 'grow:Bed'")).json.rows).toEqual([
      { affected_rows: 0 },
    ]);
  });

  it('are one revision in a transaction', async () => {
    const before = await garden.client.headRevision();
    await garden.run(`BEGIN;
      MOVE 'g' SET id='p2' TO path='/sheds';
      RELATE FROM id='p2' IN WORKSPACE 'g' TO id='p1' IN WORKSPACE 'g';
      UPDATE 'g' FOR LOCALE 'de' SET title = 'Minze' WHERE path = '/sheds/mint';
      COMMIT WITH MESSAGE 'mint' ACTOR 'ana'`);
    const { json } = await garden.client.managed('GET', '/revisions?branch=main&limit=2');
    expect(json.revisions[0]).toMatchObject({ message: 'mint', actor: 'ana', parent: before });
    const failed = await garden.ask(`BEGIN;
      MOVE 'g' SET id='p2' TO id='b1';
      ORDER 'g' SET id='p2' ABOVE id='s0'; COMMIT`);
    expect(failed.json.message).toContain('ORDER: Nodes must be siblings');
    expect(await garden.column("SELECT path FROM 'g' WHERE id = 'p2'")).toEqual(['/sheds/mint']);
  });
});
