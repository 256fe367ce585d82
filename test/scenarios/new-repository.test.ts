import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ContentClient } from '#test/support/content-client.ts';
import { startServer, type TestServer } from '#test/support/server.ts';

let server: TestServer;
let content: ContentClient;

beforeAll(async () => {
  server = await startServer();
  content = await ContentClient.on(server);
});

afterAll(() => server.close());

function node(workspace: string, path: string, branch = 'main') {
  return server.admin('GET', `/api/repository/${content.repository}/${branch}/head/${workspace}${path}`);
}

async function typeAt(workspace: string, path: string): Promise<unknown> {
  const answer = await node(workspace, path);
  return answer.status === 200 ? answer.json.node_type : answer.status;
}

describe('the content of a new repository', () => {
  it('has folders for functions, packages and the system [BUILT-006, BUILT-008]', async () => {
    for (const [workspace, path, type] of [
      ['functions', '/lib', 'svc:Folder'],
      ['functions', '/lib/svc', 'svc:Folder'],
      ['functions', '/apps', 'svc:Folder'],
      ['functions', '/triggers', 'svc:Folder'],
      ['packages', '/installed', 'svc:Folder'],
      ['packages', '/available', 'svc:Folder'],
      ['packages', '/builtin', 'svc:Folder'],
      ['svc:system', '/config', 'svc:Folder'],
      ['svc:system', '/config/auth', 'svc:AuthConfig'],
      ['svc:system', '/config/repos', 'svc:Folder'],
      ['svc:system', '/mcp-connections', 'svc:Folder'],
      ['svc:system', '/flows/instances', 'svc:Folder'],
    ] as const) {
      expect([workspace, path, await typeAt(workspace, path)]).toEqual([workspace, path, type]);
    }
    expect((await node('default', '/')).json).toEqual([]);
  });

  it('has access control that denies by default, the anonymous user, and the shipped roles [BUILT-007]', async () => {
    const security = await node('svc:access_control', '/config/default');
    expect([security.status, security.json.node_type]).toEqual([200, 'svc:SecurityConfig']);
    expect(security.json.properties).toMatchObject({ default_policy: 'deny', anonymous_enabled: false });
    const anonymous = await node('svc:access_control', '/users/system/anonymous');
    expect([anonymous.status, anonymous.json.node_type]).toEqual([200, 'svc:User']);
    expect(anonymous.json.properties).toMatchObject({ user_id: 'anonymous', roles: ['anonymous'] });
    for (const path of ['/users/internal', '/groups', '/relation-types', '/circles', '/graph-config']) {
      expect([path, await typeAt('svc:access_control', path)]).toEqual([path, 'svc:AclFolder']);
    }
    for (const role of ['system_admin', 'anonymous', 'authenticated_user', 'viewer', 'editor', 'author']) {
      const answer = await node('svc:access_control', `/roles/${role}`);
      expect([role, answer.json.node_type, answer.json.properties.role_id]).toEqual([role, 'svc:Role', role]);
    }
  });

  it('has the built-in types with their properties, children and flags [BUILT-001, BUILT-010]', async () => {
    const read = async (name: string) => (await content.schema('GET', `nodetypes/${name}`)).json;
    const page = await read('svc:Page');
    expect(page).toMatchObject({ name: 'svc:Page', versionable: true, publishable: true, auditable: true });
    const title = page.properties.find((property: { name: string }) => property.name === 'title');
    expect(title).toMatchObject({ required: true });
    const names = (await content.schema('GET', 'nodetypes')).json.map((type: { name: string }) => type.name);
    expect(names).toEqual(
      expect.arrayContaining(
        [
          'Folder',
          'Page',
          'Node',
          'Asset',
          'Function',
          'Trigger',
          'Flow',
          'Package',
          'User',
          'Profile',
          'Role',
        ]
          .concat(['Group', 'AclFolder', 'SecurityConfig', 'RepoAuthConfig', 'McpServer', 'McpConnection'])
          .map((name) => `svc:${name}`),
      ),
    );
    expect(await read('svc:AclFolder')).toMatchObject({
      extends: 'svc:Folder',
      allowed_children: expect.arrayContaining(['svc:User', 'svc:Role', 'svc:Group', 'svc:AclFolder']),
    });
    expect(await read('svc:Function')).toMatchObject({ strict: true });
  });

  it('is made on another default branch just the same [REPO-003]', async () => {
    await server.admin('POST', '/api/repositories', { repo_id: 'trunked', default_branch: 'release/1.0' });
    const path = '/api/repository/trunked/release%2F1.0/head/functions/lib/svc';
    expect((await server.admin('GET', path)).status).toBe(200);
    const main = await server.admin('GET', '/api/repository/trunked/main/head/functions/lib');
    expect([main.status, main.json.code]).toEqual([404, 'BRANCH_NOT_FOUND']);
  });

  it('is the same after a restart, at the same revision [BUILT-014]', async () => {
    const before = await content.headRevision();
    await server.restart();
    expect(await content.headRevision()).toBe(before);
  });
});

