import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ContentClient, expectStatus, revisionOf, type Space } from '#test/support/content-client.ts';
import { startServer, type TestServer } from '#test/support/server.ts';

let server: TestServer;
let client: ContentClient;

beforeAll(async () => {
  server = await startServer();
  client = await ContentClient.on(server);
  const config = {
    supported_languages: ['en', 'de', 'fr', 'de-CH', 'it', 'zh-HANS', 'es-419'],
    locale_fallback_chains: { it: ['fr', 'de'] },
  };
  expectStatus(
    await server.admin('PATCH', `/api/repositories/${client.repository}/translation-config`, config),
    204,
  );
});

afterAll(() => server.close());

async function withPage(properties: object = { title: 'Title', content: 'Content' }): Promise<Space> {
  const space = await client.workspace();
  await space.add('/', 'p', properties, 'svc:Page');
  return space;
}

const translate = (space: Space, locale: string, translations: object, path = '/p') =>
  space.command(path, 'translate', { locale, translations });

const titleIn = async (space: Space, lang: string) =>
  (await space.get(`/p?lang=${lang}`)).json.properties.title;

describe('translate', () => {
  it('answers what was written, which reads with the locale show [TRANS-002, TRANS-003]', async () => {
    const space = await withPage();
    const { id } = await space.node('/p');
    const answer = await translate(space, 'de', { '/title': 'Titel' });
    expect(answer.status).toBe(200);
    expect(answer.json).toEqual({
      node_id: id,
      locale: 'de',
      revision: revisionOf(answer),
      timestamp: expect.stringMatching(/^\d{4}-.*Z$/),
    });
    expect((await space.get('/p?lang=de')).json.properties).toMatchObject({
      title: 'Titel',
      content: 'Content',
    });
    expect((await space.node('/p')).properties.title).toBe('Title');
    expect((await space.get('/p@title?lang=de')).json).toBe('Titel');
  });

  it('resolves the path of a reference, as any write does [TRANS-030]', async () => {
    const space = await withPage();
    const { id } = await space.add('/', 'target', {});
    const link = { 'svc:ref': '/target' };
    const resolved = { 'svc:ref': id, 'svc:path': '/target' };
    await translate(space, 'de', { '/link': link, '/list': [link] });
    expect((await space.node('/p')).translations.de).toEqual({ link: resolved, list: [resolved] });
    const { properties } = await space.node('/p');
    expectStatus(await space.put('/p', { properties, translations: { fr: { link } } }), 200);
    expect((await space.node('/p')).translations).toEqual({ fr: { link: resolved } });
    await translate(space, 'fr', { '/link': { 'svc:ref': '/nowhere' } });
    expect((await space.node('/p')).translations).toEqual({ fr: { link: { 'svc:ref': '/nowhere' } } });
  });

  it('refuses a part of a reference, which is translated as a whole [TRANS-032]', async () => {
    const space = await withPage();
    const { id } = await space.add('/', 'target', {});
    const { properties } = await space.node('/p');
    const link = { 'svc:ref': '/target' };
    expectStatus(await space.put('/p', { properties: { ...properties, link } }), 200);
    for (const [pointer, value] of [
      ['/link/svc:ref', '/other'],
      ['/link/svc:path', '/other'],
      ['/link/svc:workspace', 'default'],
      ['/link/svc:node', { name: 'other' }],
    ] as const) {
      const body = { locale: 'de', translations: { [pointer]: value } };
      const { json, status } = await space.post('/p/svc:translate', body);
      const message = expect.stringContaining('is a part of a reference');
      expect([status, json]).toEqual([400, expect.objectContaining({ code: 'VALIDATION_FAILED', message })]);
    }
    await translate(space, 'de', { '/link': { 'svc:ref': id } });
    expect((await space.get('/p@link?lang=de')).json).toEqual({ 'svc:ref': id });
  });

  it('refuses two values under two names of one place, or of one locale [TRANS-031]', async () => {
    const space = await withPage();
    const { id, properties } = await space.node('/p');
    const patch = (translations: object) => server.admin('PATCH', space.url('/p'), { translations });
    const operations = (translations: object) => [
      { type: 'create', node: { name: 'q', node_type: 'svc:Page', properties, translations } },
    ];
    for (const [translations, field] of [
      [{ de: { title: 'Titel', '/title': 'Anders' } }, 'translations.de'],
      [{ de: { title: 'Titel' }, DE: { content: 'Inhalt' } }, 'translations.DE'],
      [{ 'de-ch': { title: 'Titel' }, 'de-CH': { title: 'Anders' } }, 'translations.de-CH'],
    ] as const) {
      for (const answer of [
        await space.put('/p', { properties, translations }),
        await patch(translations),
        await space.post('/', { name: 'q', node_type: 'svc:Page', properties, translations }),
        await space.command('/', 'commit', { message: 'two', operations: operations(translations) }),
      ]) {
        expect(answer.json).toMatchObject({ code: 'VALIDATION_FAILED' });
        expect(answer.json.field.endsWith(field), answer.json.field).toBe(true);
      }
    }
    const same = { de: { title: 'Titel', '/title': 'Titel' }, DE: { '/title': 'Titel', title: 'Titel' } };
    expectStatus(await space.put('/p', { properties, translations: same }), 200);
    expectStatus(await patch(same), 200);
    expect(await space.node('/p')).toMatchObject({ id, translations: { de: { title: 'Titel' } } });
  });

  it('shows in the translations of the node [TRANS-001]', async () => {
    const space = await withPage();
    expect((await space.node('/p')).translations).toBeNull();
    await translate(space, 'de', { '/title': 'Titel' });
    expect(Object.keys((await space.node('/p')).translations)).toEqual(['de']);
    expect(JSON.stringify((await space.node('/p')).translations)).toContain('Titel');
  });

  it('replaces the overlay of the locale [TRANS-007]', async () => {
    const space = await withPage();
    await translate(space, 'de', { '/title': 'Titel' });
    await translate(space, 'de', { '/content': 'Inhalt' });
    expect((await space.get('/p?lang=de')).json.properties).toMatchObject({
      title: 'Title',
      content: 'Inhalt',
    });
  });

  it.each([
    ['an empty map', 'de', {}],
    ['a locale that is none', 'german', { '/title': 'x' }],
    ['a locale with a bad region', 'de-Switzerland', { '/title': 'x' }],
    ['a pointer without slash', 'de', { title: 'x' }],
    ['a pointer to nothing', 'de', { '': 'x' }],
    ['a pointer through a text', 'de', { '/title/deeper': 'x' }],
  ])('refuses %s [TRANS-004, TRANS-009]', async (_, locale, translations) => {
    const space = await withPage();
    const { json, status } = await translate(space, locale, translations);
    expect(status).toBe(400);
    expect(json.code).toBe('VALIDATION_FAILED');
    expect((await space.node('/p')).translations).toBeNull();
  });

  it('refuses values that the properties may not have, naming each [TRANS-028]', async () => {
    await client.defineType({
      name: 'site:Strict',
      strict: true,
      properties: [
        { name: 'title', type: 'String' },
        { name: 'n', type: 'Number' },
      ],
    });
    const space = await client.workspace();
    await space.add('/', 'p', { title: 'Title', n: 1 }, 'site:Strict');
    const bad = { '/title': { evil: [1] }, '/n': 'not a number', '/undeclared': 1 };
    const { json, status } = await translate(space, 'de', bad);
    expect(status).toBe(400);
    expect(json).toMatchObject({ code: 'VALIDATION_FAILED', field: 'translations' });
    expect(json.details.errors).toHaveLength(3);
    expect((await space.node('/p')).translations).toBeNull();
    const put = await space.put('/p', { properties: { title: 'T', n: 1 }, translations: { de: { n: 'x' } } });
    expect(put.json).toMatchObject({ code: 'VALIDATION_FAILED', field: 'translations' });
  });

  it('refuses a language that the repository does not support [TRANS-029]', async () => {
    const space = await withPage();
    const { json, status } = await translate(space, 'sw-ke', { '/title': 'x' });
    expect(status).toBe(400);
    expect(json).toMatchObject({ code: 'VALIDATION_FAILED', field: 'locale' });
    expect(json.message).toContain("'sw-KE' is not a supported language");
    expect((await space.command('/p', 'hide-in-locale', { locale: 'sw-KE' })).status).toBe(400);
    const properties = { title: 'Title' };
    const put = await space.put('/p', { properties, translations: { 'sw-KE': { title: 'x' } } });
    expect(put.status).toBe(400);
  });

  it('names a field that is missing [HTTP-003]', async () => {
    const space = await withPage();
    expect((await space.command('/p', 'translate', { translations: { '/a': 1 } })).text).toContain(
      '`locale`',
    );
    expect((await space.command('/p', 'translate', { locale: 'de' })).text).toContain('`translations`');
  });

  it('normalises the spelling of a locale [TRANS-008]', async () => {
    const space = await withPage();
    expect((await translate(space, 'DE-ch', { '/title': 'Titel' })).json.locale).toBe('de-CH');
    expect(await titleIn(space, 'de-CH')).toBe('Titel');
    expect(await titleIn(space, 'de-ch')).toBe('Titel');
    expect((await translate(space, 'zh-hans', { '/title': 'T' })).json.locale).toBe('zh-HANS');
    expect((await translate(space, 'es-419', { '/title': 'T' })).json.locale).toBe('es-419');
    expect((await space.get('/p?lang=nonsense!')).status).toBe(400);
  });

  it('steps through objects by key and through lists by uuid [TRANS-009, TRANS-010]', async () => {
    const items = [
      { uuid: 'u1', label: 'One' },
      { uuid: 'u2', label: 'Two' },
    ];
    const space = await withPage({ title: 'T', hero: { text: 'Hero' }, items });
    const translations = { '/hero/text': 'Held', '/items/u2/label': 'Zwei' };
    expectStatus(await translate(space, 'de', translations), 200);
    const german = (await space.get('/p?lang=de')).json.properties;
    expect(german.hero).toEqual({ text: 'Held' });
    expect(german.items.map(({ label }: { label: string }) => label)).toEqual(['One', 'Zwei']);
    await space.put('/p', { properties: { title: 'T', hero: { text: 'Hero' }, items: [items[0]] } });
    const later = (await space.get('/p?lang=de')).json.properties;
    expect(later.items).toEqual([items[0]]);
    expect(later.hero).toEqual({ text: 'Held' });
  });

  it.each([
    ...['uuid', 'id', 'element_type', 'slug', 'node_type', 'archetype', 'parent', 'order', 'sort_order'],
    'weight',
  ])('does not translate %s [TRANS-011]', async (key) => {
    const space = await withPage({ title: 'T', [key]: 'x', in: { [key]: 'x' } });
    expect((await translate(space, 'de', { [`/${key}`]: 'y' })).status).toBe(400);
    expect((await translate(space, 'de', { [`/in/${key}`]: 'y' })).status).toBe(400);
  });

  it('is a revision of its own with its message and actor [TRANS-020]', async () => {
    const space = await withPage();
    const answer = await space.done('/p', 'translate', {
      locale: 'de',
      translations: { '/title': 'x' },
      message: 'German',
      actor: 'ann',
    });
    const record = await client.revision(answer.json.revision);
    expect(record).toMatchObject({ message: 'German', actor: 'ann', is_system: false });
  });
});

