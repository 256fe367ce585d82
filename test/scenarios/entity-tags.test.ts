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
  space = await client.workspace();
});

afterAll(() => server.close());

type Headers = Readonly<Record<string, string>>;

function ask(method: string, url: string, headers: Headers = {}, body?: unknown): Promise<TestResponse> {
  return server.request(method, url, { token: server.adminToken, headers, body });
}

function at(method: string, path: string, headers: Headers = {}, body?: unknown): Promise<TestResponse> {
  return ask(method, space.url(path), headers, body);
}

/** The tag of an answer, with its quotes. */
async function tagOf(path: string, headers: Headers = {}): Promise<string> {
  const answer = expectStatus(await at('GET', path, headers), 200);
  return answer.headers.etag as string;
}

/** A node that no other test looks at. @returns its path */
async function freshNode(properties: object = { title: 'one' }): Promise<string> {
  count += 1;
  await space.add('/', `tagged-${count}`, properties);
  return `/tagged-${count}`;
}

describe('the tag of a node', () => {
  it('is the same until the answer changes, and then another one [ETAG-001]', async () => {
    const path = await freshNode();
    const seen = new Map<string, string>();
    let { text } = await space.get(path);
    const look = async (what: string): Promise<void> => {
      const answer = expectStatus(await space.get(path), 200);
      const { etag } = answer.headers as { etag: string };
      expect(etag).toMatch(/^"[^"]+"$/);
      expect((await space.get(path)).headers.etag).toBe(etag);
      expect(seen.has(etag), what).toBe(false);
      if (seen.size > 0) expect(answer.text, what).not.toBe(text);
      ({ text } = answer);
      seen.set(etag, text);
    };
    await look('at first');
    expectStatus(await space.put(path, { properties: { title: 'two' } }), 200);
    await look('another property');
    await space.add(path, 'child');
    await look('the first child');
    expectStatus(await space.command(path, 'reorder', { targetPath: (await freshNode()) as string }), 200);
    await look('another place');
    await space.done(path, 'publish');
    await look('published');
    await space.done(path, 'translate', { locale: 'de', translations: { '/title': 'zwei' } });
    await look('translated');
    const tag = await tagOf(path);
    // A second child is in no answer of the node.
    await space.add(path, 'second');
    expect(await tagOf(path)).toBe(tag);
  });

  it('is another one when the answer takes something else from the type [ETAG-001]', async () => {
    const base = (name: string, rest: object = {}) => client.defineType({ name, properties: [], ...rest });
    await base('tag:Base');
    await base('tag:Kid');
    await space.add('/', 'typed', {}, 'tag:Kid');
    const tag = await tagOf('/typed');
    await base('tag:Kid', { description: 'the same for nodes' });
    expect(await tagOf('/typed')).toBe(tag);
    await base('tag:Kid', { extends: 'tag:Base' });
    expect((await space.node('/typed')).properties.$supertypes).toContain('tag:Base');
    expect(await tagOf('/typed')).not.toBe(tag);
  });

  it('differs by locale and form, and is that of each of its properties [ETAG-001]', async () => {
    const path = await freshNode();
    await space.done(path, 'translate', { locale: 'de', translations: { '/title': 'eins' } });
    const { id } = await space.node(path);
    const plain = await tagOf(path);
    expect(await tagOf(`/$ref/${id}`)).toBe(plain);
    expect(await tagOf(`${path}@title`)).toBe(plain);
    const forms = [
      plain,
      await tagOf(`${path}?lang=de`),
      await tagOf(`${path}?lang=fr`),
      await tagOf(`${path}.yaml`),
    ];
    expect(new Set(forms).size).toBe(forms.length);
    expect(await tagOf(`${path}@title?lang=de`)).toBe(forms[1]);
  });

  it('is that of the state at a revision, and is restored with the state [ETAG-001]', async () => {
    const own = new ContentClient(server, await server.createRepository());
    const place = await own.workspace();
    const created = await place.post('/', { name: 'a', node_type: 'svc:Folder', properties: { n: 1 } });
    const first = revisionOf(created);
    const tag = created.headers.etag;
    expect((await place.get('/a')).headers.etag).toBe(tag);
    expectStatus(await place.put('/a', { properties: { n: 2 } }), 200);
    const second = (await place.get('/a')).headers.etag;
    expect(second).not.toBe(tag);
    expect((await place.getAt(first, '/a')).headers.etag).toBe(tag);
    const old = await ask('GET', place.urlAt(first, '/a'), { 'if-none-match': tag as string });
    expect([old.status, revisionOf(old)]).toEqual([304, first]);
    expectStatus(await own.managed('PUT', '/branches/main/head', { revision: first }), 204);
    expect((await place.get('/a')).headers.etag).toBe(tag);
    await own.branch('dev', { upstream_branch: 'main' });
    expect((await place.on('dev').get('/a')).headers.etag).toBe(tag);
  });

  it('is returned for a created or patched node, not for a PUT, which does not store the body as it was sent', async () => {
    const made = await space.post('/', { name: 'told', node_type: 'svc:Folder', properties: {} });
    expect(made.headers.etag).toBe(await tagOf('/told'));
    const below = await space.post('/told', { name: 'below', node_type: 'svc:Folder', properties: {} });
    expect(below.headers.etag).toBe(await tagOf('/told/below'));
    const put = await space.put('/told', { properties: {} });
    expect(put.headers.etag).toBeUndefined();
  });
});

