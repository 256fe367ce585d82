import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ContentClient, expectStatus, type Space } from '#test/support/content-client.ts';
import { startServer, type TestServer } from '#test/support/server.ts';

let server: TestServer;
let space: Space;

beforeAll(async () => {
  server = await startServer();
  space = await (await ContentClient.on(server)).workspace();
});

afterAll(() => server.close());

/** Large enough for everything to be done in steps, with everything that may be cut in the wrong place. */
const properties = {
  title: 'Large',
  text: 'Käse 🌳 "quoted"\n\\ ​'.repeat(30_000),
  list: Array.from({ length: 20_000 }, (_, index) => ({ index, body: `Tränen ${index / 7}` })),
  count: 2 ** 60,
  __proto__: null,
};

function keyed(method: 'POST' | 'PUT', path: string, body: object, key: string) {
  return server.request(method, path, {
    token: server.adminToken,
    body,
    headers: { 'idempotency-key': key },
  });
}

describe('a node of more than a megabyte', () => {
  it('is written, read, listed, renamed, changed and removed as any other', async () => {
    const made = await space.add('/', 'large', properties);
    expect(made.properties).toMatchObject(properties);
    expect(await space.node('/large')).toStrictEqual(made);
    expect((await space.get('/large@text')).json).toBe(properties.text);
    expect((await space.get('/large@list')).json).toStrictEqual(properties.list);
    const page = expectStatus(await space.get('/?limit=10'), 200).json;
    expect(page.items).toStrictEqual([made]);

    await space.done('/large', 'rename', { newName: 'renamed' });
    expect((await space.node('/renamed')).properties).toStrictEqual(made.properties);
    expectStatus(await space.put('/renamed@title', 'Changed'), 200);
    const changed = await space.node('/renamed');
    expect(changed.properties).toStrictEqual({ ...made.properties, title: 'Changed' });
    expectStatus(await space.delete('/renamed'), 200);
    expect((await space.get('/renamed')).status).toBe(404);
  });

  it('keeps its place in the indexes and its references', async () => {
    const client = space.client;
    await client.defineType({
      name: 'large:Indexed',
      properties: [{ name: 'code', type: 'String', unique: true, index: ['Property'] }],
    });
    const { id: target } = await space.add('/', 'target');
    const reference = { 'svc:ref': target, 'svc:workspace': space.name };
    for (const [name, more] of [
      ['plain', {}],
      ['referring', { to: reference }],
    ] as const) {
      const large = { ...properties, ...more, code: name };
      await space.add('/', name, large, 'large:Indexed');
      await space.done(`/${name}`, 'rename', { newName: `${name}-2` });
      const taken = { name: 'other', node_type: 'large:Indexed', properties: { code: name } };
      expect((await space.post('/', taken)).status).toBe(400);
      expectStatus(await space.delete(`/${name}-2`), 200);
      expectStatus(await space.post('/', taken), 201);
      expectStatus(await space.delete('/other'), 200);
    }
  });

  it('is answered again when its request is sent again', async () => {
    const body = { name: 'keyed', node_type: 'svc:Folder', properties };
    const first = expectStatus(await keyed('POST', space.url('/'), body, 'large-1'), 201);
    const again = expectStatus(await keyed('POST', space.url('/'), body, 'large-1'), 201);
    expect(again.json).toStrictEqual(first.json);
    const other = { ...body, properties: { ...properties, title: 'Other' } };
    const refused = await keyed('POST', space.url('/'), other, 'large-1');
    expect([refused.status, refused.json.code]).toEqual([422, 'IDEMPOTENCY_MISMATCH']);
    expectStatus(await space.delete('/keyed'), 200);
  });

  it('is refused with the place where its JSON ends', async () => {
    const text = JSON.stringify({ name: 'x', node_type: 'svc:Folder', properties });
    const answer = await server.request('POST', space.url('/'), {
      token: server.adminToken,
      headers: { 'content-type': 'application/json' },
      raw: text.slice(0, -1),
    });
    expect(answer.status).toBe(400);
    expect(answer.json).toMatchObject({ code: 'INVALID_JSON', details: { position: text.length - 1 } });
  });
});
