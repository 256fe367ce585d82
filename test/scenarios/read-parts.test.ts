import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { ContentClient, expectStatus, revisionOf, type Space } from '#test/support/content-client.ts';
import { startServer, type TestServer } from '#test/support/server.ts';

let server: TestServer;
let client: ContentClient;
let space: Space;

/** Columns of a node of which parts are read. */
const columns = [
  'id',
  'name',
  'path',
  'node_type',
  'archetype',
  'properties',
  'has_children',
  'workspace',
  'parent',
  'order_key',
  'version',
  'created_at',
  'updated_at',
  'created_by',
  'updated_by',
  'published_at',
  'published_by',
  'owner_id',
];

const properties = { title: 'One', text: 'Text', hero: { image: { src: 'a.png', alt: 'A' } }, n: 9_007_199 };

beforeAll(async () => {
  server = await startServer();
  client = await ContentClient.on(server);
  space = await client.workspace();
  await client.server.admin('PATCH', `/api/repositories/${client.repository}/translation-config`, {
    supported_languages: ['en', 'de'],
  });
  await space.add('/', 'top', properties);
  await space.add('/top', 'a', properties);
  await space.add('/top', 'b', { ...properties, title: 'Two' });
  await space.add('/top/a', 'deep', properties);
  await space.done('/top/a', 'translate', {
    locale: 'de',
    translations: { '/title': 'Eins', '/hero/image/alt': 'Ä' },
  });
  await space.done('/top/a', 'add-relation', { targetWorkspace: space.name, targetPath: '/top/b' });
});

afterAll(() => server.close());

