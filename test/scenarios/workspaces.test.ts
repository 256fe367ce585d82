import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startServer, type TestServer } from '#test/support/server.ts';

let server: TestServer;

const anything = { allowed_node_types: [], allowed_root_node_types: [] };

beforeAll(async () => {
  server = await startServer();
  await server.createRepository('shop');
});

afterAll(() => server.close());

describe('a new repository', () => {
  it('has the built-in workspaces [BUILT-001, BUILT-002]', async () => {
    const answer = await server.admin('GET', '/api/workspaces/shop');
    const names: string[] = answer.json.items.map((workspace: { name: string }) => workspace.name);
    expect(names).toEqual(
      expect.arrayContaining([
        'default',
        'functions',
        'packages',
        'svc:access_control',
        'svc:system',
        'ai',
        'mcp',
      ]),
    );
  });

  it('has them with their stated types [BUILT-004, BUILT-005]', async () => {
    const { json: ordinary } = await server.admin('GET', '/api/workspaces/shop/default');
    expect([...ordinary.allowed_node_types].sort()).toEqual([
      'svc:Asset',
      'svc:Folder',
      'svc:Node',
      'svc:Page',
      'svc:StaticSiteFolder',
    ]);
    expect([...ordinary.allowed_root_node_types].sort()).toEqual(['svc:Folder', 'svc:StaticSiteFolder']);
    const { json: functions } = await server.admin('GET', '/api/workspaces/shop/functions');
    expect(functions.allowed_node_types).toEqual(
      expect.arrayContaining([
        'svc:Folder',
        'svc:Function',
        'svc:Trigger',
        'svc:Asset',
        'svc:Flow',
        'svc:Node',
      ]),
    );
    expect(functions.allowed_root_node_types).toEqual(['svc:Folder']);
    expect(functions.depends_on).toEqual(['default']);
    const { json: packages } = await server.admin('GET', '/api/workspaces/shop/packages');
    expect([...packages.allowed_root_node_types].sort()).toEqual(['svc:Folder', 'svc:Package']);
    const { json: access } = await server.admin('GET', '/api/workspaces/shop/svc:access_control');
    expect(access.allowed_node_types).toEqual(
      expect.arrayContaining(['svc:User', 'svc:Role', 'svc:Group', 'svc:AclFolder', 'svc:SecurityConfig']),
    );
    expect(access.allowed_root_node_types).not.toContain('svc:Profile');
    const { json: system } = await server.admin('GET', '/api/workspaces/shop/svc:system');
    expect([...system.allowed_root_node_types].sort()).toEqual([
      'svc:AclFolder',
      'svc:AuthConfig',
      'svc:Folder',
      'svc:ProviderConfig',
    ]);
  });
});

