import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ContentClient, expectStatus, revisionOf, type Space } from '#test/support/content-client.ts';
import type { TestResponse } from '#test/support/http-client.ts';
import { startServer, type TestServer } from '#test/support/server.ts';

let server: TestServer;
let client: ContentClient;
let space: Space;
let count = 0;

beforeAll(async () => {
  server = await startServer();
  client = await ContentClient.on(server);
  const languages = { supported_languages: ['en', 'de', 'fr'] };
  const config = `/api/repositories/${client.repository}/translation-config`;
  expectStatus(await server.admin('PATCH', config, languages), 200, 204);
  await client.defineType({
    name: 'patch:Strict',
    strict: true,
    properties: [
      { name: 'title', type: 'String', required: true },
      { name: 'size', type: 'Number', constraints: { min: 0 } },
      { name: 'meta', type: 'Object' },
    ],
  });
  space = await client.workspace();
});

afterAll(() => server.close());

interface Sent {
  readonly type?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as it is. */
  readonly raw?: string;
}

function patch(path: string, body: unknown, { headers, raw, type }: Sent = {}): Promise<TestResponse> {
  return server.request('PATCH', space.url(path), {
    token: server.adminToken,
    headers: { 'content-type': type ?? 'application/merge-patch+json', ...headers },
    ...(raw === undefined ? { body } : { raw }),
  });
}

/** A node that no other test looks at. @returns its path */
async function freshNode(properties: object, nodeType?: string, rest?: object): Promise<string> {
  count += 1;
  await space.add('/', `patched-${count}`, properties, nodeType, rest);
  return `/patched-${count}`;
}

/** Properties as they are stored. */
async function stored(path: string): Promise<Record<string, unknown>> {
  const { $supertypes, $mixins, ...properties } = (await space.node(path)).properties;
  return properties;
}

