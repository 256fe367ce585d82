import { afterAll, beforeAll, expect, it } from 'vitest';
import { ContentClient, revisionOf, type Space } from '#test/support/content-client.ts';
import { startServer, type TestServer } from '#test/support/server.ts';

let server: TestServer;
let client: ContentClient;
let space: Space;
let old: string;

beforeAll(async () => {
  server = await startServer();
  client = await ContentClient.on(server);
  space = await client.workspace();
  old = revisionOf(await space.post('/', { name: 'a', node_type: 'svc:Page', properties: { title: 'old' } }));
  await space.put('/a', { properties: { title: 'new' } });
});

afterAll(() => server.close());

it('refuses a revision with every write: it would be the head that is written [REV-033]', async () => {
  const { repository } = client;
  const managed = `/api/management/repositories/default/${repository}`;
  const schema = `/api/management/${repository}/main/nodetypes`;
  const writes: [method: string, path: string, body?: unknown][] = [
    ['DELETE', space.url('/a')],
    ['PUT', space.url('/a'), { properties: { title: 'wrong' } }],
    ['PUT', space.url('/a@title'), 'wrong'],
    ['POST', space.url('/'), { name: 'b', node_type: 'svc:Page', properties: { title: 'b' } }],
    ['POST', space.url('/a/svc:rename'), { newName: 'b' }],
    ['POST', space.url('/a/svc:cmd/publish'), {}],
    ['POST', space.url('/a/svc:relations'), {}],
    ['POST', schema, { node_type: { name: 'site:New', properties: [] } }],
    ['PUT', `${schema}/svc:Page`, { node_type: { name: 'svc:Page', properties: [] } }],
    ['DELETE', `${schema}/svc:Page`],
    ['POST', `${managed}/branches/main/merge`, { source_branch: 'main' }],
    ['POST', `${managed}/branches/main/revert`, { revisions: [old] }],
    ['PUT', `${managed}/branches/main/head`, { revision: old }],
    ['DELETE', `${managed}/tags/none`],
    ['POST', `/api/${repository}/main/locks/acquire`, { key: 'k', ttl_ms: 1000 }],
    ['PUT', `/api/workspaces/${repository}/another`, {}],
  ];
  const head = await client.headRevision();
  for (const [method, path, body] of writes) {
    for (const revision of [old, head, '', 'nonsense']) {
      const { json, status } = await server.admin(method, `${path}?revision=${revision}`, body);
      const error = json.code ?? json.error?.code;
      expect([method, path, status, error]).toEqual([method, path, 405, 'READ_ONLY_REVISION']);
    }
  }
  expect(await client.headRevision()).toBe(head);
  expect((await space.get('/a')).json.properties).toMatchObject({ title: 'new' });
});

it('refuses the other parameters of reads where a write does not have them itself [REV-034]', async () => {
  const read = (await space.get('/a?lang=de')).json;
  const writes: [method: string, path: string, body?: unknown][] = [
    ['PUT', '/a?lang=de', read],
    ['PUT', '/a?level=1', read],
    ['DELETE', '/a?deep=true'],
    ['DELETE', '/a?flatten'],
    ['DELETE', '/a?limit=1'],
    ['POST', '/?format=array', { name: 'b', node_type: 'svc:Page', properties: { title: 'b' } }],
    ['POST', '/?limit=1', { name: 'b', node_type: 'svc:Page', properties: { title: 'b' } }],
    ['POST', '/a/svc:rename?lang=de', { newName: 'b' }],
    ['POST', '/a/svc:copy?deep=true', { targetPath: '/b' }],
    ['POST', '/a/svc:publish?limit=1', {}],
  ];
  const head = await client.headRevision();
  for (const [method, path, body] of writes) {
    const { json, status } = await server.admin(method, space.url(path), body);
    expect([path, status, json.code]).toEqual([path, 400, 'VALIDATION_FAILED']);
  }
  expect(await client.headRevision()).toBe(head);
});

it('takes the parameters a write has, and leaves reads that are posted theirs [REV-034]', async () => {
  const deep = await space.post('/x/y?deep=true', {
    name: 'z',
    node_type: 'svc:Page',
    properties: { title: 'z' },
  });
  expect(deep.status).toBe(201);
  expect((await space.post('/a/svc:audit_log?limit=1', {})).json).toHaveLength(1);
  const query = await server.admin('POST', `${space.url('/query')}?revision=${old}`, { path: '/a' });
  expect([query.status, query.json.items[0].properties.title]).toEqual([200, 'old']);
});
