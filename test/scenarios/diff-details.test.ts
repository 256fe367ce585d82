import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ContentClient, expectStatus, revisionOf, type Space } from '#test/support/content-client.ts';
import { startServer, type TestServer } from '#test/support/server.ts';

let server: TestServer;
let client: ContentClient;
let main: Space;

beforeAll(async () => {
  server = await startServer();
  client = await ContentClient.on(server);
  main = await client.workspace();
  await client.defineType({ name: 'diff:Article', properties: [{ name: 'title', type: 'String' }] });
});

afterAll(() => server.close());

const diff = async (branch: string, query = '?detail=properties') =>
  expectStatus(await client.managed('GET', `/branches/${branch}/diff/main${query}`), 200).json;

const article = (name: string, properties: object) => ({ name, node_type: 'diff:Article', properties });

describe('a difference with its details', () => {
  it('reports for each node what changed, with the values before and after [BR-044]', async () => {
    const hero = { uuid: '1', image: 'garden.jpg', alt: 'A garden' };
    const made = await main.post('', article('gardens', { title: 'Gardens', words: 1100, sections: [hero] }));
    const { id } = expectStatus(made, 201).json;
    expectStatus(await main.post('', article('ponds', { title: 'Ponds' })), 201);
    await client.branch('drafts', { upstream_branch: 'main' });
    const drafts = main.on('drafts');
    const sections = [
      { ...hero, alt: 'A garden by night' },
      { uuid: '2', text: 'More' },
    ];
    expectStatus(await drafts.put('/gardens', { properties: { title: 'Gardens by night', sections } }), 200);
    await drafts.done('/gardens', 'translate', { locale: 'de', translations: { '/title': 'Gärten' } });
    await drafts.done('/gardens', 'add-relation', {
      targetWorkspace: main.name,
      targetPath: '/ponds',
      relationType: 'see',
      weight: 2,
    });
    await drafts.done('/gardens', 'rename', { newName: 'night' });
    await drafts.done('/night', 'publish', {});
    const found = await diff('drafts');
    expect(found.truncated).toBe(false);
    expect(found.modified).toEqual([
      {
        node_id: id,
        workspace: main.name,
        path: '/night',
        operation: 'modified',
        changes: [
          { path: '/name', before: 'gardens', after: 'night' },
          { path: '/path', before: '/gardens', after: '/night' },
          { path: '/published_at', before: null, after: expect.any(String) },
          { path: '/published_by', before: null, after: expect.any(String) },
          { path: '/properties/title', before: 'Gardens', after: 'Gardens by night' },
          { path: '/properties/words', before: 1100 },
          { path: '/properties/sections/0/alt', before: 'A garden', after: 'A garden by night' },
          { path: '/properties/sections/1', after: { uuid: '2', text: 'More' } },
          { path: '/translations/de/title', after: 'Gärten' },
          {
            path: '/relations',
            after: {
              target: expect.any(String),
              workspace: main.name,
              target_node_type: 'diff:Article',
              relation_type: 'see',
              weight: 2,
            },
          },
        ],
      },
    ]);
  });

  it('reports what changed in definitions [BR-044]', async () => {
    await client.branch('types', { upstream_branch: 'main' });
    const path = `/api/management/${client.repository}/types/nodetypes`;
    const properties = [{ name: 'title', type: 'String', required: true }];
    const body = { node_type: { name: 'diff:Article', strict: true, properties } };
    expectStatus(await server.admin('POST', path, body), 200, 201);
    const { definitions } = await diff('types');
    expect(definitions).toMatchObject([{ name: 'diff:Article', operation: 'modified' }]);
    expect(definitions[0].changes).toContainEqual({ path: '/strict', before: null, after: true });
    expect(definitions[0].changes).toContainEqual({ path: '/properties/0/required', after: true });
  });

  it('omits large values, and reports their size [BR-046]', async () => {
    expectStatus(await main.post('', article('long', { title: 'Long', text: 'x'.repeat(100_000) })), 201);
    await client.branch('longer', { upstream_branch: 'main' });
    const longer = main.on('longer');
    expectStatus(await longer.put('/long', { properties: { title: 'Long', text: 'short' } }), 200);
    const found = await diff('longer');
    expect(found.modified[0].changes).toEqual([
      { path: '/properties/text', before_bytes: 100_002, after: 'short' },
    ]);
    expect([found.truncated, found.modified[0].truncated]).toEqual([false, undefined]);
  });

  it('reports for an entry, and for itself, that changes are omitted [BR-047]', async () => {
    const many = (value: string) =>
      Object.fromEntries(Array.from({ length: 150 }, (_, index) => [`p${index}`, value]));
    expectStatus(await main.post('', article('many', many('a'))), 201);
    await client.branch('manyfold', { upstream_branch: 'main' });
    expectStatus(await main.on('manyfold').put('/many', { properties: many('b') }), 200);
    const found = await diff('manyfold');
    expect(found.modified[0].changes).toHaveLength(100);
    expect([found.truncated, found.modified[0].truncated]).toEqual([true, true]);
  });

  it('takes tags in the places of branches [BR-035]', async () => {
    await client.branch('tagged', { upstream_branch: 'main' });
    const tagged = main.on('tagged');
    const add = await tagged.post('', article('ferns', { title: 'Ferns' }));
    expectStatus(await client.managed('POST', '/tags', { name: 'v1', revision: revisionOf(add) }), 201);
    expectStatus(await tagged.put('/ferns', { properties: { title: 'Ferns at last' } }), 200);
    const path = '/branches/tagged/diff/v1?detail=properties';
    const found = expectStatus(await client.managed('GET', path), 200).json;
    expect(found.modified[0].changes).toEqual([
      { path: '/properties/title', before: 'Ferns', after: 'Ferns at last' },
    ]);
  });

  it('answers without the parameter what it always answered [BR-045]', async () => {
    const plain = await client.managed('GET', '/branches/drafts/diff/main');
    const { added, common_ancestor, definitions, deleted, modified } = plain.json;
    expect(plain.text).toBe(JSON.stringify({ common_ancestor, added, modified, deleted, definitions }));
    for (const entry of [...added, ...modified, ...deleted])
      expect(Object.keys(entry)).toEqual(['node_id', 'workspace', 'path', 'operation']);
    for (const entry of definitions)
      expect(Object.keys(entry)).toEqual(['node_id', 'workspace', 'path', 'operation', 'kind', 'name']);
  });

  it('is refused with 400 for other details, and 401 without a login [BR-049]', async () => {
    for (const query of ['?detail=', '?detail=all', '?detail=Properties', '?details=properties']) {
      const { json, status } = await client.managed('GET', `/branches/drafts/diff/main${query}`);
      expect([status, json.code], query).toEqual([400, 'VALIDATION_FAILED']);
    }
    const refused = await client.managed('GET', '/branches/drafts/compare/main?detail=properties');
    expect(refused.status).toBe(400);
    const base = `/api/management/repositories/default/${client.repository}/branches`;
    expect((await server.request('GET', `${base}/drafts/diff/main?detail=properties`)).status).toBe(401);
  });
});
