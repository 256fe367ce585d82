import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ContentClient, expectStatus, revisionOf, Space } from '#test/support/content-client.ts';
import { startServer, type TestServer } from '#test/support/server.ts';

let server: TestServer;
let client: ContentClient;
let space: Space;
let people: Space;
let ada: string;
let bob: string;

beforeAll(async () => {
  server = await startServer();
  client = await ContentClient.on(server);
  await server.admin('PATCH', `/api/repositories/${client.repository}/translation-config`, {
    supported_languages: ['en', 'de'],
  });
  space = await client.workspace();
  people = await client.workspace();
  ({ id: ada } = await people.add('/', 'ada', { name: 'Ada', friend: null }));
  ({ id: bob } = await people.add('/', 'bob', { name: 'Bob', friend: to(ada) }));
});

afterAll(() => server.close());

/** @param workspace null: none is named */
const to = (id: string, workspace: string | null = people.name) => ({
  'svc:ref': id,
  ...(workspace === null ? {} : { 'svc:workspace': workspace }),
});

let count = 0;

/** A node that no other test looks at. @returns its path */
async function freshNode(properties: object): Promise<string> {
  count += 1;
  await space.add('/', `article-${count}`, properties);
  return `/article-${count}`;
}

describe('a read with expand', () => {
  it('shows the node of each reference in these properties, at any depth, and no further [EXPAND-001]', async () => {
    const path = await freshNode({
      title: 'One',
      author: to(bob),
      editors: [to(ada), { note: 'x', who: to(bob) }],
      other: to(ada),
    });
    const { properties, relations, translations } = await space.node(`${path}?expand=author,editors`);
    const [adaNode, bobNode] = [await people.node('/ada'), await people.node('/bob')];
    expect(properties).toMatchObject({
      title: 'One',
      author: { ...to(bob), 'svc:node': bobNode },
      editors: [
        { ...to(ada), 'svc:node': adaNode },
        { note: 'x', who: { ...to(bob), 'svc:node': bobNode } },
      ],
    });
    expect(properties.other).toEqual(to(ada));
    expect(properties.$supertypes).toBeDefined();
    expect([relations, translations]).toEqual([[], null]);
    // What is shown of a target is not expanded.
    expect(properties.author['svc:node'].properties.friend).toEqual(to(ada));
    const deep = await space.node(`${path}?expand=editors.who`);
    expect(deep.properties.editors).toEqual([
      to(ada),
      { note: 'x', who: { ...to(bob), 'svc:node': bobNode } },
    ]);
    expect((await space.node(`${path}?expand=title,no-such`)).properties).toEqual(
      (await space.node(path)).properties,
    );
    expect((await space.node(`${path}?expand=`)).properties).toEqual((await space.node(path)).properties);
  });

  it('leaves references to what is missing, gone or unknown as they are [EXPAND-002]', async () => {
    const { id } = await people.add('/', 'leaving');
    await people.add('/', 'replacement', {}, 'svc:Folder', { id: '\ufffd' });
    const plain = [
      to('no-such-id'),
      // Half a character, which is no id. In UTF-8 it would be the id of another node.
      to('\ud800'),
      to(id),
      to(ada, 'no-such-workspace'),
      to(ada, '\u0000'),
      to(ada, 'w'.repeat(5_000)),
      to('x'.repeat(5_000)),
      // In another workspace than its own.
      to(ada, null),
      to('/no/such/path'),
      { 'svc:ref': '' },
      { 'svc:ref': 5 },
      'text',
      null,
    ];
    const path = await freshNode({ plain, here: to(ada) });
    expectStatus(await people.delete('/leaving'), 200);
    const revision = await client.headRevision();
    for (const moment of ['', `&revision=${revision}`]) {
      const { properties } = await space.node(`${path}?expand=plain,here${moment}`);
      expect(properties.plain).toEqual(plain);
      expect(properties.here['svc:node'].name).toBe('ada');
    }
  });

  it('takes no other text for the name of a workspace, where nodes are read from files [EXPAND-002]', async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'grove-expanded-'));
    const earlier = await startServer({ dataDir });
    const before = await ContentClient.on(earlier);
    const made = await before.workspace();
    const { id } = await made.add('/', 'target');
    // Keys in files have one byte for each character of a workspace, which is that of the name here.
    const alike = String.fromCharCode(made.name.charCodeAt(0) + 0x100) + made.name.slice(1);
    const plain = to(id, alike);
    await made.add('/', 'article', { plain, here: to(id, made.name) });
    await earlier.close();
    const now = await startServer({ dataDir });
    try {
      const read = new Space(new ContentClient(now, before.repository), made.name);
      const { properties } = await read.node('/article?expand=plain,here');
      expect(properties.plain).toEqual(plain);
      expect(properties.here['svc:node'].name).toBe('target');
    } finally {
      await now.close();
      rmSync(dataDir, { recursive: true });
    }
  });

  it('expands in listings, pages, trees and queries, and with fields [EXPAND-003]', async () => {
    const own = await client.workspace();
    await own.add('/', 'list');
    await own.add('/list', 'a', { title: 'A', author: to(ada) });
    await own.add('/list', 'b', { title: 'B', author: to(bob) });
    const authors = (nodes: { properties: { author: Record<string, { name: string }> } }[]) =>
      nodes.map((node) => node.properties.author['svc:node']?.name);
    const get = async (path: string) => expectStatus(await own.get(path), 200).json;
    expect(authors(await get('/list/?expand=author'))).toEqual(['ada', 'bob']);
    expect(authors((await get('/list/?limit=2&expand=author')).items)).toEqual(['ada', 'bob']);
    expect(authors(await get('/list?flatten=true&expand=author'))).toEqual(['ada', 'bob']);
    expect(authors(await get('/list?level=1&format=array&expand=author'))).toEqual(['ada', 'bob']);
    const query = expectStatus(await own.post('/query?expand=author', { parent: '/list' }), 200).json;
    expect(authors(query.items)).toEqual(['ada', 'bob']);
    const part = await own.node('/list/a?fields=author&expand=author,title');
    expect(Object.keys(part.properties)).toEqual(['author']);
    expect(part.properties.author['svc:node'].properties.name).toBe('Ada');
    expect((await own.node('/list/a?fields=title&expand=author')).properties).toEqual({ title: 'A' });
  });

  it('shows targets in the same locale and at the same revision [EXPAND-004]', async () => {
    const { id } = await people.add('/', 'carol', { name: 'Carol' });
    const path = await freshNode({ author: to(id) });
    const before = await client.headRevision();
    await people.done('/carol', 'translate', { locale: 'de', translations: { '/name': 'Karola' } });
    const nameIn = async (query: string) =>
      (await space.node(`${path}?expand=author${query}`)).properties.author['svc:node']?.properties.name;
    expect(await nameIn('')).toBe('Carol');
    expect(await nameIn('&lang=de')).toBe('Karola');
    expect(await nameIn(`&lang=de&revision=${before}`)).toBe('Carol');
    await people.done('/carol', 'hide-in-locale', { locale: 'de' });
    expect(await nameIn('&lang=de')).toBeUndefined();
    expect(await nameIn('')).toBe('Carol');
    expectStatus(await people.delete('/carol'), 200);
    expect(await nameIn('')).toBeUndefined();
    expect(await nameIn(`&revision=${before}`)).toBe('Carol');
    const answer = await space.getAt(before, `${path}?expand=author`);
    expect(revisionOf(answer)).toBe(before);
    expect(answer.json.properties.author['svc:node'].properties.name).toBe('Carol');
  });

  it('is bounded: further references, and long nodes, stay plain [EXPAND-005]', async () => {
    const many = Array.from({ length: 1_100 }, () => to(ada));
    const path = await freshNode({ many });
    const { properties } = await space.node(`${path}?expand=many`);
    const expanded = properties.many.filter((one: object) => 'svc:node' in one);
    expect(expanded).toHaveLength(1_000);
    expect(properties.many.slice(1_000)).toEqual(many.slice(1_000));
    const { id } = await people.add('/', 'large', { text: 'x'.repeat(700_000) });
    const two = await freshNode({ list: [to(id), to(id), to(ada)] });
    const { list } = (await space.node(`${two}?expand=list`)).properties;
    expect(list.map((one: object) => 'svc:node' in one)).toEqual([true, false, true]);
  });

  it('has an entity tag that changes with the nodes it shows [ETAG-001]', async () => {
    const { id } = await people.add('/', 'dora', { name: 'Dora' });
    const path = await freshNode({ author: to(id), editor: to(ada) });
    const tagOf = async (query: string) => (await space.get(path + query)).headers.etag as string;
    const ask = async (query: string, tag: string) => {
      const options = { token: server.adminToken, headers: { 'if-none-match': tag } };
      return (await server.request('GET', space.url(path + query), options)).status;
    };
    const [plain, author, editor] = [
      await tagOf(''),
      await tagOf('?expand=author'),
      await tagOf('?expand=editor'),
    ];
    expect(new Set([plain, author, editor]).size).toBe(3);
    expect(await ask('?expand=author', author)).toBe(304);
    expectStatus(await people.put('/dora', { properties: { name: 'Theodora' } }), 200);
    expect(await ask('?expand=author', author)).toBe(200);
    expect(await tagOf('')).toBe(plain);
    expect(await tagOf('?expand=editor')).toBe(editor);
    const changed = await tagOf('?expand=author');
    expectStatus(await people.delete('/dora'), 200);
    const gone = await tagOf('?expand=author');
    expect(new Set([author, changed, gone]).size).toBe(3);
  });

  it('can be sent back: what it shows is not stored [EXPAND-006]', async () => {
    const path = await freshNode({ author: to(bob), list: [to(ada)] });
    const stored = await space.node(path);
    const read = await space.node(`${path}?expand=author,list`);
    expectStatus(await space.put(path, { properties: read.properties }), 200);
    expect((await space.node(path)).properties).toEqual(stored.properties);
    expectStatus(await space.put(`${path}@author`, read.properties.author), 200);
    expect((await space.get(`${path}@author`)).json).toEqual(to(bob));
    const { name, node_type, properties } = read;
    expectStatus(await space.post(path, { name: `${name}-copy`, node_type, properties }), 201);
    expect((await space.node(`${path}/${name}-copy`)).properties).toEqual(stored.properties);
  });

  it('is not stored in a translation either, by any kind of write [EXPAND-006]', async () => {
    const path = await freshNode({ author: to(ada) });
    expectStatus(await space.put(`${path}@author`, to(bob)), 200);
    const { author } = (await space.node(`${path}?expand=author`)).properties;
    expect(author['svc:node'].id).toBe(bob);
    const field = { translations: { de: { author } } };
    const { properties } = await space.node(path);
    for (const write of [
      () => space.done(path, 'translate', { locale: 'de', translations: { '/author': author } }),
      () => space.put(path, { properties, ...field }),
      () => server.admin('PATCH', space.url(path), field),
    ]) {
      expectStatus(await write(), 200);
      expect((await space.node(path)).translations).toEqual({ de: { author: to(bob) } });
      await space.done(path, 'delete-translation', { locale: 'de' });
    }
    const created = { name: 'translated', node_type: 'svc:Folder', properties, ...field };
    expectStatus(await space.post(path, created), 201);
    expect((await space.node(`${path}/translated`)).translations).toEqual({ de: { author: to(bob) } });
  });

  it('refuses too many names, and what cannot be the path of a property [PART-003]', async () => {
    for (const names of [Array.from({ length: 17 }, (_, n) => `p${n}`).join(','), 'a..b', 'a,,b']) {
      const refused = await people.get(`/ada?expand=${names}`);
      expect([refused.status, refused.json.field]).toEqual([400, 'expand']);
    }
    for (const path of ['/ada@name', '/ada/svc:version', '/ada/svc:relations']) {
      expect((await people.get(`${path}?expand=friend`)).status, path).toBe(400);
    }
  });
});
