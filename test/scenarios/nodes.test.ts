import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { ContentClient, expectStatus, revisionOf, type Space } from '#test/support/content-client.ts';
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

const page = (title: string) => ({ name: title, node_type: 'svc:Page', properties: { title } });

describe('reading a node', () => {
  it('answers 404 that names the path when there is none [NODE-043, CONV-007, HTTP-007]', async () => {
    const { json, status } = await space.get('/no/such/place');
    expect(status).toBe(404);
    expect(json.code).toBe('NODE_NOT_FOUND');
    expect(json.message).toContain('/no/such/place');
  });

  it('finds it by id [NODE-044]', async () => {
    const { id } = await space.add('/', 'by-id');
    const { json } = expectStatus(await space.get(`/$ref/${id}`), 200);
    expect(json.path).toBe('/by-id');
    expect((await space.get(`/%24ref/${id}`)).json.path).toBe('/by-id');
    expect((await space.get(`/_id/${id}`)).json.path).toBe('/by-id');
  });

  it('prefers a node that is really at /_id/ [NODE-044]', async () => {
    await space.add('/', '_id');
    await space.add('/_id', 'child');
    expect((await space.get('/_id/child')).json.path).toBe('/_id/child');
  });

  it('answers 404 for an unknown id [NODE-045]', async () => {
    const { json, status } = await space.get('/$ref/no-such-id');
    expect(status).toBe(404);
    expect(json.code).toBe('NODE_NOT_FOUND');
  });

  it('returns the revision of the read [HTTP-039]', async () => {
    const answer = await space.post('/', page('revisioned'));
    expect(revisionOf(await space.get('/revisioned'))).toBe(revisionOf(answer));
    expect(revisionOf(await space.get('/'))).toBe(revisionOf(answer));
    const read = await space.getAt(revisionOf(answer), '/');
    expect(revisionOf(read)).toBe(revisionOf(answer));
  });

  it('includes every revision a caller may have seen, and refuses one from the future [HTTP-039]', async () => {
    const ask = (revision: string) =>
      server.request('GET', space.url('/'), {
        token: server.adminToken,
        headers: { 'x-svc-min-revision': revision },
      });
    const { status } = await ask(await client.headRevision());
    expect(status).toBe(200);
    const future = await ask(`${4e13}-0`);
    expect(future.status).toBe(409);
    expect(future.json.code).toBe('CONFLICT');
    expect((await ask('soon')).json.code).toBe('INVALID_REVISION_NUMBER');
  });

  it('answers the root listing at the workspace, with or without slash [NODE-046]', async () => {
    const own = await client.workspace();
    await own.addAll('/a', '/b');
    expect(await own.names('/')).toEqual(['a', 'b']);
    expect(((await own.get('')).json as { name: string }[]).map(({ name }) => name)).toEqual(['a', 'b']);
  });

  it('does not decode before it splits [HTTP-043]', async () => {
    const at = await space.get('/a%40b');
    expect(at.status).toBe(404);
    expect(at.json.code).toBe('NODE_NOT_FOUND');
    expect(at.json.message).toContain('/a@b');
  });

  it('finds a percent-encoded name [NODE-042]', async () => {
    await space.add('/', 'under_score.v1');
    expect((await space.get('/under%5Fscore%2Ev1')).json.path).toBe('/under_score.v1');
  });

  it('has no other code than those of the registry [HTTP-046]', async () => {
    const { errorCodes } = await import('#runtime/errors/error-registry.ts');
    const answers = await Promise.all([
      space.get('/missing'),
      space.get('/a/%2F'),
      space.post('/svc:nothing'),
      server.admin('GET', '/api/repository/none/main/head/x/'),
    ]);
    for (const { json } of answers) expect(errorCodes).toContain(json.code);
  });
});

