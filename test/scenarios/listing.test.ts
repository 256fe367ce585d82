import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ContentClient, expectStatus, type Space } from '#test/support/content-client.ts';
import { startServer, type TestServer } from '#test/support/server.ts';

let server: TestServer;
let client: ContentClient;

beforeAll(async () => {
  server = await startServer();
  client = await ContentClient.on(server);
});

afterAll(() => server.close());

interface Named {
  readonly name: string;
  readonly path: string;
}
type Tree = { readonly [name: string]: { readonly node: Named; readonly children: Tree } };
interface Nested extends Named {
  readonly children: readonly (Nested | string)[];
}

const namesOf = (nodes: readonly Named[]) => nodes.map(({ name }) => name);
const pathsOf = (nodes: readonly Named[]) => nodes.map(({ path }) => path);

/** Names of a map tree, nested as arrays. */
function outline(tree: Tree): unknown {
  return Object.fromEntries(
    Object.entries(tree).map(([name, { children, node }]) => {
      expect(node.name).toBe(name);
      return [name, outline(children)];
    }),
  );
}

/** Every page from the first on. */
async function pages(space: Space, path: string, limit: number, lang = ''): Promise<Named[][]> {
  const found: Named[][] = [];
  let cursor = '';
  for (;;) {
    const { json } = expectStatus(
      await space.get(`${path}?limit=${limit}&cursor=${encodeURIComponent(cursor)}${lang}`),
      200,
    );
    expect(Object.keys(json)).toEqual(['items', 'next_cursor', 'total']);
    expect(json.total).toBeNull();
    found.push(json.items);
    if (json.next_cursor === null) return found;
    cursor = json.next_cursor;
  }
}

describe('a listing', () => {
  it('of a new workspace is an empty array [LIST-012, CONV-003]', async () => {
    const space = await client.workspace();
    const { json, status } = await space.get('/');
    expect(status).toBe(200);
    expect(json).toEqual([]);
  });

  it('needs its parent in every form [LIST-013]', async () => {
    const space = await client.workspace();
    for (const query of ['/', '/?level=2', '/?level=2&flatten=true', '?deep=true', '/?limit=3']) {
      const { json, status } = await space.get(`/missing${query}`);
      expect(status, query).toBe(404);
      expect(json.code).toBe('NODE_NOT_FOUND');
    }
  });

  it('of a childless parent is empty in every form [LIST-014]', async () => {
    const space = await client.workspace();
    await space.add('/', 'lonely');
    expect((await space.get('/lonely/')).json).toEqual([]);
    expect((await space.get('/lonely/?level=3')).json).toEqual({});
    expect((await space.get('/lonely?level=3&flatten=true')).json).toEqual([]);
    expect((await space.get('/lonely?level=3&format=array')).json).toEqual([]);
    expect((await space.get('/lonely/?limit=3')).json).toEqual({ items: [], next_cursor: null, total: null });
  });

  it('is in the order of creation, at the root and nested [LIST-015]', async () => {
    const space = await client.workspace();
    await space.addAll('/zzz', '/aaa', '/mmm', '/1111');
    expect(await space.names()).toEqual(['zzz', 'aaa', 'mmm', '1111']);
    await space.addAll('/zzz/xxx', '/zzz/aaa', '/zzz/222', '/zzz/111');
    expect(await space.names('/zzz')).toEqual(['xxx', 'aaa', '222', '111']);
  });

  it('shows a new child behind reordered ones [LIST-016]', async () => {
    const space = await client.workspace();
    await space.addAll('/a', '/b', '/c');
    await space.done('/a', 'reorder', { targetPath: '/c', movePosition: 'after' });
    await space.add('/', 'd');
    expect(await space.names()).toEqual(['b', 'c', 'a', 'd']);
  });

  it('lists with the slash and reads the node without [LIST-023]', async () => {
    const space = await client.workspace();
    await space.addAll('/a', '/a/b');
    expect((await space.get('/a')).json.path).toBe('/a');
    expect(pathsOf((await space.get('/a/')).json)).toEqual(['/a/b']);
  });

  it('holds whole nodes, and never the hidden root [CONV-003, BUILT-009]', async () => {
    const space = await client.workspace();
    await space.addAll('/a', '/b');
    const { json } = await space.get('/');
    expect(json[0]).toEqual((await space.get('/a')).json);
    expect(pathsOf(json)).toEqual(['/a', '/b']);
    expect(pathsOf((await space.get('/?deep=true&flatten=true')).json)).toEqual(['/a', '/b']);
    expect((await space.dsl({})).json.page.total).toBe(2);
    expect((await space.query({ nodeType: 'svc:Folder' })).json.page.total).toBe(2);
  });
});