describe('PATCH of a node', () => {
  it('merges properties: what is absent stays, null removes, arrays are replaced [PATCH-001]', async () => {
    const path = await freshNode({ a: 1, b: { x: 1, y: { z: [1, 2] } }, c: [1, 2], d: null });
    const answer = expectStatus(
      await patch(path, {
        properties: { a: null, b: { y: { z: [3], w: 'new' } }, c: ['one'], e: { f: null, g: 1 } },
      }),
      200,
    );
    const expected = { b: { x: 1, y: { z: [3], w: 'new' } }, c: ['one'], d: null, e: { g: 1 } };
    expect(await stored(path)).toEqual(expected);
    expect(answer.json).toEqual(await space.node(path));
    expect(answer.json.version).toBe(2);
    expect(answer.headers.etag).toBe((await space.get(path)).headers.etag);
    expect((await space.getAt(revisionOf(answer), path)).json).toEqual(answer.json);
  });

  it('takes merge patches and JSON, and no other kind of patch [PATCH-002]', async () => {
    const path = await freshNode({ a: 1 });
    for (const type of [
      'application/merge-patch+json',
      'application/json',
      'Application/JSON; charset=utf-8',
    ]) {
      expectStatus(await patch(path, { properties: { [type.length]: 1 } }, { type }), 200);
    }
    const operations = '[{"op":"remove","path":"/properties/a"}]';
    for (const type of [
      'application/json-patch+json',
      'text/plain',
      'application/xml',
      'application/x+json',
    ]) {
      const refused = await patch(path, undefined, { type, raw: operations });
      expect([refused.status, refused.json.code], type).toEqual([415, 'UNSUPPORTED_MEDIA_TYPE']);
      expect(refused.headers['accept-patch']).toBe('application/merge-patch+json, application/json');
    }
    const options = await server.request('OPTIONS', space.url(path));
    expect(options.headers.allow).toContain('PATCH');
    expect(options.headers['accept-patch']).toBe('application/merge-patch+json, application/json');
    expect((await stored(path)).a).toBe(1);
  });

  it('is checked as an update is, and changes nothing when it is refused [PATCH-003]', async () => {
    const path = await freshNode({ title: 'one', size: 1 }, 'patch:Strict');
    for (const [properties, field] of [
      [{ title: null }, 'title'],
      [{ title: 5 }, 'title'],
      [{ size: -1 }, 'size'],
      [{ other: 1 }, 'other'],
    ] as const) {
      const refused = await patch(path, { properties });
      expect([refused.status, refused.json.code], field).toEqual([400, 'VALIDATION_FAILED']);
      expect(refused.json.message).toContain(field);
    }
    expect(await space.node(path)).toMatchObject({ version: 1, properties: { title: 'one', size: 1 } });
    // What a read adds may come back.
    const read = await space.node(path);
    expectStatus(await patch(path, { properties: { ...read.properties, size: 2 } }), 200);
    expect(await stored(path)).toEqual({ title: 'one', size: 2 });
  });

  it('leaves translations alone unless it names them [PATCH-004]', async () => {
    const path = await freshNode({ title: 'One', text: 'Text' });
    const translations = { de: { title: 'Eins', text: 'Worte' }, fr: { title: 'Un' } };
    expectStatus(await patch(path, { translations }), 200);
    expectStatus(await patch(path, { properties: { text: null } }), 200);
    expect((await space.node(path)).translations).toEqual(translations);
    expectStatus(await patch(path, { translations: { de: { '/title': 'Neu', text: null }, fr: null } }), 200);
    expect(await space.node(path)).toMatchObject({
      properties: { title: 'One' },
      translations: { de: { title: 'Neu' } },
    });
    expect((await space.node(path)).translations).toEqual({ de: { title: 'Neu' } });
    expectStatus(await patch(path, { translations: { de: { type: 'hidden' } } }), 200);
    expect((await space.get(`${path}?lang=de`)).status).toBe(404);
    expectStatus(await patch(path, { translations: { de: { title: 'x' } } }), 400);
    expectStatus(await patch(path, { translations: { de: { type: null } } }), 200);
    expect((await space.node(`${path}?lang=de`)).properties.title).toBe('Neu');
    expectStatus(await patch(path, { translations: null }), 200);
    expect((await space.node(path)).translations).toBeNull();
    expectStatus(await patch(path, { translations: { xx: { title: 'x' } } }), 400);
    expectStatus(await patch(path, { translations: { de: 'x' } }), 422);
  });

  it('changes archetype and owner, and answers the envelope to a commit [PATCH-001]', async () => {
    const path = await freshNode({ a: 1 });
    expectStatus(await patch(path, { owner_id: 'ada' }), 200);
    expect(await space.node(path)).toMatchObject({ owner_id: 'ada', properties: { a: 1 } });
    expectStatus(await patch(path, { archetype: 'no:Such' }), 400);
    const answer = expectStatus(
      await patch(path, { owner_id: null, commit: { message: 'patched', actor: 'me' } }),
      200,
    );
    expect(answer.json).toMatchObject({ committed: true, node: { owner_id: null, version: 3 } });
    expect(await client.revision(answer.json.revision)).toMatchObject({ message: 'patched', actor: 'me' });
  });

  it('refuses to change what is changed in other ways, and fields there are not [PATCH-003]', async () => {
    const path = await freshNode({ a: 1 });
    for (const [name, value] of [
      ['name', 'x'],
      ['path', '/x'],
      ['node_type', 'svc:Page'],
      ['published_at', null],
      ['relations', []],
      ['propertys', {}],
      ['__proto__', {}],
      ['constructor', {}],
    ] as const) {
      const refused = await patch(path, undefined, { raw: `{"${name}":${JSON.stringify(value)}}` });
      expect([refused.status, refused.json.code, refused.json.field]).toEqual([
        400,
        'VALIDATION_FAILED',
        name,
      ]);
    }
    for (const body of [[], 'x', 1, null, { properties: null }, { properties: [] }, { properties: 'x' }]) {
      expect((await patch(path, body)).status, JSON.stringify(body)).toBe(422);
    }
    expect((await patch(path, undefined, { raw: '{' })).status).toBe(400);
    expect((await patch(path, undefined, { raw: '' })).status).toBe(400);
    expect((await space.node(path)).version).toBe(1);
  });

  it('keeps odd keys and exact numbers', async () => {
    const path = await freshNode({});
    const raw = '{"properties":{"__proto__":{"a":1},"n":9007199254740993,"constructor":{"x":{"y":null}}}}';
    expectStatus(await patch(path, undefined, { raw }), 200);
    expectStatus(await patch(path, { properties: { other: 1 } }), 200);
    const { text } = await space.get(path);
    expect(text).toContain('"__proto__":{"a":1}');
    expect(text).toContain('"n":9007199254740993');
    expect(text).toContain('"constructor":{"x":{}}');
  });

  it('takes conditions and idempotency keys [ETAG-003, ETAG-005]', async () => {
    const path = await freshNode({ n: 0 });
    const first = expectStatus(await patch(path, { properties: { n: 1 }, version: 1 }), 200);
    expectStatus(await patch(path, { properties: { n: 2 }, version: 1 }), 412);
    const etag = first.headers.etag as string;
    const headers = { 'if-match': etag, 'idempotency-key': `patch-${path}` };
    const second = expectStatus(await patch(path, { properties: { n: 3 } }, { headers }), 200);
    expect(second.headers.etag).not.toBe(etag);
    const again = expectStatus(await patch(path, { properties: { n: 3 } }, { headers }), 200);
    expect([again.json, again.headers.etag]).toEqual([second.json, second.headers.etag]);
    expectStatus(await patch(path, { properties: { n: 4 } }, { headers: { 'if-match': etag } }), 412);
    expect(await space.node(path)).toMatchObject({ version: 3, properties: { n: 3 } });
  });

  it('is for nodes at the head alone', async () => {
    const path = await freshNode({ a: 1 });
    expect((await patch('/no/such', { properties: {} })).status).toBe(404);
    expect((await patch('/', { properties: {} })).status).toBe(404);
    for (const address of [`${path}@a`, `${path}/svc:version`, `${path}/svc:publish`]) {
      const refused = await patch(address, { properties: {} });
      expect([address, refused.status]).toEqual([address, 405]);
      expect(refused.headers.allow).not.toContain('PATCH');
    }
    const { id } = await space.node(path);
    expectStatus(await patch(`/$ref/${id}`, { properties: { b: 2 } }), 200);
    expect(await stored(path)).toEqual({ a: 1, b: 2 });
    const revision = await client.headRevision();
    const options = { token: server.adminToken, body: { properties: {} } };
    const past = await server.request('PATCH', space.urlAt(revision, path), options);
    expect([past.status, past.json.code]).toEqual([405, 'READ_ONLY_REVISION']);
    expect((await patch(`${path}?revision=${revision}`, { properties: {} })).status).toBe(405);
    expect((await patch(`${path}?lang=de`, { properties: {} })).status).toBe(400);
    const stranger = await server.request('PATCH', space.url(path), { body: { properties: {} } });
    expect(stranger.status).toBe(401);
  });

  it('merges into large values', async () => {
    const items = Array.from({ length: 2_000 }, (_, n) => ({ n, text: 'x'.repeat(200) }));
    const map = Object.fromEntries(Array.from({ length: 1_500 }, (_, n) => [`key-${n}`, n]));
    const path = await freshNode({ items, map, small: 1 });
    expectStatus(
      await patch(path, { properties: { map: { 'key-7': null, 'key-8': { a: 1 } }, small: 2 } }),
      200,
    );
    const { items: after, map: changed, small } = (await stored(path)) as Record<string, never>;
    expect(after).toEqual(items);
    expect(small).toBe(2);
    expect(changed).toEqual({
      ...Object.fromEntries(Object.entries(map).filter(([key]) => key !== 'key-7')),
      'key-8': { a: 1 },
    });
  });

  it('does not add up to more values than whole bodies can give a node [PATCH-006]', async () => {
    // A body takes 18,000 keys of one object, which counts each of them ten times, and a node takes two such bodies.
    const keys = (name: string): object =>
      Object.fromEntries(Array.from({ length: 18_000 }, (_, n) => [`${name}-${n}`, n]));
    const path = await freshNode({ map: keys('a'), text: 'x'.repeat(500_000) });
    const { id } = expectStatus(await patch(path, { properties: { map: keys('b') } }), 200).json;
    const refusals = [
      await patch(path, { properties: { map: keys('c') } }),
      await patch(path, { properties: { map: keys('d'), text: null } }),
      await space.put(`${path}@more`, keys('e')),
      await space.command('/', 'commit', {
        message: 'more',
        operations: [{ type: 'update', node_id: id, properties: { more: keys('f') } }],
      }),
    ];
    for (const { json, status } of refusals) {
      expect([status, json.code]).toEqual([413, 'PAYLOAD_TOO_LARGE']);
      expect(json.message).toContain(`'${path}' would have more than 400000 values`);
    }
    const { version } = await space.node(path);
    expect(version).toBe(2);
    expectStatus(await patch(path, { properties: { map: { 'a-7': 'changed' } } }), 200);
    expectStatus(await space.delete(`${path}@map.a-8`), 200);
    expectStatus(await patch(path, { properties: { map: null } }), 200);
    expectStatus(await patch(path, { properties: { map: keys('g') } }), 200);
  });

  it('gives a reference another target, without the path of the former one [PATCH-007]', async () => {
    const [one, two] = [await freshNode({}), await freshNode({})];
    const { id } = await space.node(two);
    const path = await freshNode({ to: { 'svc:ref': one, note: 'kept' }, as: { 'svc:ref': one } });
    expect((await stored(path)).to).toHaveProperty('svc:path', one);
    const to = { 'svc:ref': id };
    expectStatus(await patch(path, { properties: { to, as: { 'svc:ref': '/nowhere' } } }), 200);
    expect(await stored(path)).toEqual({ to: { ...to, note: 'kept' }, as: { 'svc:ref': '/nowhere' } });
    expectStatus(await patch(path, { properties: { to: { 'svc:ref': one }, as: { 'svc:path': two } } }), 200);
    const after = (await stored(path)) as Record<string, object>;
    expect(after.to).toMatchObject({ 'svc:path': one, note: 'kept' });
    expect(after.as).toEqual({ 'svc:ref': '/nowhere', 'svc:path': two });
    // The workspace is part of the target.
    const workspace = (await client.workspace()).name;
    expectStatus(await patch(path, { properties: { to: { 'svc:workspace': workspace } } }), 200);
    const { id: first } = await space.node(one);
    const elsewhere = { 'svc:ref': first, 'svc:workspace': workspace, note: 'kept' };
    expect((await stored(path)).to).toEqual(elsewhere);
  });
});