describe('falling back', () => {
  it('follows the configured chain, the most specific value first [TRANS-012, TRANS-022]', async () => {
    const space = await withPage();
    await translate(space, 'de', { '/title': 'Titel', '/content': 'Inhalt' });
    await translate(space, 'fr', { '/title': 'Titre' });
    const italian = (await space.get('/p?lang=it')).json.properties;
    expect(italian).toMatchObject({ title: 'Titre', content: 'Inhalt' });
    await translate(space, 'it', { '/content': 'Contenuto' });
    expect((await space.get('/p?lang=it')).json.properties).toMatchObject({
      title: 'Titre',
      content: 'Contenuto',
    });
  });

  it('uses the bare language and the default without a chain [TRANS-013, TRANS-014]', async () => {
    const space = await withPage();
    await translate(space, 'de', { '/title': 'Titel' });
    expect(await titleIn(space, 'de-CH')).toBe('Titel');
    await translate(space, 'de-CH', { '/content': 'Inhalt' });
    expect((await space.get('/p?lang=de-CH')).json.properties).toMatchObject({
      title: 'Titel',
      content: 'Inhalt',
    });
    expect(await titleIn(space, 'pt')).toBe('Title');
    expect(await titleIn(space, 'en')).toBe('Title');
  });
});

describe('hiding and removing', () => {
  it('hides a node in a locale until it is shown again [TRANS-005]', async () => {
    const space = await withPage();
    await space.add('/', 'q', { title: 'Q' }, 'svc:Page');
    const { id } = await space.node('/p');
    const hidden = await space.command('/p', 'hide-in-locale', { locale: 'de' });
    expect(hidden.status).toBe(200);
    expect(hidden.json).toMatchObject({ node_id: id, locale: 'de', revision: revisionOf(hidden) });
    const missing = await space.get('/p?lang=de');
    expect(missing.status).toBe(404);
    expect(missing.json.code).toBe('NODE_NOT_FOUND');
    expect(await space.names('/')).toEqual(['p', 'q']);
    expect((await space.get('/?lang=de')).json).toHaveLength(1);
    expect((await space.get('/?lang=fr')).json).toHaveLength(2);
    const shown = await space.command('/p', 'unhide-in-locale', { locale: 'de' });
    expect([shown.status, shown.text]).toEqual([204, '']);
    expect((await space.get('/p?lang=de')).status).toBe(200);
  });

  it('hides it and what is below it from trees and pages [TRANS-016, TRANS-015]', async () => {
    const space = await withPage();
    await space.add('/p', 'below');
    await space.add('/', 'q', { title: 'Q' }, 'svc:Page');
    await space.done('/p', 'hide-in-locale', { locale: 'de' });
    const { json } = await space.get('/?deep=true&lang=de');
    expect(Object.keys(json)).toEqual(['q']);
    expect((await space.get('/?flatten=true&lang=de')).json).toHaveLength(1);
    expect((await space.get('/?limit=5&lang=de')).json.items).toHaveLength(1);
  });

  it('translates lists, pages and trees [TRANS-015]', async () => {
    const space = await withPage();
    await space.add('/p', 'in', { title: 'In' }, 'svc:Page');
    await translate(space, 'de', { '/title': 'Titel' });
    await translate(space, 'de', { '/title': 'Drin' }, '/p/in');
    expect((await space.get('/?lang=de')).json[0].properties.title).toBe('Titel');
    expect((await space.get('/?limit=1&lang=de')).json.items[0].properties.title).toBe('Titel');
    const tree = (await space.get('/?deep=true&lang=de')).json;
    expect(tree.p.node.properties.title).toBe('Titel');
    expect(tree.p.children.in.node.properties.title).toBe('Drin');
  });

  it('takes a translation away again [TRANS-006]', async () => {
    const space = await withPage();
    await translate(space, 'de', { '/title': 'Titel' });
    const answer = await space.command('/p', 'delete-translation', { locale: 'de' });
    expect([answer.status, answer.text]).toEqual([204, '']);
    expect(await titleIn(space, 'de')).toBe('Title');
    expect((await space.node('/p')).translations).toBeNull();
  });
});