describe('PUT of a workspace', () => {
  it('creates it and answers 204; reading it answers what was sent [WSP-003, WSP-007]', async () => {
    const body = {
      description: 'Posts',
      allowed_node_types: ['svc:Folder', 'svc:Page'],
      allowed_root_node_types: ['svc:Folder'],
      depends_on: ['default'],
    };
    const put = await server.admin('PUT', '/api/workspaces/shop/blog', body);
    expect([put.status, put.text]).toEqual([204, '']);
    const { json } = await server.admin('GET', '/api/workspaces/shop/blog');
    expect(json).toMatchObject({ name: 'blog', ...body });
    expect(json.config).toEqual({ default_branch: 'main', node_type_pins: {} });
    for (const stamp of [json.created_at, json.updated_at]) expect(new Date(stamp).toISOString()).toBe(stamp);
  });

  it('replaces an existing one, keeping when it was created [WSP-004]', async () => {
    await server.admin('PUT', '/api/workspaces/shop/replaced', { ...anything, description: 'old' });
    const before = (await server.admin('GET', '/api/workspaces/shop/replaced')).json;
    const put = await server.admin('PUT', '/api/workspaces/shop/replaced', {
      ...anything,
      allowed_node_types: ['svc:Page'],
    });
    expect(put.status).toBe(204);
    const after = (await server.admin('GET', '/api/workspaces/shop/replaced')).json;
    expect(after).toMatchObject({ description: null, allowed_node_types: ['svc:Page'] });
    expect(after.created_at).toBe(before.created_at);
  });

  it('takes the name from the address [WSP-005]', async () => {
    const put = await server.admin('PUT', '/api/workspaces/shop/by-address', {
      ...anything,
      name: 'by-body',
    });
    expect(put.status).toBe(204);
    expect((await server.admin('GET', '/api/workspaces/shop/by-address')).json.name).toBe('by-address');
    expect((await server.admin('GET', '/api/workspaces/shop/by-body')).status).toBe(404);
  });

  it('names a missing list in text [WSP-006]', async () => {
    for (const field of ['allowed_node_types', 'allowed_root_node_types'] as const) {
      const { [field]: _left, ...body } = anything;
      const put = await server.admin('PUT', '/api/workspaces/shop/incomplete', body);
      expect(put.status).toBe(422);
      expect(put.headers['content-type']).toMatch(/^text\/plain/);
      expect(put.text).toContain(field);
    }
    expect((await server.admin('GET', '/api/workspaces/shop/incomplete')).status).toBe(404);
  });

  it('names a field at fault by its place in the body [HTTP-096]', async () => {
    const root = '/api/workspaces/shop';
    const languages = '/api/repositories/shop/translation-config';
    const lists = { allowed_node_types: [], allowed_root_node_types: [] };
    for (const [method, path, body, field] of [
      ['PUT', `${root}/texts`, { ...lists, allowed_node_types: 'x' }, 'allowed_node_types'],
      ['PUT', `${root}/texts`, { ...lists, config: { default_branch: 5 } }, 'config.default_branch'],
      ['PUT', `${root}/default/config`, { node_type_pins: { 'a:B': 5 } }, 'node_type_pins.a:B'],
      ['PATCH', languages, { supported_languages: [5] }, 'supported_languages.0'],
    ] as const) {
      const { status, text } = await server.admin(method, path, body);
      expect([status, text]).toEqual([422, expect.stringMatching(new RegExp(`^${field}: expected`))]);
    }
    const refused = await server.admin('PATCH', languages, { default_language: 'de' });
    expect(refused.json).toMatchObject({ code: 'VALIDATION_FAILED', field: 'default_language' });
    const chains = { locale_fallback_chains: { de: ['de'] } };
    const selfish = await server.admin('PATCH', languages, chains);
    expect(selfish.json).toMatchObject({ field: 'locale_fallback_chains' });
  });

  it('takes capitals and colons in names and refuses other characters [REPO-021]', async () => {
    expect((await server.admin('PUT', '/api/workspaces/shop/My:Blog_2', anything)).status).toBe(204);
    for (const name of ['a.b', 'a%20b', '%C3%A4', '-a']) {
      const put = await server.admin('PUT', `/api/workspaces/shop/${name}`, anything);
      expect([name, put.status, put.json.code]).toEqual([name, 400, 'VALIDATION_FAILED']);
    }
  });

  it('makes the initial structure, answered with its revision [WSP-018]', async () => {
    const put = await server.admin('PUT', '/api/workspaces/shop/structured', {
      ...anything,
      initial_structure: {
        children: [
          { name: 'drafts', node_type: 'svc:Folder', children: [{ name: 'old', node_type: 'svc:Folder' }] },
        ],
      },
    });
    expect(put.status).toBe(204);
    expect(put.headers['x-svc-revision']).toMatch(/^\d+-\d+$/);
    const nested = await server.admin('GET', '/api/repository/shop/main/head/structured/drafts/old');
    expect([nested.status, nested.json.node_type]).toEqual([200, 'svc:Folder']);
  });
});