describe('a read with fields', () => {
  it('answers only these properties, and the columns that cannot be long [PART-001]', async () => {
    const whole = await space.node('/top/a');
    const part = await space.node('/top/a?fields=title,hero.image.src,no-such');
    expect(Object.keys(part)).toEqual(columns);
    expect(part).toEqual({
      ...Object.fromEntries(columns.map((name) => [name, whole[name]])),
      properties: { title: 'One', hero: { image: { src: 'a.png' } } },
    });
    expect((await space.node('/top/a?fields=')).properties).toEqual({});
    expect((await space.node('/top/a?fields=text')).properties).toEqual({ text: 'Text' });
    expect((await space.node('/top/a?fields=title&fields=n,%20text')).properties).toEqual({
      title: 'One',
      text: 'Text',
      n: 9_007_199,
    });
    expect((await space.node('/top/a?fields=title,$supertypes')).properties).toEqual({
      title: 'One',
      $supertypes: whole.properties.$supertypes,
    });
  });

  it('selects them in every kind of listing, and in both queries [PART-002]', async () => {
    const titles = [{ title: 'One' }, { title: 'Two' }];
    const shown = (nodes: { properties: object }[]) => nodes.map((node) => node.properties);
    const get = async (path: string) => expectStatus(await space.get(path), 200).json;
    expect(shown(await get('/top/?fields=title'))).toEqual(titles);
    const page = await get('/top/?limit=1&fields=title');
    expect(shown(page.items)).toEqual(titles.slice(0, 1));
    // What is shown of nodes is no part of the listing that a cursor belongs to.
    const next = await get(`/top/?limit=1&fields=text&cursor=${page.next_cursor}`);
    expect(shown(next.items)).toEqual([{ text: 'Text' }]);
    expect(shown(await get('/top?flatten=true&fields=title'))).toEqual([titles[0], titles[0], titles[1]]);
    const tree = await get('/top?level=2&fields=title');
    expect(tree.a.node.properties).toEqual(titles[0]);
    expect(tree.a.children.deep.node.properties).toEqual(titles[0]);
    const nested = await get('/top?level=2&format=array&fields=title');
    expect(nested[0].children[0].properties).toEqual(titles[0]);
    expect(nested[0]).not.toHaveProperty('translations');
    const query = expectStatus(await space.post('/query?fields=title', { parent: '/top' }), 200).json;
    expect(shown(query.items)).toEqual(titles);
    const dsl = expectStatus(await space.post('/query/dsl?fields=title', {}), 200).json;
    expect(shown(dsl.items)).toEqual([titles[0]]);
    const revision = await client.headRevision();
    const past = await server.admin('POST', space.urlAt(revision, '/query?fields=title'), { parent: '/top' });
    expect(shown(expectStatus(past, 200).json.items)).toEqual(titles);
  });

  it('is of the locale, the revision and the form that are asked for [PART-001]', async () => {
    const own = await client.workspace();
    const first = revisionOf(
      await own.post('/', { name: 'x', node_type: 'svc:Folder', properties: { a: 1, b: 1 } }),
    );
    expectStatus(await own.put('/x', { properties: { a: 2, b: 2 } }), 200);
    expect((await own.getAt(first, '/x?fields=a')).json.properties).toEqual({ a: 1 });
    expect((await own.get(`/x?fields=a&revision=${first}`)).json.properties).toEqual({ a: 1 });
    const german = await space.node('/top/a?lang=de&fields=title,hero.image.alt');
    expect(german.properties).toEqual({ title: 'Eins', hero: { image: { alt: 'Ä' } } });
    const yaml = await space.get('/top/a.yaml?fields=title');
    expect(parse(yaml.text).properties).toEqual({ title: 'One' });
  });

  it('has its own entity tag, the same for any order of the names [ETAG-001]', async () => {
    const tags = await Promise.all(
      ['', '?fields=', '?fields=title', '?fields=text', '?fields=title,text', '?fields=title&lang=de'].map(
        async (query) => (await space.get(`/top/a${query}`)).headers.etag as string,
      ),
    );
    expect(new Set(tags).size).toBe(tags.length);
    expect((await space.get('/top/a?fields=text,title,text')).headers.etag).toBe(tags[4]);
    const same = await server.request('GET', space.url('/top/a?fields=title'), {
      token: server.adminToken,
      headers: { 'if-none-match': tags[2] as string },
    });
    expect(same.status).toBe(304);
    // What was read in part is not written back whole.
    const guarded = await server.request('PUT', space.url('/top/a'), {
      token: server.adminToken,
      headers: { 'if-match': tags[2] as string },
      body: { properties: { title: 'x' } },
    });
    expect(guarded.status).toBe(412);
    expect(guarded.json.message).toContain('parameters');
  });

  it('refuses what cannot be the path of a property, and too many [PART-003]', async () => {
    for (const [fields, text] of [
      ['a,,b', "'' is not"],
      ['a..b', 'a..b'],
      ['.a', '.a'],
      ['a.', 'a.'],
      [',', "''"],
      ['x'.repeat(1_025), 'at most 1024'],
      [Array.from({ length: 200 }, () => 'a').join('.'), 'at most 128 keys'],
      [Array.from({ length: 65 }, (_, n) => `f${n}`).join(','), 'at most 64'],
    ] as const) {
      for (const path of ['/top/a', '/top/', '/top?level=1']) {
        const refused = await space.get(`${path}${path.includes('?') ? '&' : '?'}fields=${fields}`);
        expect([refused.status, refused.json.code, refused.json.field]).toEqual([
          400,
          'VALIDATION_FAILED',
          'fields',
        ]);
        expect(refused.json.message).toContain(text);
      }
    }
    const refused = await space.post('/query?fields=a..b', { parent: '/top' });
    expect([refused.status, refused.json.error]).toEqual([400, 'BadRequest']);
    expectStatus(
      await space.get(`/top/a?fields=${Array.from({ length: 64 }, (_, n) => `f${n}`).join(',')}`),
      200,
    );
  });

  it('is for nodes, and for no other answer [PART-003]', async () => {
    for (const path of ['/top@title', '/top/svc:version', '/top/svc:relations', '/top?command=relations']) {
      const refused = await space.get(`${path}${path.includes('?') ? '&' : '?'}fields=title`);
      expect([path, refused.status]).toEqual([path, 400]);
    }
    expect((await space.put('/top?fields=title', { properties: {} })).status).toBe(400);
    expect((await space.get('/no/such?fields=title')).status).toBe(404);
  });

  it('answers parts of large nodes', async () => {
    const list = Array.from({ length: 3_000 }, (_, n) => ({ n, text: 'x'.repeat(200) }));
    await space.add('/', 'large', { list, small: 'one', __proto__x: 1 });
    const part = await space.get('/large?fields=small,list.n');
    expect(part.json.properties).toEqual({ small: 'one', list: list.map(({ n }) => ({ n })) });
    expect((await space.node('/large?fields=small')).properties).toEqual({ small: 'one' });
    const listed = expectStatus(await space.get('/?fields=small&limit=100'), 200).json;
    expect(listed.items.at(-1).properties).toEqual({ small: 'one' });
  });

  it('copies odd names and exact numbers as they are stored', async () => {
    const raw =
      '{"name":"odd","node_type":"svc:Folder","properties":{"__proto__":{"a":1},"a\\"b":12345678901234567890,"é\\n":1}}';
    const headers = { 'content-type': 'application/json' };
    const made = await server.request('POST', space.url('/'), { token: server.adminToken, headers, raw });
    expectStatus(made, 201);
    const names = ['__proto__', 'a"b', 'é\n'].map(encodeURIComponent).join(',');
    const { text } = await space.get(`/odd?fields=${names}`);
    expect(text).toContain('"properties":{"__proto__":{"a":1},"a\\"b":12345678901234567890,"é\\n":1}');
    expect((await space.get('/odd?fields=constructor,toString')).json.properties).toEqual({});
  });
});