describe('a page', () => {
  it('is what limit alone and cursor alone switch to [LIST-006, LIST-007, EASY-004, PAGE-010]', async () => {
    const space = await client.workspace();
    for (let index = 0; index < 101; index += 1) await space.add('/', `n${index}`);
    const limited = (await space.get('/?limit=3')).json;
    expect(Object.keys(limited)).toEqual(['items', 'next_cursor', 'total']);
    expect(limited.items).toHaveLength(3);
    expect(limited.total).toBeNull();
    const { json } = await space.get(`/?cursor=${limited.next_cursor}`);
    expect(json.items).toHaveLength(98);
    expect(json.items[0].name).toBe('n3');
    const first = (await space.get('/?cursor=')).json;
    expect(first.items).toHaveLength(100);
    expect(first.next_cursor).not.toBeNull();
  });

  it('leads through every node once, then to null [PAGE-001, PAGE-002]', async () => {
    const space = await client.workspace();
    await space.addAll('/e', '/a', '/d', '/b', '/c');
    const found = await pages(space, '/', 2);
    expect(found.map(namesOf)).toEqual([['e', 'a'], ['d', 'b'], ['c']]);
    const { next_cursor } = (await space.get('/?limit=2')).json;
    expect(next_cursor).toMatch(/^[A-Za-z0-9+/_-]+=*$/);
  });

  it('that is exactly full and last is marked as the last [PAGE-003]', async () => {
    const space = await client.workspace();
    await space.addAll('/a', '/b', '/c', '/d');
    expect((await space.get('/?limit=4')).json.next_cursor).toBeNull();
    expect((await pages(space, '/', 2)).map(namesOf)).toEqual([
      ['a', 'b'],
      ['c', 'd'],
    ]);
  });

  it('clamps its limit, which must be a whole number [LIST-024]', async () => {
    const space = await client.workspace();
    await space.addAll('/a', '/b');
    expect((await space.get('/?limit=0')).json.items).toHaveLength(1);
    expect((await space.get('/?limit=-7')).json.items).toHaveLength(1);
    expect((await space.get('/?limit=99999')).json.items).toHaveLength(2);
    for (const query of ['limit=two', 'limit=1.5', 'level=x', 'level=1.5']) {
      const { json, status } = await space.get(`/?${query}`);
      expect(status, query).toBe(400);
      expect(json.code).toBe('VALIDATION_FAILED');
    }
  });

  it('clamps a limit of 0 on every route with a limit [LIST-027]', async () => {
    const space = await client.workspace();
    await space.addAll('/a', '/b');
    await space.put('/a', { properties: {} });
    const { repository } = client;
    const counts: Record<string, number> = {};
    const count = async (what: string, path: string, list?: string) => {
      const { json, status } = await server.admin('GET', path);
      counts[what] = status === 200 ? (list === undefined ? json : json[list]).length : -status;
    };
    const address = `${repository}/main/${space.name}/a?limit=0`;
    await count('nodes', space.url('/?limit=0'), 'items');
    await count('history', `/api/history/${address}`);
    await count('audit', `/api/audit/${address}`);
    await count(
      'revisions',
      `/api/management/repositories/default/${repository}/revisions?limit=0`,
      'revisions',
    );
    await count('workspaces', `/api/workspaces/${repository}?limit=0`, 'items');
    for (const limit of [0, -5]) {
      const { json } = await space.query({ parent: '/', limit });
      expect([json.items.length, json.page.limit, json.page.nextOffset]).toEqual([1, 1, 1]);
      expect((await space.dsl({ limit })).json).toMatchObject({ items: [{}], page: { limit: 1 } });
    }
    expect(counts).toEqual({ nodes: 1, history: 1, audit: 1, revisions: 1, workspaces: 1 });
    const all = (await server.admin('GET', `/api/workspaces/${repository}?limit=100000&offset=-1`)).json;
    expect(all.page).toMatchObject({ limit: 1_000, offset: 0, nextOffset: null });
  });

  it('refuses a cursor that is none [PAGE-004, PAGE-009]', async () => {
    const space = await client.workspace();
    await space.addAll('/a', '/b', '/c');
    const real = Buffer.from((await space.get('/?limit=1')).json.next_cursor as string, 'base64url');
    const older = Buffer.from(JSON.stringify({ last_key: 'a0', revision: '1-0' })).toString('base64url');
    const cut = real.subarray(0, real.length - 2).toString('base64url');
    for (const cursor of ['garbage', 'Z2FyYmFnZQ', older, cut, '%00', 'a'.repeat(3000)]) {
      const { json, status } = await space.get(`/?limit=1&cursor=${cursor}`);
      expect(status, cursor).toBe(400);
      expect(json.code).toBe('INVALID_CURSOR');
      expect(json.message.length).toBeGreaterThan(20);
    }
  });

  it('refuses the cursor of another listing [PAGE-005, PAGE-006, PAGE-007, PAGE-008, EASY-006]', async () => {
    const space = await client.workspace();
    const other = await client.workspace();
    const repository = new ContentClient(server, await server.createRepository());
    const elsewhere = await repository.workspace();
    const before = await client.headRevision();
    for (const place of [space, other, elsewhere]) await place.addAll('/a', '/b', '/a/c', '/a/d');
    const revision = await client.headRevision();
    const { next_cursor } = (await space.get('/?limit=1')).json;
    const past = (await space.get(`/?limit=1&revision=${revision}`)).json.next_cursor;
    const refused = [
      await space.get(`/a/?limit=1&cursor=${next_cursor}`),
      await other.get(`/?limit=1&cursor=${next_cursor}`),
      await elsewhere.get(`/?limit=1&cursor=${next_cursor}`),
      await space.getAt(revision, `/?limit=1&cursor=${next_cursor}`),
      await space.get(`/?limit=1&cursor=${past}`),
      await space.getAt(before, `/?limit=1&cursor=${past}`),
    ];
    for (const { json, status } of refused) {
      expect(status).toBe(400);
      expect(json.code).toBe('INVALID_CURSOR');
    }
    expect(namesOf((await space.get(`/?limit=1&cursor=${next_cursor}`)).json.items)).toEqual(['b']);
    expect(namesOf((await space.getAt(revision, `/?limit=1&cursor=${past}`)).json.items)).toEqual(['b']);
  });

  it('neither repeats nor drops others when nodes are added and removed between pages [PAGE-011]', async () => {
    const space = await client.workspace();
    await space.addAll('/a', '/b', '/c', '/d', '/e');
    const first = (await space.get('/?limit=2')).json;
    await space.delete('/b');
    await space.delete('/c');
    await space.add('/', 'f');
    await space.add('/', 'g');
    await space.done('/g', 'reorder', { targetPath: '/a', movePosition: 'before' });
    const rest = (await space.get(`/?limit=10&cursor=${first.next_cursor}`)).json;
    expect(namesOf(first.items)).toEqual(['a', 'b']);
    expect(namesOf(rest.items)).toEqual(['d', 'e', 'f']);
  });
});