describe('a node as YAML', () => {
  it('of a large node is its JSON, which is YAML as well and takes no long step to make', async () => {
    const tags = Array.from({ length: 10_000 }, (_, n) => `tag: ${n} "#`);
    await space.add('/', 'many-tags', { tags });
    const answer = await space.get('/many-tags.yaml');
    expect(answer.headers['content-type']).toBe('text/yaml; charset=utf-8');
    expect(answer.text).toBe((await space.get('/many-tags')).text);
    expect(parse(answer.text)).toMatchObject({ name: 'many-tags', properties: { tags } });
  });

  it('is answered for .yaml and .yml when no node has that name [NODE-065]', async () => {
    await space.add('/', 'readme', { text: 'a: b\n- c', list: [1, null, true] });
    for (const suffix of ['.yaml', '.yml']) {
      const answer = await space.get(`/readme${suffix}`);
      expect(answer.status).toBe(200);
      expect(answer.headers['content-type']).toBe('text/yaml; charset=utf-8');
      expect(parse(answer.text)).toEqual((await space.get('/readme')).json);
    }
  });

  it('is read alike by parsers of YAML 1.1 and 1.2, a large one as well [NODE-072]', async () => {
    const words = [
      'yes',
      'no',
      'on',
      'off',
      '012',
      '1_000',
      '1:20',
      '2024-01-31',
      '~',
      '1e3',
      '=',
      'a\u2028b',
    ];
    const properties = { words, no: 'off', '1:20': '~', large: 1e21, small: 1e-7, next: 'two\nlines' };
    const long = { ...properties, long: 'yes, no '.repeat(8_000) };
    for (const [name, given] of Object.entries({ words: properties, long })) {
      await space.add('/', name, given);
      const { text } = await space.get(`/${name}.yaml`);
      const node = (await space.get(`/${name}`)).json;
      for (const version of ['1.1', '1.2'] as const) expect(parse(text, { version })).toEqual(node);
      expect(text).not.toContain('\u2028');
      expect(text).toContain('1.0e+21');
    }
  });

  it('is not answered when a node has that very name [NODE-065]', async () => {
    await space.add('/', 'openapi');
    const literal = await space.add('/', 'openapi.yaml');
    expect((await space.get('/openapi.yaml')).json.id).toBe(literal.id);
  });

  it('is missing where the node is missing, under the name that was asked for [NODE-065]', async () => {
    const { json, status } = await space.get('/no-such.yaml');
    expect(status).toBe(404);
    expect(json.message).toContain('/no-such.yaml');
  });
});

describe('one property', () => {
  it('is read as its JSON value [NODE-047]', async () => {
    const values = {
      text: 't',
      zero: 0,
      no: false,
      nothing: null,
      list: [1, { a: 2 }],
      nested: { deep: [3] },
    };
    await space.add('/', 'valued', values);
    for (const [key, value] of Object.entries(values)) {
      const { json, status } = await space.get(`/valued@${key}`);
      expect(status).toBe(200);
      expect(json).toEqual(value);
    }
    expect((await space.get('/valued@nested.deep')).json).toEqual([3]);
  });

  it('is 404 NOT_FOUND when the node does not have it [NODE-048]', async () => {
    await space.add('/', 'bare');
    const { json, status } = await space.get('/bare@nope');
    expect(status).toBe(404);
    expect(json.code).toBe('NOT_FOUND');
    expect((await space.get('/bare@constructor')).status).toBe(404);
  });

  it('is written by PUT and leaves the others [NODE-056, NODE-057]', async () => {
    await space.add('/', 'set', { keep: 1 });
    expect((await space.get('/set@title')).status).toBe(404);
    const answer = await space.put('/set@title', 'new');
    expect(answer.status).toBe(200);
    expect(answer.json).toEqual({ status: 'property updated' });
    expect((await space.get('/set@title')).json).toBe('new');
    expect((await space.get('/set@keep')).json).toBe(1);
    await space.put('/set@title', null);
    expect((await space.get('/set@title')).json).toBeNull();
  });

  it('is written into objects that are made on the way [NODE-058]', async () => {
    await space.add('/', 'nest', { a: { other: 1 } });
    expectStatus(await space.put('/nest@a.b.c', 5), 200);
    expect((await space.get('/nest@a')).json).toEqual({ other: 1, b: { c: 5 } });
  });

  it('is neither written nor removed when it is derived from the type [NODE-071]', async () => {
    await space.add('/', 'derived', { a: 1 });
    const before = await space.node('/derived');
    for (const address of ['$supertypes', '$mixins', '$supertypes.0', '%24mixins.a']) {
      const put = await space.put(`/derived@${address}`, ['made:Up']);
      const removed = await space.delete(`/derived@${address}`);
      for (const { json, status } of [put, removed]) {
        expect(status).toBe(400);
        expect(json.code).toBe('VALIDATION_FAILED');
        expect(json.message).toMatch(
          /^'\$(supertypes|mixins)' comes from the node type and cannot be written$/,
        );
      }
    }
    expect(await space.node('/derived')).toEqual(before);
    expectStatus(await space.put('/derived@$own', 2), 200);
    expect((await space.get('/derived@$own')).json).toBe(2);
    await space.add('/', 'dotted', { '$supertypes.own': 1 });
    expectStatus(await space.put('/dotted@$supertypes.own', 2), 200);
    expect((await space.node('/dotted')).properties).toMatchObject({ '$supertypes.own': 2 });
    expectStatus(await space.delete('/dotted@$supertypes.own'), 200);
  });

  it('is not created by POST [HTTP-016]', async () => {
    await space.add('/', 'fixed', { a: 1 });
    const answer = await space.post('/fixed@a', 2);
    expect(answer.status).toBe(405);
    expect(answer.headers.allow).toContain('PUT');
  });
});

