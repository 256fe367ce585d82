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

it('refuses a parameter that no route has, with the closest known one [HTTP-056]', async () => {
  const { repository } = client;
  const managed = `/api/management/repositories/default/${repository}`;
  const requests: [method: string, path: string, message: string, body?: unknown][] = [
    ['GET', space.url('/?limt=1'), "'limt'; did you mean 'limit'?"],
    ['GET', space.url('/a?Lang=de'), "'Lang'; did you mean 'lang'?"],
    ['GET', space.url('/a?locale=de'), "'locale'; known are level, deep, flatten,"],
    ['GET', space.urlAt(old, `/a?revision=${old}`), "'revision'; known are level, deep, flatten,"],
    ['POST', space.url('/?deeep=true'), "'deeep'; did you mean 'deep'?", { name: 'b' }],
    ['DELETE', space.url('/a?dry_run=true'), "'dry_run'; none is taken here"],
    ['POST', `${space.url('/query')}?limit=1`, "'limit'; known are fields, expand, revision", { path: '/a' }],
    ['GET', `${managed}/revisions?branches=main`, "'branches'; did you mean 'branch'?"],
    ['GET', `${managed}/branches?limit=1`, "'limit'; none is taken here"],
    ['POST', `${managed}/branches/main/merge?dry_run=true`, "'dry_run'; none is taken here", {}],
    ['GET', `/api/workspaces/${repository}?page=2`, "'page'; known are limit, offset"],
    ['GET', `/api/repositories?limit=1`, "'limit'; none is taken here"],
    ['GET', `/api/management/${repository}/main/nodetypes?_=1`, "'_'; none is taken here"],
    ['GET', `/api/history/${repository}/main/${space.name}/a?limits=1`, "'limits'; did you mean 'limit'?"],
    ['GET', `/api/${repository}/main/locks?limit=1&after=k`, "'after'; known are limit, cursor"],
    ['GET', '/management/jobs?state=running', "'state'; known are limit, offset"],
    ['GET', '/api/management/backups?limit=1', "'limit'; none is taken here"],
  ];
  for (const [method, path, message, body] of requests) {
    const { json, status, text } = await server.admin(method, path, body);
    const said = json.message ?? json.error;
    expect([path, status, said]).toEqual([
      path,
      400,
      expect.stringContaining(`Unknown query parameter ${message}`),
    ]);
    expect(text.length).toBeLessThan(500);
  }
});

it('answers a long name that is not known with its beginning [HTTP-056]', async () => {
  const { json, status } = await server.admin('GET', space.url(`/a?${'x'.repeat(8_000)}=1`));
  expect([status, json.code]).toEqual([400, 'VALIDATION_FAILED']);
  expect(json.message.length).toBeLessThan(300);
});

it('lets any parameter of a probe, a login and the own profile through [HTTP-057]', async () => {
  expect((await server.admin('GET', '/api/svc/me?_=123')).status).toBe(200);
  const login = { body: { username: 'admin', password: 'wrong' } };
  const refused = await server.request('POST', '/api/svc/sys/default/auth?revision=1-0', login);
  expect([refused.status, refused.json.code]).toEqual([401, 'UNAUTHORIZED']);
  for (const path of ['/health', '/ready', '/metrics', '/openapi.json']) {
    expect((await server.request('GET', `${path}?_=123`)).status).toBe(200);
  }
});

it('takes both spellings of a parameter [HTTP-056]', async () => {
  for (const name of ['include_system', 'includeSystem']) {
    expect((await client.revisions(`?${name}=true`)).status).toBe(200);
  }
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
