import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ContentClient, expectStatus, type Space } from '#test/support/content-client.ts';
import type { TestResponse } from '#test/support/http-client.ts';
import { startServer, type TestServer } from '#test/support/server.ts';
import { until } from '#test/support/until.ts';

type Json = TestResponse['json'];

let server: TestServer;
let client: ContentClient;
let space: Space;

beforeAll(async () => {
  server = await startServer();
  client = await ContentClient.on(server);
  space = await client.workspace();
  await client.defineType({
    name: 'shop:Item',
    properties: [{ name: 'title', type: 'String', is_translatable: true }],
  });
});
afterAll(() => server.close());

function address(branch = 'main', query = ''): string {
  return `/api/management/${client.repository}/${encodeURIComponent(branch)}/statistics${query}`;
}

/** The statistics of a branch at its head, when they are there. */
async function statistics(branch = 'main', workspace = space.name): Promise<Json> {
  let json: Json;
  const head = await client.headOf(branch);
  await until(
    async () => {
      const answer = await server.admin('GET', address(branch, `?workspace=${workspace}`));
      ({ json } = expectStatus(answer, 200));
      return json.revision === head;
    },
    'they are those of the head',
    60_000,
  );
  expect(json).toMatchObject({ state: 'following', lag: 0, progress: null, error: null });
  return json;
}

describe('the statistics of a branch', () => {
  it('begin with the first request, and are those of the head soon after', async () => {
    await space.add('/', 'one', { title: 'one', price: 1, tags: ['a'], more: { of: 'it' } }, 'shop:Item');
    await space.add('/', 'two', { title: 'two', price: 'on request', tags: null, sold: true }, 'shop:Item');
    await space.add('/', 'folder', {});
    await space.done('/one', 'publish');
    await space.done('/one', 'translate', { locale: 'de', translations: { '/title': 'eins' } });
    expectStatus(
      await space.command('/two', 'add-relation', {
        target_workspace: space.name,
        target_path: '/one',
        relation_type: 'replaces',
      }),
      200,
      201,
      204,
    );
    const first = expectStatus(await server.admin('GET', address()), 200);
    expect(first.json).toMatchObject({ state: 'building', revision: null, lag: null, workspaces: [] });
    const { workspaces } = await statistics();
    expect(workspaces).toMatchObject([
      {
        name: space.name,
        nodes: 3,
        published: 1,
        newest_change: expect.stringMatching(/^\d{4}-\d\d-\d\d$/),
        node_types: [
          {
            name: 'shop:Item',
            nodes: 2,
            published: 1,
            archetypes: [],
            locales: [{ locale: 'de', nodes: 1 }],
            relations: [{ relation_type: 'replaces', count: 1 }],
            properties: [
              { name: 'more', nodes: 1, kinds: { object: 1 } },
              { name: 'price', nodes: 2, kinds: { string: 1, number: 1 } },
              { name: 'sold', nodes: 1, kinds: { boolean: 1 } },
              { name: 'tags', nodes: 2, kinds: { array: 1, null: 1 } },
              { name: 'title', nodes: 2, kinds: { string: 2 } },
            ],
            not_listed: 0,
          },
          { name: 'svc:Folder', nodes: 1, published: 0, properties: [] },
        ],
      },
    ]);
    expect(workspaces[0].versions).toBe(
      workspaces[0].node_types.reduce((sum: number, { versions }: Json) => sum + versions, 0),
    );
  });

  it('follow what is written, and can be built anew and dropped', async () => {
    await statistics();
    expect((await space.delete('/folder')).status).toBe(200);
    await space.add('/', 'three', { title: 'three' }, 'shop:Item');
    const { workspaces } = await statistics();
    expect(workspaces[0].node_types).toMatchObject([{ name: 'shop:Item', nodes: 3 }]);
    const built = await server.admin('POST', address());
    expect([built.status, built.json.state]).toEqual([202, 'building']);
    expect((await statistics()).workspaces).toEqual(workspaces);
    expect((await server.admin('DELETE', address())).status).toBe(204);
    expect((await server.admin('DELETE', address())).status).toBe(204);
    expect((await server.admin('GET', address())).json.state).toBe('building');
    expect((await statistics()).workspaces).toEqual(workspaces);
  });

  it('go on after a restart, and with a fork that has the same content', async () => {
    const { workspaces } = await statistics();
    await client.branch('other', { upstream_branch: 'main' });
    const copy = await server.admin('GET', address('other', `?workspace=${space.name}`));
    expect(copy.json).toMatchObject({ state: 'following', lag: 0, workspaces });
    await space.on('other').add('/', 'four', { title: 'four' }, 'shop:Item');
    await server.restart();
    expect((await statistics('other')).workspaces[0].nodes).toBe(workspaces[0].nodes + 1);
    expect((await statistics()).workspaces).toEqual(workspaces);
  });

  it('are for administrators of the tenant, and of a branch and a workspace that are there', async () => {
    const elsewhere = { headers: { 'x-forwarded-for': '192.0.2.7' } };
    for (const method of ['GET', 'POST', 'DELETE'])
      expect((await server.request(method, address(), elsewhere)).status).toBe(401);
    for (const method of ['GET', 'POST', 'DELETE'])
      expect((await server.admin(method, address('nowhere'))).json.code).toBe('BRANCH_NOT_FOUND');
    for (const workspace of ['nowhere', '', '%00'])
      expect((await server.admin('GET', address('main', `?workspace=${workspace}`))).json.code).toBe(
        'WORKSPACE_NOT_FOUND',
      );
    expectStatus(
      await client.managed('POST', '/tags', { name: 'v1', revision: await client.headOf('main') }),
      201,
    );
    for (const method of ['GET', 'POST', 'DELETE'])
      expect((await server.admin(method, address('v1'))).json.code).toBe('READ_ONLY_REVISION');
  });
});
