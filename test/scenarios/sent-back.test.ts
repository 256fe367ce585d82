import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ContentClient } from '#test/support/content-client.ts';
import { startServer, type TestServer } from '#test/support/server.ts';

let server: TestServer;
let client: ContentClient;

beforeAll(async () => {
  server = await startServer();
  client = await ContentClient.on(server);
});

afterAll(() => server.close());

describe('what was read can be written back', () => {
  it('as node, however it was read [NODE-068]', async () => {
    const space = await client.workspace();
    const german = { de: { title: 'T' } };
    await server.admin('PATCH', `/api/repositories/${client.repository}/translation-config`, {
      supported_languages: ['en', 'de'],
    });
    await space.add('/', 'a', { title: 't' }, 'svc:Page', { owner_id: 'o', translations: german });
    await space.add('/a', 'b', { title: 'u' }, 'svc:Page');
    await space.done('/a', 'add-relation', { targetWorkspace: space.name, targetPath: '/a/b' });
    await space.done('/a', 'publish');
    await space.done('/a', 'unpublish');
    await space.done('/a', 'create_version');
    const listed = async (path: string) => (await space.get(path)).json;
    const reads = {
      alone: () => space.node('/a'),
      listed: async () => (await listed('/'))[0],
      paged: async () => (await listed('/?limit=1')).items[0],
      flat: async () => (await listed('/?flatten=true'))[0],
      asTree: async () => (await listed('/?level=2&format=array'))[0],
      asMap: async () => (await listed('/?level=2')).a.node,
      queried: async () => (await space.query({ path: '/a' })).json.items[0],
      found: async () => (await space.dsl({ name: { eq: 'a' } })).json.items[0],
      past: async () => (await space.getAt(await client.headRevision(), '/a')).json,
    };
    for (const [how, read] of Object.entries(reads)) {
      const node = await read();
      const { json, status } = await space.put('/a', node);
      expect([how, status, json.message]).toEqual([how, 200, undefined]);
      const { version, updated_at, updated_by, children, ...rest } = node;
      expect(json).toMatchObject(rest);
    }
    const { version, ...kept } = (await listed('/a/svc:version/1')).node_data;
    expect((await space.put('/a', kept)).status).toBe(200);
  });

  it('as new node, and as one of a commit [NODE-069]', async () => {
    const space = await client.workspace();
    await space.add('/', 'a', { title: 't' }, 'svc:Page');
    const { id, ...read } = await space.node('/a');
    const copy = await space.post('/', { ...read, name: 'copy' });
    expect([copy.status, copy.json.properties.title]).toEqual([201, 't']);
    const wrapped = await space.post('/a', { node: { ...read, name: 'below' } });
    expect([wrapped.status, wrapped.json.node.path]).toEqual([201, '/a/below']);
    const operation = { type: 'create', node: { ...read, name: 'committed' }, parent_path: '/' };
    await space.done('/', 'commit', { message: 'm', operations: [operation] });
    expect(await space.names()).toEqual(['a', 'copy', 'committed']);
  });

  it('as lock of a write [LOCK-022]', async () => {
    const space = await client.workspace();
    const locks = `/api/${client.repository}/main/locks`;
    const lock = (await server.admin('POST', `${locks}/acquire`, { key: 'write', ttl_ms: 60_000 })).json;
    expect((await space.post('/', { name: 'a', node_type: 'svc:Folder', lock })).status).toBe(201);
    expect((await space.command('/a', 'rename', { newName: 'b', lock })).status).toBe(200);
  });

  it('as node type, mixin, archetype and element type [NTYPE-047]', async () => {
    const schema = `/api/management/${client.repository}/main`;
    await client.defineType({
      name: 'site:Full',
      extends: 'svc:Page',
      strict: true,
      properties: [
        { name: 'a', type: 'Object', structure: { b: { type: 'String', constraints: { maxLength: 3 } } } },
        { name: 'c', type: 'Array', items: { type: 'String' }, index: ['Property'], meta: { label: 'C' } },
      ],
      initial_structure: { children: [{ name: 'x', node_type: 'svc:Folder' }] },
      compound_indexes: [{ name: 'i', columns: [{ property: 'c' }] }],
    });
    await client.schema('POST', 'nodetypes/site:Full/publish', {});
    const fields = [{ $type: 'OptionsField', name: 'o', options: ['a'], render_as: 'Radio' }];
    await client.schema('POST', 'mixins', { node_type: { name: 'site:Mixin' } });
    await client.schema('POST', 'archetypes', { archetype: { name: 'site:Card', fields } });
    await client.schema('POST', 'elementtypes', { element_type: { name: 'site:Quote', fields } });
    for (const [family, wrapper] of [
      ['nodetypes', 'node_type'],
      ['mixins', 'node_type'],
      ['archetypes', 'archetype'],
      ['elementtypes', 'element_type'],
    ] as const) {
      const { json } = await server.admin('GET', `${schema}/${family}`);
      expect(json.length).toBeGreaterThan(0);
      for (const read of json) {
        const place = `${schema}/${family}/${encodeURIComponent(read.name)}`;
        const written = await server.admin('PUT', place, { [wrapper]: read });
        expect([place, written.status, written.text]).toEqual([place, 200, expect.any(String)]);
        const { version, updated_at, previous_version, ...rest } = read;
        expect(written.json).toMatchObject({ ...rest, version: version + 1 });
      }
    }
  });

  it('as workspace, its settings and the languages of a repository [WSP-024, TRANS-027]', async () => {
    const base = `/api/workspaces/${client.repository}`;
    const { json } = await server.admin('GET', base);
    for (const workspace of json.items) {
      const place = `${base}/${encodeURIComponent(workspace.name)}`;
      expect((await server.admin('PUT', place, workspace)).status).toBe(204);
      const { updated_at, ...rest } = workspace;
      expect((await server.admin('GET', place)).json).toMatchObject(rest);
      expect((await server.admin('PUT', `${place}/config`, workspace.config)).status).toBe(204);
      expect((await server.admin('GET', `${place}/config`)).json).toEqual(workspace.config);
    }
    const languages = `/api/repositories/${client.repository}/translation-config`;
    const read = (await server.admin('GET', languages)).json;
    expect((await server.admin('PATCH', languages, read)).status).toBe(204);
    expect((await server.admin('GET', languages)).json).toEqual(read);
  });

  it('as repository, with what is edited in its `config` or beside it [REPO-023]', async () => {
    const path = `/api/repositories/${client.repository}`;
    const read = (await server.admin('GET', path)).json;
    expect((await server.admin('PUT', path, read)).status).toBe(204);
    expect((await server.admin('GET', path)).json).toEqual(read);
    const config = { ...read.config, description: 'within' };
    expect((await server.admin('PUT', path, { ...read, config })).status).toBe(204);
    expect((await server.admin('GET', path)).json.config.description).toBe('within');
    expect((await server.admin('PUT', path, { ...read, config, description: 'beside' })).status).toBe(204);
    expect((await server.admin('GET', path)).json.config.description).toBe('beside');
  });

  it('as repository, but not with another name, default language or fallback chain [REPO-023]', async () => {
    const path = `/api/repositories/${client.repository}`;
    const read = (await server.admin('GET', path)).json;
    for (const [body, field] of [
      [{ ...read, repo_id: 'other' }, 'repo_id'],
      [{ ...read, config: { ...read.config, default_language: 'de' } }, 'config.default_language'],
      [
        { ...read, config: { ...read.config, locale_fallback_chains: { en: [] } } },
        'config.locale_fallback_chains',
      ],
      [{ ...read, config: { ...read.config, languages: [] } }, 'config.languages'],
    ] as const) {
      const { json, status } = await server.admin('PUT', path, body);
      expect([field, status, json.field]).toEqual([field, 400, field]);
    }
    expect((await server.admin('GET', path)).json).toEqual(read);
  });

  it('as branch and as its head [BR-043]', async () => {
    await client.branch('gone');
    await client.branch('written', { upstream_branch: 'gone', description: 'd', protected: false });
    await client.managed('DELETE', '/branches/gone');
    for (const read of (await client.managed('GET', '/branches')).json) {
      const place = `/branches/${read.name}`;
      const { json, status } = await client.managed('PATCH', place, read);
      expect([read.name, status, json]).toEqual([read.name, 200, read]);
      const head = (await client.managed('GET', `${place}/head`)).json;
      expect((await client.managed('PUT', `${place}/head`, head)).status).toBe(204);
    }
  });

  it('as tag under another name, as lock and as resolution of a conflict [TAG-015, LOCK-022, MERGE-033]', async () => {
    const space = await client.workspace();
    await space.add('/', 'a', { description: 'base' });
    await client.branch('other', { upstream_branch: 'main' });
    await space.put('/a', { properties: { description: 'ours' } });
    await space.on('other').put('/a', { properties: { description: 'theirs' } });
    const { conflicts } = (await client.managed('GET', '/branches/main/conflicts/other')).json;
    const resolutions = conflicts.map((conflict: object) => ({ ...conflict, resolution: 'theirs' }));
    const merged = await client.managed('POST', '/branches/main/resolve-merge', {
      source_branch: 'other',
      conflicts: resolutions,
    });
    expect([merged.status, merged.json.success]).toEqual([200, true]);

    const tag = { name: 'first', revision: await client.headRevision() };
    const made = (await client.managed('POST', '/tags', tag)).json;
    const again = await client.managed('POST', '/tags', { ...made, name: 'second' });
    expect([again.status, again.json.revision]).toEqual([201, tag.revision]);

    const locks = `/api/${client.repository}/main/locks`;
    const grant = (await server.admin('POST', `${locks}/acquire`, { key: 'k', ttl_ms: 60_000 })).json;
    const renewed = await server.admin('POST', `${locks}/renew`, { ...grant, ttl_ms: 60_000 });
    expect([renewed.status, renewed.json]).toEqual([200, { renewed: true }]);
    const released = await server.admin('POST', `${locks}/release`, grant);
    expect([released.status, released.json]).toEqual([200, { released: true }]);
  });
});
