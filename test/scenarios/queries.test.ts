import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ContentClient, expectStatus, type Space } from '#test/support/content-client.ts';
import { startServer, type TestServer } from '#test/support/server.ts';

let server: TestServer;
let client: ContentClient;
let space: Space;

beforeAll(async () => {
  server = await startServer();
  client = await ContentClient.on(server);
  space = await client.workspace();
  await space.addAll('/b', '/a', '/a/c', '/a/b', '/a/a');
  await space.add('/', 'page', { title: 'P' }, 'svc:Page');
  await space.add('/a/b', 'page', { title: 'Q' }, 'svc:Page');
});

afterAll(() => server.close());

interface Item {
  readonly path: string;
  readonly name: string;
}

async function run(body: object): Promise<{ items: string[]; page: Record<string, unknown> }> {
  const { json } = expectStatus(await space.query(body), 200);
  return { items: json.items.map(({ path }: Item) => path), page: json.page };
}

describe('the JSON query', () => {
  it('selects by type, sorted by path [QUERY-001, QUERY-005, QUERY-006, CONV-004, EASY-007]', async () => {
    expect(await run({ nodeType: 'svc:Folder' })).toEqual({
      items: ['/a', '/a/a', '/a/b', '/a/c', '/b'],
      page: { total: 5, limit: null, offset: 0, nextOffset: null },
    });
    expect((await run({ node_type: 'svc:Page' })).items).toEqual(['/a/b/page', '/page']);
    expect((await run({ nodeType: 'no:Such' })).items).toEqual([]);
    expect((await run({ nodeType: 'not a name' })).items).toEqual([]);
  });

  it('selects the children of a parent, by id or path [QUERY-002, QUERY-015]', async () => {
    const { id } = await space.node('/a');
    for (const parent of [id, '/a', '/a/']) {
      expect((await run({ parent })).items, parent).toEqual(['/a/a', '/a/b', '/a/c']);
    }
    expect((await run({ parent: '/' })).items).toEqual(['/a', '/b', '/page']);
    expect((await run({ parent: 'no-such' })).items).toEqual([]);
  });

  it('selects the node at a path, whole [QUERY-003, QUERY-011]', async () => {
    const { json } = await space.query({ path: '/a/b' });
    expect(json.items).toEqual([(await space.get('/a/b')).json]);
    expect(json.page).toEqual({ total: 1, limit: null, offset: 0, nextOffset: null });
    expect(await run({ path: '/missing' })).toEqual({
      items: [],
      page: { total: 0, limit: null, offset: 0, nextOffset: null },
    });
  });

  it('lets path win [QUERY-004, EASY-007]', async () => {
    expect((await run({ path: '/b', nodeType: 'svc:Page' })).items).toEqual(['/b']);
    expect((await run({ path: '/b', parent: '/a' })).items).toEqual(['/b']);
  });

  it('answers everything without limit [QUERY-007, EASY-007]', async () => {
    const own = await client.workspace();
    const operations = Array.from({ length: 1_200 }, (_, index) => ({
      type: 'create',
      node: { name: `n${index}`, node_type: 'svc:Folder' },
    }));
    await own.done('/', 'commit', { message: 'many', operations });
    const { json } = await own.query({ nodeType: 'svc:Folder' });
    expect(json.items).toHaveLength(1_200);
    expect(json.page).toMatchObject({ total: 1_200, nextOffset: null });
    const paths = json.items.map(({ path }: Item) => path);
    expect(paths).toEqual([...paths].sort());
  });

  it('walks by offset until nextOffset is null [QUERY-010, QUERY-012]', async () => {
    const seen: string[] = [];
    let offset: number | null = 0;
    while (offset !== null) {
      const { items, page } = await run({ parent: '/a', limit: 1, offset });
      expect(page).toMatchObject({ total: 3, limit: 1, offset });
      seen.push(...items);
      offset = page.nextOffset as number | null;
    }
    expect(seen).toEqual(['/a/a', '/a/b', '/a/c']);
  });

  it('returns null on a last page that is exactly full, and past the end [QUERY-008, EASY-008]', async () => {
    const full = (await space.query({ parent: '/a', limit: 3 })).json.page;
    expect(full).toEqual({ total: 3, limit: 3, offset: 0, nextOffset: null });
    const last = (await space.query({ parent: '/a', limit: 2, offset: 1 })).json.page;
    expect(Object.hasOwn(last, 'nextOffset')).toBe(true);
    expect(last.nextOffset).toBeNull();
    expect(await run({ parent: '/a', limit: 2, offset: 9 })).toEqual({
      items: [],
      page: { total: 3, limit: 2, offset: 9, nextOffset: null },
    });
  });

  it('needs a selector [QUERY-009, HTTP-002]', async () => {
    for (const body of [{}, { limit: 5 }, { path: null }]) {
      const { json, status } = await space.query(body);
      expect(status).toBe(400);
      expect(json.error).toBe('BadRequest');
      expect(typeof json.message).toBe('string');
      expect(json).not.toHaveProperty('code');
    }
    expect((await space.query({ nodeType: 'svc:Page', parent: '/a' })).status).toBe(400);
  });

  it('needs a workspace that is there [QUERY-013]', async () => {
    const url = `/api/repository/${client.repository}/main/head/nowhere/query`;
    const { json, status } = await server.admin('POST', url, { nodeType: 'svc:Page' });
    expect(status).toBe(404);
    expect(typeof json.message).toBe('string');
  });

  it.each([
    [{ nodeType: 7 }],
    [{ path: ['/a'] }],
    [{ parent: {} }],
    [{ parent: '/a', limit: 'ten' }],
    [{ parent: '/a', limit: 1.5 }],
    [{ parent: '/a', offset: '1' }],
    [[]],
    ['text'],
  ])('refuses %j [QUERY-014]', async (body) => {
    const { status } = await space.query(body as object);
    expect([400, 422]).toContain(status);
  });
});