describe('listing workspaces', () => {
  beforeAll(async () => {
    await server.createRepository('listed');
  });

  it('answers items sorted by name, with a page [WSP-009]', async () => {
    const { status, json } = await server.admin('GET', '/api/workspaces/listed');
    expect(status).toBe(200);
    const names = json.items.map((workspace: { name: string }) => workspace.name);
    expect(names).toEqual([...names].sort());
    expect(json.page).toEqual({ total: names.length, limit: null, offset: 0, nextOffset: null });
  });

  it('pages by limit and offset, the last page ending in null [WSP-010]', async () => {
    const { total } = (await server.admin('GET', '/api/workspaces/listed')).json.page;
    const seen: string[] = [];
    let offset: number | null = 0;
    while (offset !== null) {
      const { json } = await server.admin('GET', `/api/workspaces/listed?limit=2&offset=${offset}`);
      expect(json.page).toMatchObject({ total, limit: 2, offset });
      seen.push(...json.items.map((workspace: { name: string }) => workspace.name));
      expect(json.page.nextOffset).toBe(seen.length < total ? seen.length : null);
      offset = json.page.nextOffset;
    }
    expect(new Set(seen).size).toBe(total);
    const exact = (await server.admin('GET', `/api/workspaces/listed?limit=${total}`)).json;
    expect(exact.page.nextOffset).toBeNull();
    expect((await server.admin('GET', '/api/workspaces/listed?offset=1000')).json).toMatchObject({
      items: [],
      page: { nextOffset: null },
    });
  });

  it('refuses a limit that is none', async () => {
    for (const query of ['limit=x', 'limit=1.5', 'offset=']) {
      const answer = await server.admin('GET', `/api/workspaces/listed?${query}`);
      expect([query, answer.status, answer.json.code]).toEqual([query, 400, 'VALIDATION_FAILED']);
    }
  });
});

describe('the configuration of a workspace', () => {
  it('is answered and replaced [WSP-011, WSP-012]', async () => {
    await server.admin('PUT', '/api/workspaces/shop/configured', anything);
    const path = '/api/workspaces/shop/configured/config';
    expect((await server.admin('GET', path)).json).toEqual({ default_branch: 'main', node_type_pins: {} });
    const config = { default_branch: 'main', node_type_pins: { 'svc:Page': '17-3', 'svc:Folder': null } };
    const put = await server.admin('PUT', path, config);
    expect([put.status, put.text]).toEqual([204, '']);
    expect((await server.admin('GET', path)).json).toEqual(config);
    expect((await server.admin('GET', '/api/workspaces/shop/configured')).json.config).toEqual(config);
  });

  it('takes node_type_refs as an alias of the pins [WSP-019]', async () => {
    await server.admin('PUT', '/api/workspaces/shop/aliased', anything);
    const path = '/api/workspaces/shop/aliased/config';
    await server.admin('PUT', path, { node_type_refs: { 'svc:Page': '17-3' } });
    expect((await server.admin('GET', path)).json.node_type_pins).toEqual({ 'svc:Page': '17-3' });
  });

  it('refuses a pin that is no revision', async () => {
    const path = '/api/workspaces/shop/aliased/config';
    const put = await server.admin('PUT', path, { node_type_pins: { 'svc:Page': 'newest' } });
    expect([put.status, put.json.code]).toEqual([400, 'INVALID_REVISION_NUMBER']);
  });

  it('is 404 for an unknown workspace', async () => {
    const get = await server.admin('GET', '/api/workspaces/shop/nowhere/config');
    expect([get.status, get.json.code]).toEqual([404, 'WORKSPACE_NOT_FOUND']);
    const put = await server.admin('PUT', '/api/workspaces/shop/nowhere/config', {});
    expect([put.status, put.json.code]).toEqual([404, 'WORKSPACE_NOT_FOUND']);
  });
});