describe('a read with If-None-Match', () => {
  it('answers 304 without a body to a caller that has the answer [ETAG-002]', async () => {
    const path = await freshNode();
    const tag = await tagOf(path);
    for (const method of ['GET', 'HEAD']) {
      for (const named of [tag, `W/${tag}`, `"x", ${tag}`, `"a,b" , W/"c",${tag}`]) {
        const answer = await at(method, path, { 'if-none-match': named });
        expect([answer.status, answer.text, answer.headers.etag], named).toEqual([304, '', tag]);
        expect(answer.headers['cache-control']).toBe('private, no-cache');
        expect(answer.headers['x-svc-revision']).toBeDefined();
      }
      expect((await at(method, path, { 'if-none-match': '*' })).status).toBe(304);
      for (const named of ['"x"', 'W/"x"', tag.slice(1, -1), 'nonsense', `"x${tag.slice(1)}`]) {
        const answer = await at(method, path, { 'if-none-match': named });
        expect([answer.status, answer.headers.etag], named).toEqual([200, tag]);
      }
    }
    expectStatus(await space.put(path, { properties: {} }), 200);
    expect((await at('GET', path, { 'if-none-match': tag })).status).toBe(200);
  });

  it('is judged for the form that is asked for [ETAG-002]', async () => {
    const path = await freshNode();
    for (const form of [`${path}.yaml`, `${path}?lang=de`, `${path}@title`]) {
      const tag = await tagOf(form);
      expect((await at('GET', form, { 'if-none-match': tag })).status, form).toBe(304);
      expect((await at('GET', form, { 'if-none-match': '*' })).status, form).toBe(304);
      expect((await at('GET', form, { 'if-none-match': '"x"' })).status, form).toBe(200);
    }
    const plain = await tagOf(path);
    expect((await at('GET', `${path}.yaml`, { 'if-none-match': plain })).status).toBe(200);
    expect((await at('GET', `${path}?lang=de`, { 'if-none-match': plain })).status).toBe(200);
  });

  it('answers 404 for what is missing or hidden, also with a tag that was right once [ETAG-007]', async () => {
    const path = await freshNode();
    const tag = await tagOf(`${path}?lang=fr`);
    await space.done(path, 'hide-in-locale', { locale: 'fr' });
    for (const named of ['*', tag]) {
      expect((await at('GET', `${path}?lang=fr`, { 'if-none-match': named })).status).toBe(404);
      expect((await at('GET', '/never/there', { 'if-none-match': named })).status).toBe(404);
      expect((await at('GET', `${path}@no-such`, { 'if-none-match': named })).status).toBe(404);
    }
  });

  it('answers 412 with an unmatched If-Match, which is checked first [ETAG-003]', async () => {
    const path = await freshNode();
    const tag = await tagOf(path);
    const refused = await at('GET', path, { 'if-match': '"x"' });
    expect([refused.status, refused.json.code]).toEqual([412, 'PRECONDITION_FAILED']);
    expect(refused.json.details.etag).toBe(tag);
    expect((await at('GET', path, { 'if-match': tag })).status).toBe(200);
    expect((await at('GET', path, { 'if-match': '*', 'if-none-match': tag })).status).toBe(304);
    expect((await at('GET', path, { 'if-match': '"x"', 'if-none-match': tag })).status).toBe(412);
    expect((await at('GET', `${path}@title`, { 'if-match': '"x"' })).status).toBe(412);
  });

  it('knows the tag of a compressed answer, and answers with that [ETAG-006]', async () => {
    for (const coding of ['br', 'gzip']) {
      const path = await freshNode({ text: 'all work and no play '.repeat(500) });
      const tag = await tagOf(path);
      const coded = await tagOf(path, { 'accept-encoding': coding });
      expect(coded).toBe(`${tag.slice(0, -1)}.${coding}"`);
      const same = await at('GET', path, { 'if-none-match': coded, 'accept-encoding': coding });
      expect([same.status, same.headers.etag]).toEqual([304, coded]);
      expect(same.headers.vary).toContain('Accept-Encoding');
      expectStatus(await at('PUT', `${path}@n`, { 'if-match': coded }, 1), 200);
      expect((await at('PUT', `${path}@n`, { 'if-match': coded }, 2)).status).toBe(412);
    }
  });
});