describe('the DSL query', () => {
  let fruit: Space;

  beforeAll(async () => {
    fruit = await client.workspace();
    await fruit.add(
      '/',
      'cherry',
      { title: 'Cherry', weight: 8, tags: ['red', 'small'], sweet: true },
      'svc:Page',
    );
    await fruit.add('/', 'apple', { title: 'Apple', weight: 150, tags: ['red', 'green'] }, 'svc:Page');
    await fruit.add('/', 'banana', { title: 'Banana', weight: 120, info: { origin: 'Ecuador' } }, 'svc:Page');
    await fruit.add('/', 'basket', { description: 'holds fruit' });
    await fruit.add('/basket', 'apricot', { title: 'Apricot', weight: 35 }, 'svc:Page');
  });

  async function names(body: object): Promise<string[]> {
    const { json } = expectStatus(await fruit.dsl(body), 200);
    return json.items.map(({ name }: Item) => name);
  }

  it.each([
    [{ name: { eq: 'apple' } }, ['apple']],
    [{ name: { ne: 'apple' } }, ['banana', 'basket', 'cherry']],
    [{ name: { like: 'an' } }, ['banana']],
    [{ name: { in: ['apple', 'cherry', 'none'] } }, ['apple', 'cherry']],
    [{ 'properties.sweet': { exists: true } }, ['cherry']],
    [{ 'properties.sweet': { exists: false } }, ['apple', 'banana', 'basket']],
    [{ or: [{ name: { eq: 'apple' } }, { name: { eq: 'cherry' } }] }, ['apple', 'cherry']],
    [{ not: { node_type: { eq: 'svc:Page' } } }, ['basket']],
    [{ and: [{ name: { like: 'a' } }, { node_type: { eq: 'svc:Page' } }] }, ['apple', 'banana']],
    [
      {
        and: [
          { or: [{ name: { eq: 'apple' } }, { name: { eq: 'banana' } }] },
          { not: { or: [{ 'properties.weight': { lt: 130 } }] } },
        ],
      },
      ['apple'],
    ],
  ])('%j gives %j [DSL-001, CONV-004]', async (filter, expected) => {
    expect((await names({ ...filter, order_by: { name: 'asc' } })).sort()).toEqual(expected);
  });

  it('orders and pages [DSL-001, DSL-005, DSL-014]', async () => {
    expect(await names({ order_by: { name: 'asc' } })).toEqual(['apple', 'banana', 'basket', 'cherry']);
    expect(await names({ order_by: { name: 'desc' } })).toEqual(['cherry', 'basket', 'banana', 'apple']);
    expect(await names({ order_by: { name: 'asc' }, limit: 2 })).toEqual(['apple', 'banana']);
    expect(await names({ order_by: { name: 'asc' }, limit: 2, offset: 1 })).toEqual(['banana', 'basket']);
    expect(await names({ order_by: { name: 'desc' }, offset: 3 })).toEqual(['apple']);
    const weighed = { 'properties.weight': { exists: true } };
    const byWeight = { ...weighed, order_by: { 'properties.weight': 'desc' } };
    expect(await names(byWeight)).toEqual(['apple', 'banana', 'cherry']);
  });

  it('answers items and page like the JSON query [DSL-006]', async () => {
    const { json } = await fruit.dsl({ order_by: { name: 'asc' }, limit: 3 });
    expect(json.page).toEqual({ total: 4, limit: 3, offset: 0, nextOffset: 3 });
    expect(json.items[0]).toEqual((await fruit.get('/apple')).json);
    expect((await fruit.dsl({ limit: 4 })).json.page.nextOffset).toBeNull();
  });

  it('looks at root-level nodes only [DSL-007]', async () => {
    expect(await names({ name: { eq: 'apricot' } })).toEqual([]);
    expect(await names({ path: { like: '/basket' } })).toEqual(['basket']);
  });

  it('tests for substrings, minding case [DSL-002, DSL-011]', async () => {
    expect(await names({ 'properties.title': { contains: 'anan' } })).toEqual(['banana']);
    expect(await names({ 'properties.title': { contains: 'ANAN' } })).toEqual([]);
    expect(await names({ 'properties.title': { like: 'App' } })).toEqual(['apple']);
    expect(await names({ 'properties.title': { like: 'app' } })).toEqual([]);
  });

  it('compares columns and properties [DSL-003, DSL-004]', async () => {
    expect((await names({ 'properties.weight': { gt: 120 } })).sort()).toEqual(['apple']);
    expect((await names({ 'properties.weight': { gte: 120 } })).sort()).toEqual(['apple', 'banana']);
    expect(await names({ 'properties.weight': { lt: 120 } })).toEqual(['cherry']);
    expect((await names({ 'properties.weight': { lte: 120 } })).sort()).toEqual(['banana', 'cherry']);
    expect((await names({ name: { gte: 'basket' } })).sort()).toEqual(['basket', 'cherry']);
    expect(await names({ path: { eq: '/apple' } })).toEqual(['apple']);
    expect(await names({ 'properties.info.origin': { eq: 'Ecuador' } })).toEqual(['banana']);
  });

  it('requires all adjacent conditions [DSL-009, DSL-010]', async () => {
    const body = {
      and: [{ node_type: { eq: 'svc:Page' } }],
      or: [{ name: { eq: 'apple' } }, { name: { eq: 'basket' } }],
      not: { name: { eq: 'banana' } },
    };
    expect(await names(body)).toEqual(['apple']);
    expect(await names({ 'properties.weight': { gt: 8, lt: 150 } })).toEqual(['banana']);
    expect(await names({ 'properties.weight': { gt: 8 }, name: { like: 'app' } })).toEqual(['apple']);
  });

  it('takes a missing value as unequal and in nothing [DSL-012]', async () => {
    expect((await names({ 'properties.sweet': { ne: true } })).sort()).toEqual(['apple', 'banana', 'basket']);
    expect(await names({ 'properties.nothing': { in: [null, 1] } })).toEqual([]);
  });

  it('without a filter answers every root node [DSL-013]', async () => {
    expect((await names({})).sort()).toEqual(['apple', 'banana', 'basket', 'cherry']);
    expect((await fruit.post('/query/dsl')).json.page.total).toBe(4);
  });

  it.each([
    [{ name: { equals: 'a' } }, 'equals'],
    [{ xor: [{ name: { eq: 'a' } }] }, 'xor'],
    [{ nofield: { eq: 1 } }, 'nofield'],
    [{ and: { name: { eq: 'a' } } }, 'and'],
    [{ name: { in: 'apple' } }, 'in'],
    [{ order_by: { name: 'upwards' } }, 'order_by'],
  ])('refuses %j naming %s [DSL-008, HTTP-002]', async (body, name) => {
    const { json, status } = await fruit.dsl(body);
    expect(status).toBe(400);
    expect(json.error).toBe('BadRequest');
    expect(json.message).toContain(name);
    expect(json).not.toHaveProperty('code');
  });
});