describe('PUT and DELETE of a key of a reference', () => {
  it('take the path of the former target from it [PATCH-008]', async () => {
    const [one, two] = [await freshNode({}), await freshNode({})];
    const { id: first } = await space.node(one);
    const { id: second } = await space.node(two);
    const workspace = (await client.workspace()).name;
    const link = { 'svc:ref': one, note: 'kept' };
    const path = await freshNode({ a: link, b: link, c: [link], d: link });
    expectStatus(await space.put(`${path}@a.svc:ref`, second), 200);
    expectStatus(await space.put(`${path}@b.svc:workspace`, workspace), 200);
    expectStatus(await space.put(`${path}@c.0.svc:ref`, two), 200);
    expectStatus(await space.put(`${path}@d.svc:ref`, first), 200);
    expectStatus(await space.put(`${path}@d.note`, 'new'), 200);
    const there = { 'svc:ref': first, 'svc:workspace': workspace, note: 'kept' };
    expect(await stored(path)).toEqual({
      a: { 'svc:ref': second, note: 'kept' },
      b: there,
      c: [{ 'svc:ref': second, 'svc:path': two, note: 'kept' }],
      d: { 'svc:ref': first, 'svc:path': one, note: 'new' },
    });
    expectStatus(await space.put(`${path}@b.svc:path`, '/there'), 200);
    expect((await stored(path)).b).toEqual({ ...there, 'svc:path': '/there' });
    expectStatus(await space.delete(`${path}@b.svc:workspace`), 200);
    expect((await stored(path)).b).toEqual({ 'svc:ref': first, note: 'kept' });
  });
});