describe('what does not exist', () => {
  it('is 404 with the code of the workspace or the repository [WSP-008, WSP-022]', async () => {
    const workspace = await server.admin('GET', '/api/workspaces/shop/nowhere');
    expect([workspace.status, workspace.json.code]).toEqual([404, 'WORKSPACE_NOT_FOUND']);
    for (const [method, path] of [
      ['GET', '/api/workspaces/nowhere'],
      ['GET', '/api/workspaces/nowhere/default'],
      ['PUT', '/api/workspaces/nowhere/default'],
      ['GET', '/api/workspaces/nowhere/default/config'],
      ['PUT', '/api/workspaces/nowhere/default/config'],
    ] as const) {
      const answer = await server.admin(method, path, method === 'PUT' ? anything : undefined);
      expect([path, answer.status, answer.json.code]).toEqual([path, 404, 'REPOSITORY_NOT_FOUND']);
    }
  });
});

describe('system updates', () => {
  it('find nothing in a repository this build made [BUILT-012, BUILT-014]', async () => {
    const path = '/api/management/repositories/default/shop/system-updates';
    const expected = { has_updates: false, total_pending: 0, breaking_count: 0, updates: [] };
    expect((await server.admin('GET', path)).json).toEqual(expected);
    const applied = await server.admin('POST', `${path}/apply`, {});
    expect(applied.status).toBe(200);
    expect(applied.json).toMatchObject({ applied_count: 0, skipped_count: 0 });
  });

  it('leave a replaced built-in workspace unchanged [BUILT-015]', async () => {
    await server.createRepository('customised');
    await server.admin('PUT', '/api/workspaces/customised/default', { ...anything, description: 'mine' });
    await server.restart();
    expect((await server.admin('GET', '/api/workspaces/customised/default')).json.description).toBe('mine');
  });

  it('restore a built-in workspace that force names, and no other [BUILT-020]', async () => {
    await server.createRepository('gutted');
    const updates = '/api/management/repositories/default/gutted/system-updates';
    const read = async (name: string) => (await server.admin('GET', `/api/workspaces/gutted/${name}`)).json;
    const apply = async (body: object) => {
      const { json, status } = await server.admin('POST', `${updates}/apply`, body);
      return [status, json.applied_count, json.skipped_count];
    };
    const shipped = await read('svc:access_control');
    const gutted = { allowed_node_types: ['svc:Folder'], allowed_root_node_types: ['svc:Folder'] };
    for (const name of ['svc:access_control', 'default'])
      expect((await server.admin('PUT', `/api/workspaces/gutted/${name}`, gutted)).status).toBe(204);
    expect((await server.admin('GET', updates)).json.has_updates).toBe(false);
    const resources = ['workspace:svc:access_control', 'workspace:nowhere'];
    for (const body of [{}, { force: true }, { resources }, { force: true, resources: ['branch:main'] }])
      expect(await apply(body)).toEqual([200, 0, 0]);
    expect(await read('svc:access_control')).toMatchObject(gutted);
    expect(await apply({ force: true, resources })).toEqual([200, 1, 0]);
    expect(await apply({ force: true, resources })).toEqual([200, 0, 0]);
    const { updated_at: _, ...restored } = await read('svc:access_control');
    expect(shipped).toMatchObject(restored);
    expect(await read('default')).toMatchObject(gutted);
  });
});

it('without a token, no workspace route answers anything but 401', async () => {
  for (const [method, path] of [
    ['GET', '/api/workspaces/shop'],
    ['GET', '/api/workspaces/shop/default'],
    ['PUT', '/api/workspaces/shop/default'],
    ['GET', '/api/workspaces/shop/default/config'],
    ['PUT', '/api/workspaces/shop/default/config'],
    ['GET', '/api/management/repositories/default/shop/system-updates'],
    ['POST', '/api/management/repositories/default/shop/system-updates/apply'],
  ] as const) {
    const answer = await server.request(method, path, method === 'GET' ? {} : { body: anything });
    expect([method, path, answer.status, answer.json.code]).toEqual([method, path, 401, 'UNAUTHORIZED']);
  }
});