describe('knowing what is translated', () => {
  it('lists the locales [TRANS-017]', async () => {
    const space = await withPage();
    const { id } = await space.node('/p');
    await translate(space, 'fr', { '/title': 'Titre' });
    await translate(space, 'de', { '/title': 'Titel' });
    const expected = { node_id: id, node_path: '/p', locales: ['de', 'fr'] };
    for (const answer of [
      await space.get('/p/svc:list-translations'),
      await space.get('/p?command=list-translations'),
      await space.done('/p', 'list-translations'),
    ]) {
      expect({ ...answer.json, locales: [...answer.json.locales].sort() }).toEqual(expected);
    }
  });

  it('distinguishes stale from fresh, and accepts an acknowledgement [TRANS-018, TRANS-019]', async () => {
    const space = await withPage();
    await translate(space, 'de', { '/title': 'Titel', '/content': 'Inhalt' });
    const staleness = async () => (await space.done('/p', 'translation-staleness', { locale: 'de' })).json;
    const before = await staleness();
    expect(Object.keys(before).sort()).toEqual(['fresh', 'missing', 'stale', 'unknown']);
    expect([...before.fresh].sort()).toEqual(['/content', '/title']);
    expect(before.stale).toEqual([]);
    await space.put('/p', { properties: { title: 'Other', content: 'Content', extra: 'New' } });
    const after = await staleness();
    expect(after.fresh).toEqual(['/content']);
    expect(after.stale).toEqual([
      {
        pointer: '/title',
        original_hash_at_translation: expect.stringMatching(/^[0-9a-f]{64}$/),
        current_original_hash: expect.stringMatching(/^[0-9a-f]{64}$/),
        translated_at: expect.stringMatching(/Z$/),
      },
    ]);
    expect(after.missing.map(({ pointer }: { pointer: string }) => pointer)).toContain('/extra');
    const body = { locale: 'de', pointer: '/title' };
    const acknowledged = await space.done('/p', 'acknowledge-staleness', body);
    expect(acknowledged.json).toEqual({ acknowledged: true, ...body });
    const settled = await staleness();
    expect([...settled.fresh].sort()).toEqual(['/content', '/title']);
    expect(settled.stale).toEqual([]);
  });
});