describe('addresses of content', () => {
  it('name what is missing: repository, branch, workspace, type [HTTP-008, HTTP-011, HTTP-012, HTTP-013]', async () => {
    for (const [path, code] of [
      ['/api/repository/nowhere/main/head/default/x', 'REPOSITORY_NOT_FOUND'],
      [`/api/repository/${content.repository}/nowhere/head/default/x`, 'BRANCH_NOT_FOUND'],
      [`/api/repository/${content.repository}/main/head/nowhere/x`, 'WORKSPACE_NOT_FOUND'],
      [`/api/management/${content.repository}/main/nodetypes/blog:Nothing`, 'NODE_TYPE_NOT_FOUND'],
    ] as const) {
      const answer = await server.admin('GET', path);
      expect([path, answer.status, answer.json.code]).toEqual([path, 404, code]);
    }
  });
});

describe('pins of a workspace', () => {
  it('hold its types at a revision; null is the newest [WSP-020, WSP-021]', async () => {
    const properties = [{ name: 'title', type: 'String', required: true }];
    await content.defineType({ name: 'blog:Pinned', properties });
    const then = await content.headRevision();
    const later = [...properties, { name: 'summary', type: 'String', required: true }];
    await content.defineType({ name: 'blog:Pinned', properties: later });
    const pinned = await content.workspace();
    const newest = await content.workspace();
    const config = (space: { name: string }, pins: object) =>
      server.admin('PUT', `/api/workspaces/${content.repository}/${space.name}/config`, {
        default_branch: 'main',
        node_type_pins: pins,
      });
    expect((await config(pinned, { 'blog:Pinned': then })).status).toBe(204);
    expect((await config(newest, { 'blog:Pinned': null })).status).toBe(204);
    const body = { name: 'one', node_type: 'blog:Pinned', properties: { title: 'without a summary' } };
    expect((await server.admin('POST', pinned.url('/'), body)).status).toBe(201);
    const refused = await server.admin('POST', newest.url('/'), body);
    expect([refused.status, refused.json.code]).toEqual([400, 'VALIDATION_FAILED']);
    const resolved = await content.schema('GET', `nodetypes/blog:Pinned/resolved?workspace=${pinned.name}`);
    expect(resolved.json.resolved_properties.map((property: { name: string }) => property.name)).toEqual([
      'title',
    ]);
    await config(pinned, {});
    expect((await server.admin('POST', pinned.url('/'), { ...body, name: 'two' })).status).toBe(400);
  });
});

describe('languages', () => {
  it('of a changed configuration apply to the next read [TRANS-022]', async () => {
    const space = await content.workspace();
    const body = { name: 'greeting', node_type: 'svc:Page', properties: { title: 'hello' } };
    expect((await server.admin('POST', space.url('/'), body)).status).toBe(201);
    const path = `/api/repositories/${content.repository}/translation-config`;
    await server.admin('PATCH', path, { supported_languages: ['fr', 'de-CH'] });
    const translated = await server.admin('POST', space.url('/greeting/svc:translate'), {
      locale: 'fr',
      translations: { '/title': 'bonjour' },
    });
    expect(translated.status).toBe(200);
    const title = async () =>
      (await server.admin('GET', space.url('/greeting?lang=de-CH'))).json.properties.title;
    expect(await title()).toBe('hello');
    expect((await server.admin('PATCH', path, { locale_fallback_chains: { 'de-CH': ['fr'] } })).status).toBe(
      204,
    );
    expect(await title()).toBe('bonjour');
  });
});
