import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ContentClient, expectStatus, type Space } from '#test/support/content-client.ts';
import { startServer, type TestServer } from '#test/support/server.ts';

let server: TestServer;
let client: ContentClient;
let space: Space;

beforeAll(async () => {
  server = await startServer();
  client = await ContentClient.on(server);
  space = await client.workspace();
  await space.add('/', 'open', { title: 'for everybody' });
  await space.add('/', 'closed', { title: 'for nobody' });
  const role = { permissions: [{ path: '/open', operations: ['read'] }] };
  await change('svc:access_control/roles/anonymous', role);
});

afterAll(() => server.close());

describe('a request without a token', () => {
  it('reads what the anonymous role grants, where the repository has switched that on [ACC-002] [ACC-009]', async () => {
    expect([await statusOf('/open'), await statusOf('/closed')]).toEqual([404, 404]);
    const properties = { repo_id: client.repository, anonymous_enabled: true };
    const node = { name: client.repository, node_type: 'svc:RepoAuthConfig', properties };
    expectStatus(await server.admin('POST', address('svc:system/config/repos/'), node), 201);

    expect([await statusOf('/open'), await statusOf('/closed')]).toEqual([200, 404]);
    const list = await anonymously('GET', '/');
    expect(list.json.map(({ name }: { name: string }) => name)).toEqual(['open']);
    expect(list.headers['x-svc-revision']).toBeDefined();
    const query = await anonymously('POST', '/query', { nodeType: 'svc:Folder' });
    expect(query.json.items.map(({ name }: { name: string }) => name)).toEqual(['open']);
    expect((await anonymously('PATCH', '/open', { properties: { title: 'x' } })).status).toBe(401);

    await change(`svc:system/config/repos/${client.repository}`, { anonymous_enabled: false });
    expect([await statusOf('/open'), await statusOf('/closed')]).toEqual([404, 404]);
    expect((await anonymously('GET', '/')).headers['x-svc-revision']).toBeUndefined();
  });

  it('reads it where the tenant has switched that on and the repository says nothing [AUTHCONF-007]', async () => {
    const other = await ContentClient.on(server);
    const there = await other.workspace();
    await there.add('/', 'open');
    const at = (rest: string) => `/api/repository/${other.repository}/main/head/${rest}`;
    const role = { properties: { permissions: [{ path: '/open', operations: ['read'] }] } };
    expectStatus(await server.admin('PATCH', at('svc:access_control/roles/anonymous'), role), 200);
    const read = async () => (await server.request('GET', at(`${there.name}/open`))).status;
    const configuration = '/api/tenants/default/auth/config';
    expect(await read()).toBe(404);
    expectStatus(await server.admin('PUT', configuration, { anonymous_enabled: true }), 200);
    await expect.poll(read).toBe(200);
    expectStatus(await server.admin('PUT', configuration, { anonymous_enabled: false }), 200);
    await expect.poll(read).toBe(404);
  });
});

function address(place: string): string {
  return `/api/repository/${client.repository}/main/head/${place}`;
}

async function change(place: string, properties: object): Promise<void> {
  expectStatus(await server.admin('PATCH', address(place), { properties }), 200);
}

function anonymously(method: string, rest: string, body?: object) {
  return server.request(method, address(space.name) + rest, body === undefined ? {} : { body });
}

async function statusOf(rest: string): Promise<number> {
  return (await anonymously('GET', rest)).status;
}
