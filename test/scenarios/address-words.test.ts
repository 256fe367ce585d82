import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ContentClient, expectStatus, type Space } from '#test/support/content-client.ts';
import type { TestResponse } from '#test/support/http-client.ts';
import { startServer, type TestServer } from '#test/support/server.ts';

let server: TestServer;
let client: ContentClient;
let space: Space;

beforeAll(async () => {
  server = await startServer();
  client = await ContentClient.on(server);
  space = await client.workspace();
});

afterAll(() => server.close());

const folder = (name: string) => ({ name, node_type: 'svc:Folder' });

describe.each(['/query', '/query/dsl'])('a node at %s', (path) => {
  beforeAll(async () => {
    const slash = path.lastIndexOf('/');
    const parent = path.slice(0, slash + 1);
    expectStatus(await space.post(parent, folder(path.slice(slash + 1))), 201);
  });

  it('is read, listed, changed, published and renamed at its address [NODE-070]', async () => {
    expect((await space.node(path)).path).toBe(path);
    expectStatus(await space.put(path, { properties: { a: 1 } }), 200);
    expectStatus(await server.admin('PATCH', space.url(path), { properties: { b: 2 } }), 200);
    expectStatus(await space.put(`${path}@c`, 3), 200);
    expect((await space.node(path)).properties).toMatchObject({ a: 1, b: 2, c: 3 });
    expectStatus(await space.post(`${path}/`, folder('child')), 201);
    expect(await space.names(`${path}/`)).toContain('child');
    expectStatus(await space.delete(`${path}/child`), 200);
    await space.done(path, 'publish');
    await space.done(path, 'unpublish');
    await space.done(path, 'rename', { newName: 'other' });
    const other = path.replace(/[^/]+$/, 'other');
    await space.done(other, 'rename', { newName: path.slice(path.lastIndexOf('/') + 1) });
  });

  it('has the query at the same address, which names the addresses of children and commands [NODE-070]', async () => {
    expectStatus(await space.post(path, path === '/query' ? { path } : {}), 200);
    const refused: readonly [TestResponse, string][] = [
      [await space.post(path, folder('child')), `${path}/`],
      [await space.post(path, { name: 'child', nodeType: 'svc:Folder' }), `${path}/`],
      [await space.post(path, { node: folder('child') }), `${path}/`],
      [await space.post(`${path}?deep=true`, folder('child')), `${path}/`],
      [await space.post(`${path}?command=rename`, { newName: 'other' }), `${path}/svc:cmd/rename`],
      [await space.post(`${path}?command=publish`, {}), `${path}/svc:cmd/publish`],
    ];
    for (const [{ json, status }, advised] of refused) {
      expect([status, json.error]).toEqual([400, 'BadRequest']);
      expect(json.message).toMatch(new RegExp(`'[^']*/head/${space.name}${advised}'`));
    }
    // A query that is merely wrong is told what a query has.
    expect((await space.post('/query', { nodetype: 'a:B' })).json.message).toContain("'nodeType'");
    expect(await space.names(`${path}/`)).not.toContain('child');
  });
});

describe('a node at /by-id/{name}', () => {
  it('has its history and audit log, unless an id has the name [HIST-010]', async () => {
    await client.defineType({ name: 'words:Kept', auditable: true });
    await space.add('/', 'by-id');
    await space.add('/by-id', 'kept', {}, 'words:Kept');
    await space.add('/by-id', 'both', {}, 'words:Kept');
    await space.add('/', 'namesake', {}, 'words:Kept', { id: 'both' });
    expectStatus(await space.put('/namesake', { properties: {} }), 200);
    for (const kind of ['history', 'audit']) {
      const at = (path: string) =>
        server.admin('GET', `/api/${kind}/${client.repository}/main/${space.name}${path}`);
      expect((await at('/by-id/kept')).json).toHaveLength(1);
      expect((await at('/by-id/kept')).json).toEqual((await at('/by-id/kept/')).json);
      expect((await at('/by-id/both')).json).toHaveLength(2);
      expect((await at('/by-id/both/')).json).toHaveLength(1);
      const missing = await at('/by-id/no-such');
      expect([missing.status, missing.json.code]).toEqual([404, 'NODE_NOT_FOUND']);
      expect(missing.json.message).toContain("id 'no-such'");
    }
  });
});

describe('names that an address has of its own', () => {
  it.each([
    ['archetypes', 'archetype'],
    ['elementtypes', 'element_type'],
  ])('are refused for new %s [NTYPE-048]', async (family, wrapper) => {
    const answer = await client.schema('POST', family, { [wrapper]: { name: 'published' } });
    expect([answer.status, answer.json.code]).toEqual([400, 'VALIDATION_FAILED']);
    expect(answer.json.message).toContain(`${family}/published`);
    expectStatus(await client.schema('POST', family, { [wrapper]: { name: 'validate' } }), 201);
    expect((await client.schema('GET', `${family}/validate`)).json.name).toBe('validate');
  });

  it('are refused for new repositories [REPO-020]', async () => {
    const answer = await server.admin('POST', '/api/repositories', { repo_id: 'registry' });
    expect([answer.status, answer.json.code]).toEqual([400, 'VALIDATION_FAILED']);
    expect(answer.json.message).toContain('reserved');
  });
});