describe('a tree', () => {
  let space: Space;
  const chain = '/one/two/three/four/five/six';

  beforeAll(async () => {
    space = await client.workspace();
    await space.addAll('/top', '/top/b', '/top/a', '/top/b/y', '/top/b/x', '/top/b/y/deep', '/top/a/z');
    const paths = chain
      .slice(1)
      .split('/')
      .map((_, index, all) => `/${all.slice(0, index + 1).join('/')}`);
    await space.addAll(...paths);
  });

  it('is a map by name down to the level [LIST-001, LIST-005, LIST-022, EASY-005]', async () => {
    const { json } = await space.get('/top?level=2');
    expect(Object.keys(json)).toEqual(['b', 'a']);
    expect(Object.keys(json.b)).toEqual(['node', 'children']);
    expect(outline(json)).toEqual({ b: { y: {}, x: {} }, a: { z: {} } });
    expect((await space.get('/top/?level=2')).json).toEqual(json);
    expect(json.b.node).toEqual((await space.get('/top/b')).json);
  });

  it('is the whole subtree with deep=true [LIST-002]', async () => {
    expect(outline((await space.get('/top?deep=true')).json)).toEqual({
      b: { y: { deep: {} }, x: {} },
      a: { z: {} },
    });
  });

  it('is a list in tree order with flatten, also alone [LIST-003, LIST-018, EASY-005]', async () => {
    const { json } = await space.get('/top?flatten=true');
    expect(pathsOf(json)).toEqual(['/top/b', '/top/b/y', '/top/b/y/deep', '/top/b/x', '/top/a', '/top/a/z']);
  });

  it('lets flatten win, and format=flat is the same [LIST-019, LIST-020]', async () => {
    const { json } = await space.get('/top?level=2&flatten=true');
    expect(pathsOf(json)).toEqual(['/top/b', '/top/b/y', '/top/b/x', '/top/a', '/top/a/z']);
    for (const query of ['level=2&flatten=true&format=map', 'level=2&format=flat']) {
      expect((await space.get(`/top?${query}`)).json).toEqual(json);
    }
  });

  it('is an array with nested children with format=array [LIST-004]', async () => {
    const { json } = await space.get('/top?level=2&format=array');
    expect(namesOf(json)).toEqual(['b', 'a']);
    const [b, a] = json as readonly Nested[];
    expect(namesOf(b?.children as Nested[])).toEqual(['y', 'x']);
    expect(namesOf(a?.children as Nested[])).toEqual(['z']);
  });

  it('of a chain: five below the first, two below the children [LIST-017]', async () => {
    expect((await space.get('/one?level=10&flatten=true')).json).toHaveLength(5);
    const tree = (await space.get('/one?level=3')).json;
    expect(outline(tree)).toEqual({ two: { three: { four: {} } } });
  });

  it('stops at level 10, for any requested depth, and at 100 with deep [LIST-021, LIST-025]', async () => {
    const tall = await client.workspace();
    let path = '';
    for (let level = 1; level <= 102; level += 1) {
      await tall.add(path === '' ? '/' : path, `l${level}`);
      path += `/l${level}`;
    }
    const depthsOf = (nodes: readonly Named[]) => nodes.map(({ path }) => path.split('/').length - 1);
    expect(Math.max(...depthsOf((await tall.get('/?level=50&flatten=true')).json))).toBe(10);
    expect(Math.max(...depthsOf((await tall.get('/?deep=true&flatten=true')).json))).toBe(100);
    expect(Math.max(...depthsOf((await tall.get('/?flatten=true')).json))).toBe(100);
  });

  it('deletes and moves without a depth cap [LIST-026]', async () => {
    const tall = await client.workspace();
    let path = '';
    for (let level = 1; level <= 130; level += 1) {
      await tall.add(path === '' ? '/' : path, 'd');
      path += '/d';
    }
    await tall.done('/d', 'move', { targetPath: '/m' });
    expect((await tall.get(`/m${path.slice(2)}`)).status).toBe(200);
    await tall.delete('/m');
    expect((await tall.get(`/m${path.slice(2)}`)).status).toBe(404);
    expect(await tall.names()).toEqual([]);
  });

  it('refuses a format it does not know [LIST-004]', async () => {
    expect((await space.get('/top?level=2&format=xml')).status).toBe(400);
  });
});

describe('a read with other parameters', () => {
  it('resolves a locale and a revision [LIST-008, LIST-009]', async () => {
    const space = await client.workspace();
    await space.add('/', 'page', { title: 'Hello' }, 'svc:Page');
    const before = await client.headRevision();
    await space.done('/page', 'translate', { locale: 'de', translations: { '/title': 'Hallo' } });
    expect((await space.get('/page?lang=de')).json.properties.title).toBe('Hallo');
    expect((await space.get('/page')).json.properties.title).toBe('Hello');
    await space.put('/page', { properties: { title: 'Later' } });
    expect((await space.get(`/page?revision=${before}`)).json.properties.title).toBe('Hello');
  });
});