describe('updating a node', () => {
  it('answers the bare node without commit and the envelope with it [NODE-049, NODE-051, EASY-002]', async () => {
    await space.add('/', 'updated', { a: 1 });
    const bare = await space.put('/updated', { properties: { a: 2 } });
    expect(bare.status).toBe(200);
    expect(bare.json).toMatchObject({ path: '/updated', properties: { a: 2 } });
    const told = await space.put('/updated', {
      properties: { a: 3 },
      commit: { message: 'third', actor: 'ann' },
    });
    expect(told.status).toBe(200);
    expect(Object.keys(told.json)).toEqual(['node', 'revision', 'committed']);
    expect(told.json.node.properties.a).toBe(3);
    expect(await client.revision(told.json.revision)).toMatchObject({ message: 'third', actor: 'ann' });
  });

  it('replaces the stored set [NODE-050]', async () => {
    await space.add('/', 'replaced', { a: 1, b: 2 });
    await space.put('/replaced', { properties: { b: 3 } });
    const { properties } = await space.node('/replaced');
    expect(properties).toEqual({ b: 3, $supertypes: [], $mixins: [] });
  });

  it('works by id [NODE-049]', async () => {
    const { id } = await space.add('/', 'by-ref', { a: 1 });
    expectStatus(await space.put(`/$ref/${id}`, { properties: { a: 2 } }), 200);
    expect((await space.node('/by-ref')).properties.a).toBe(2);
  });

  it('stores translations [NODE-052, TRANS-001]', async () => {
    await space.add('/', 'spoken', { title: 'Hello' });
    const { json } = await space.put('/spoken', {
      properties: { title: 'Hello' },
      translations: { de: { '/title': 'Hallo' } },
    });
    expect(json.translations).toEqual({ de: { title: 'Hallo' } });
    expect((await space.get('/spoken?lang=de')).json.properties.title).toBe('Hallo');
    await space.put('/spoken', { properties: { title: 'Hello' }, translations: null });
    expect((await space.node('/spoken')).translations).toBeNull();
  });

  it('answers 404 when there is no node [NODE-053]', async () => {
    const { json, status } = await space.put('/missing', { properties: {} });
    expect(status).toBe(404);
    expect(json.code).toBe('NODE_NOT_FOUND');
    expect((await space.put('/', { properties: {} })).status).toBe(404);
  });

  it('cannot change what is fixed [NODE-054, NODE-004]', async () => {
    const before = await space.add('/', 'fixture', { a: 1 });
    const { json } = await space.put('/fixture', {
      properties: { a: 2 },
      id: 'other',
      path: '/other',
      name: 'other',
      created_at: '1999-01-01T00:00:00.000Z',
      created_by: 'nobody',
    });
    const { created_at, created_by, id, name, path } = before;
    expect(json).toMatchObject({ created_at, created_by, id, name, path, properties: { a: 2 } });
    const retyped = await space.put('/fixture', { properties: { title: 't' }, node_type: 'svc:Page' });
    expect(retyped.status).toBe(400);
    expect(retyped.json.message).toContain('Cannot change node_type');
    expect((await space.node('/fixture')).node_type).toBe('svc:Folder');
  });

  it('needs `properties` [NODE-055]', async () => {
    await space.add('/', 'needy');
    const answer = await space.put('/needy', { title: 'x' });
    expect(answer.status).toBe(422);
    expect(answer.text).toContain('`properties`');
  });

  it('takes back what was read, also of a strict type [NODE-009, EASY-003]', async () => {
    await client.defineType({
      name: 'nodes:Strict',
      strict: true,
      properties: [{ name: 'title', type: 'String' }],
    });
    const sent = { title: 'x', $supertypes: ['made:Up'], $mixins: [] };
    await space.add('/', 'strict', sent, 'nodes:Strict');
    const read = await space.node('/strict');
    expect(read.properties).toEqual({ title: 'x', $supertypes: [], $mixins: [] });
    const { json } = expectStatus(await space.put('/strict', read), 200);
    expect(json.properties).toEqual(read.properties);
    expect(json.translations).toBeNull();
  });
});