describe('a write with conditions', () => {
  it('is carried out for a caller that has read the newest state, and only then [ETAG-003]', async () => {
    const path = await freshNode();
    const tag = await tagOf(path);
    const put = (headers: Headers, title: string) => at('PUT', path, headers, { properties: { title } });
    expectStatus(await put({ 'if-match': tag }, 'two'), 200);
    const late = await put({ 'if-match': tag }, 'three');
    expect([late.status, late.json.code]).toEqual([412, 'PRECONDITION_FAILED']);
    expect(late.json.details).toEqual({ version: 2, etag: await tagOf(path) });
    expect((await put({ 'if-match': `W/${await tagOf(path)}` }, 'weak')).status).toBe(412);
    expect((await put({ 'if-match': await tagOf(`${path}?lang=de`) }, 'translated')).status).toBe(412);
    expect((await put({ 'if-none-match': '*' }, 'there')).status).toBe(412);
    expect((await put({ 'if-none-match': `W/${await tagOf(path)}` }, 'the same')).status).toBe(412);
    expect((await space.node(path)).properties.title).toBe('two');
    expectStatus(await put({ 'if-match': `"x", ${await tagOf(path)}` }, 'four'), 200);
    expectStatus(await put({ 'if-match': '*', 'if-none-match': tag }, 'five'), 200);
  });

  it('takes the tag of a node with a relation whose target is gone [ETAG-003]', async () => {
    const [from, to] = [await freshNode(), await freshNode()];
    await space.done(from, 'add-relation', { targetWorkspace: space.name, targetPath: to });
    const before = await tagOf(from);
    await space.delete(to);
    const after = await tagOf(from);
    expect(after).not.toBe(before);
    expectStatus(await at('GET', from, { 'if-none-match': before }), 200);
    expectStatus(await at('GET', from, { 'if-none-match': after }), 304);
    expectStatus(await at('PUT', from, { 'if-match': before }, { properties: { n: 1 } }), 412);
    expectStatus(await at('PUT', from, { 'if-match': after }, { properties: { n: 1 } }), 200);
  });

  it('is guarded at every address of a node [ETAG-003]', async () => {
    const path = await freshNode();
    const no = { 'if-match': '"x"' };
    const { id } = await space.node(path);
    const statuses = await Promise.all([
      at('PUT', path, no, { properties: {} }),
      at('PUT', `/$ref/${id}`, no, { properties: {} }),
      at('PUT', `${path}@title`, no, 'x'),
      at('DELETE', path, no),
      at('DELETE', path, no, { commit: { message: 'm' } }),
      at('POST', path, no, { name: 'child', node_type: 'svc:Folder', properties: {} }),
      at('POST', `${path}/svc:publish`, no),
      at('POST', `${path}?command=rename`, no, { newName: 'x' }),
      at('POST', `${path}/svc:cmd/restore_version`, no, { version: 1 }),
      at('POST', `${path}/svc:cmd/delete`, no, { message: 'm' }),
      at('POST', `${path}/svc:cmd/save`, no, {
        message: 'm',
        operations: [{ type: 'update', node_id: id, properties: {} }],
      }),
      at('POST', '/svc:cmd/commit', no, { message: 'm', operations: [{ type: 'delete', node_id: id }] }),
    ]);
    expect(statuses.map(({ status }) => status)).toEqual(statuses.map(() => 412));
    expect(await space.node(path)).toMatchObject({ version: 1, properties: { title: 'one' } });
  });

  it('lets one of many through that have read the same [ETAG-004]', async () => {
    const path = await freshNode({ n: 0 });
    const tag = await tagOf(path);
    const writes = await Promise.all(
      Array.from({ length: 24 }, (_, n) =>
        n % 2 === 0
          ? at('PUT', path, { 'if-match': tag }, { properties: { n } })
          : at('PUT', path, {}, { properties: { n }, version: 1 }),
      ),
    );
    const statuses = writes.map(({ status }) => status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(1);
    expect(statuses.filter((status) => status === 412)).toHaveLength(23);
    const { properties, version } = await space.node(path);
    expect([version, properties.n]).toEqual([2, statuses.indexOf(200)]);
  });

  it('takes the version in its body as a condition [ETAG-005]', async () => {
    const path = await freshNode();
    const read = await space.node(path);
    expectStatus(await space.put(path, { ...read, properties: { title: 'edited' } }), 200);
    const late = await space.put(path, { ...read, properties: { title: 'late' } });
    expect([late.status, late.json.details.version]).toEqual([412, 2]);
    expect(late.json.message).toContain('version 2, not 1');
    expectStatus(await space.command(path, 'publish', { version: 1 }), 412);
    expectStatus(await space.command(path, 'publish', { version: 2 }), 200);
    expectStatus(await space.command(path, 'unpublish', { version: 3 }), 200);
    expectStatus(await space.delete(path, { version: 3 }), 412);
    expectStatus(await space.put(path, { properties: {}, version: '4' }), 422);
    expectStatus(await space.put(path, { properties: {}, version: 4.5 }), 422);
    expectStatus(await space.put(path, { properties: {}, version: null }), 200);
    expectStatus(await space.delete(path, { version: 5 }), 200);
  });

  it('supports it in operations of a commit, and reports which one failed [ETAG-005]', async () => {
    const path = await freshNode();
    const { id } = await space.node(path);
    const update = (version: number) => ({
      type: 'update',
      node_id: id,
      properties: { n: version },
      version,
    });
    const commit = (...operations: object[]) =>
      space.command('/', 'commit', { message: 'several', operations });
    const refused = await commit(update(1), update(1));
    expect([refused.status, refused.json.details]).toMatchObject([412, { operation: 1, version: 2 }]);
    expectStatus(await commit(update(1), update(2)), 200);
    expect((await space.node(path)).version).toBe(3);
  });

  it('refuses conditions that it cannot read [ETAG-007]', async () => {
    const path = await freshNode();
    for (const header of ['if-match', 'if-none-match']) {
      for (const text of ['x', '"x', '""x', '"a" "b"', '*, "a"']) {
        const answer = await at('PUT', path, { [header]: text }, { properties: {} });
        expect([answer.status, answer.json.code], `${header}: ${text}`).toEqual([400, 'VALIDATION_FAILED']);
      }
    }
    expect((await at('GET', path, { 'if-match': 'x' })).status).toBe(400);
    expect((await space.node(path)).version).toBe(1);
  });

  it('answers 404 for a missing node, with any condition [ETAG-007]', async () => {
    for (const headers of [{ 'if-match': '*' }, { 'if-match': '"x"' }, { 'if-none-match': '*' }]) {
      expect((await at('PUT', '/not/there', headers as Headers, { properties: {} })).status).toBe(404);
      expect((await at('DELETE', '/not/there', headers as Headers)).status).toBe(404);
    }
    const path = await freshNode();
    const read = await space.getAt(revisionOf(await space.get(path)), path);
    const refused = await ask('PUT', space.urlAt(revisionOf(read), path), { 'if-match': '"x"' }, {});
    expect(refused.status).toBe(405);
  });

  it('answers the first outcome again under its idempotency key', async () => {
    const path = await freshNode();
    const headers = { 'if-match': await tagOf(path), 'idempotency-key': `tag-${path}` };
    const first = expectStatus(await at('PUT', path, headers, { properties: { n: 1 } }), 200);
    const again = expectStatus(await at('PUT', path, headers, { properties: { n: 1 } }), 200);
    expect(again.json).toEqual(first.json);
    expect((await space.node(path)).version).toBe(2);
  });

  it('is another request under its idempotency key with another condition [IDEM-003]', async () => {
    const path = await freshNode();
    const put = (condition: Headers) =>
      at('PUT', path, { ...condition, 'idempotency-key': `other-${path}` }, { properties: { n: 1 } });
    expectStatus(await put({ 'if-match': '"old"' }), 412);
    expectStatus(await put({ 'if-match': '"old"' }), 412);
    const others: readonly Headers[] = [{ 'if-match': await tagOf(path) }, { 'if-none-match': '"old"' }, {}];
    for (const condition of others) {
      expect(expectStatus(await put(condition), 422).json.code).toBe('IDEMPOTENCY_MISMATCH');
    }
    expect((await space.node(path)).version).toBe(1);
  });
});