describe('DELETE of a property', () => {
  it('removes it and leaves the others [PATCH-005]', async () => {
    const path = await freshNode({ a: 1, b: { c: 1, d: [1, 2, 3] }, 'dotted.key': 1 });
    const answer = expectStatus(await space.delete(`${path}@a`), 200);
    expect(answer.json).toEqual({ deleted: true });
    expect(revisionOf(answer)).toBe(await client.headRevision());
    expectStatus(await space.delete(`${path}@b.c`), 200);
    expectStatus(await space.delete(`${path}@b.d.0`), 200);
    expectStatus(await space.delete(`${path}@dotted.key`), 200);
    expect(await stored(path)).toEqual({ b: { d: [2, 3] } });
    const { json } = expectStatus(await space.delete(`${path}@b`, { commit: { message: 'bare' } }), 200);
    expect(json).toEqual({ deleted: true, revision: await client.headRevision(), committed: true });
    expect(await stored(path)).toEqual({});
    expect((await space.node(path)).version).toBe(6);
  });

  it('answers 404 when it is absent, and 400 when it is required [PATCH-005]', async () => {
    const path = await freshNode({ title: 'one' }, 'patch:Strict');
    for (const name of ['size', 'meta.a', 'title.x', '__proto__', 'constructor']) {
      const refused = await space.delete(`${path}@${name}`);
      expect([refused.status, refused.json.code], name).toEqual([404, 'NOT_FOUND']);
    }
    expect((await space.delete('/no/such@title')).json.code).toBe('NODE_NOT_FOUND');
    for (const name of ['title', '$supertypes']) {
      const refused = await space.delete(`${path}@${name}`);
      expect([refused.status, refused.json.code], name).toEqual([400, 'VALIDATION_FAILED']);
    }
    expect((await space.node(path)).version).toBe(1);
  });

  it('takes conditions [ETAG-003, ETAG-005]', async () => {
    const path = await freshNode({ a: 1, b: 1 });
    const send = (name: string, headers: Readonly<Record<string, string>>) =>
      server.request('DELETE', space.url(`${path}@${name}`), { token: server.adminToken, headers });
    const etag = (await space.get(`${path}@a`)).headers.etag as string;
    expectStatus(await send('a', { 'if-match': '"x"' }), 412);
    expectStatus(await send('a', { 'if-match': etag }), 200);
    expectStatus(await send('b', { 'if-match': etag }), 412);
    expectStatus(await space.delete(`${path}@b`, { version: 1 }), 412);
    expectStatus(await space.delete(`${path}@b`, { version: 2 }), 200);
  });
});