describe('deleting a node', () => {
  it('answers {deleted: true}, and it is gone [NODE-059, NODE-064]', async () => {
    const { id } = await space.add('/', 'gone');
    const answer = await space.delete('/gone');
    expect(answer.status).toBe(200);
    expect(answer.json).toEqual({ deleted: true });
    expect((await space.get('/gone')).status).toBe(404);
    expect((await space.get(`/$ref/${id}`)).status).toBe(404);
    const again = await space.add('/', 'gone');
    expect(again.id).not.toBe(id);
  });

  it('removes the subtree in one revision that lists every node [NODE-060, NODE-061]', async () => {
    await space.addAll('/tree', '/tree/a', '/tree/a/b', '/tree/c');
    const ids = await Promise.all(
      ['/tree', '/tree/a', '/tree/a/b', '/tree/c'].map(async (path) => (await space.node(path)).id),
    );
    const revision = revisionOf(await space.delete('/tree'));
    for (const path of ['/tree', '/tree/a', '/tree/a/b', '/tree/c']) {
      expect((await space.get(path)).status).toBe(404);
    }
    const { changed_nodes } = await client.revision(revision);
    expect(changed_nodes).toHaveLength(4);
    for (const change of changed_nodes) expect(change.operation).toBe('deleted');
    expect(new Set(changed_nodes.map((change: { node_id: string }) => change.node_id))).toEqual(new Set(ids));
  });

  it('answers 404 when there is none [NODE-062]', async () => {
    const { json, status } = await space.delete('/missing');
    expect(status).toBe(404);
    expect(json.code).toBe('NODE_NOT_FOUND');
  });

  it('answers the revision when a commit is given [NODE-063]', async () => {
    const { id } = await space.add('/', 'told');
    const answer = await space.delete('/told', { commit: { message: 'cleaned up', actor: 'ann' } });
    expect(answer.json).toEqual({
      deleted: true,
      node_id: id,
      revision: revisionOf(answer),
      committed: true,
    });
    expect(await client.revision(answer.json.revision)).toMatchObject({
      message: 'cleaned up',
      actor: 'ann',
    });
  });

  it.each([
    ['deletes', (path: string) => space.delete(path)],
    ['moves', (path: string) => space.command(path, 'move', { targetPath: '/elsewhere' })],
    ['renames', (path: string) => space.command(path, 'rename', { newName: 'renamed' })],
  ])('%s nothing that is published, or has something published below [NODE-066]', async (verb, write) => {
    const top = `/guarded-${verb}`;
    await space.addAll(top, `${top}/leaf`);
    await space.done(`${top}/leaf`, 'publish');
    for (const path of [`${top}/leaf`, top]) {
      const { json, status } = await write(path);
      expect(status).toBe(400);
      expect(json.code).toBe('VALIDATION_FAILED');
      expect(json.message).toMatch(/unpublish/);
    }
    expect((await space.get(`${top}/leaf`)).status).toBe(200);
    await space.done(`${top}/leaf`, 'unpublish');
    expectStatus(await write(`${top}/leaf`), 200);
  });
});
