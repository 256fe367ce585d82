import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { commandNames } from '#protocols/rest/nodes/node-commands.ts';
import { anything, ContentClient } from '#test/support/content-client.ts';
import { startServer, type TestServer } from '#test/support/server.ts';

let server: TestServer;
let client: ContentClient;

beforeAll(async () => {
  server = await startServer();
  client = await ContentClient.on(server);
});

afterAll(() => server.close());

/** A request that is refused, and what the refusal says of its fields. */
type Refused = readonly [method: string, path: string, body: unknown, message: unknown];

async function expectRefused(...requests: readonly Refused[]): Promise<void> {
  const head = await client.headRevision();
  for (const [method, path, body, message] of requests) {
    const { json, status } = await server.admin(method, path, body);
    const code = json.code ?? 'VALIDATION_FAILED';
    const said = json.message ?? json.error;
    expect([path, status, code, said]).toEqual([path, 400, 'VALIDATION_FAILED', message]);
  }
  expect(await client.headRevision()).toBe(head);
}

const other = (field: string, ...known: string[]) =>
  `Unknown field '${field}'; known are ${known.join(', ')}`;
const meant = (field: string, known: string) => `Unknown field '${field}'; did you mean '${known}'?`;

describe('an unknown field', () => {
  it('of a definition is refused, at any depth [NTYPE-046]', async () => {
    const schema = `/api/management/${client.repository}/main`;
    const property = { name: 'a', type: 'String', requierd: true };
    const field = { $type: 'TextField', name: 'a', config: { maxLength: 1 } };
    await expectRefused(
      [
        'POST',
        `${schema}/nodetypes`,
        { node_type: { name: 'site:Page', strictt: true } },
        meant('node_type.strictt', 'strict'),
      ],
      [
        'PUT',
        `${schema}/nodetypes/svc:Page`,
        { node_type: { properties: [property] } },
        meant('node_type.properties.0.requierd', 'required'),
      ],
      [
        'POST',
        `${schema}/mixins`,
        { node_type: { name: 'site:Mixin', propertys: [] } },
        meant('node_type.propertys', 'properties'),
      ],
      [
        'POST',
        `${schema}/archetypes`,
        { archetype: { name: 'site:Card', fields: [field] } },
        meant('archetype.fields.0.config.maxLength', 'max_length'),
      ],
      [
        'POST',
        `${schema}/elementtypes`,
        { element_type: { name: 'site:Quote', field: [] } },
        meant('element_type.field', 'fields'),
      ],
    );
  });

  it('of a workspace is refused [WSP-023]', async () => {
    const base = `/api/workspaces/${client.repository}`;
    await expectRefused(
      [
        'PUT',
        `${base}/new`,
        { ...anything, types: [] },
        "Unknown field 'types'; known are description, allowed_node_types, allowed_root_node_types, depends_on, initial_structure, config",
      ],
      [
        'PUT',
        `${base}/default/config`,
        { default_brnach: 'main' },
        meant('default_brnach', 'default_branch'),
      ],
    );
    expect((await server.admin('GET', `${base}/new`)).status).toBe(404);
  });

  it('of the languages of a repository is refused [TRANS-026]', async () => {
    const path = `/api/repositories/${client.repository}/translation-config`;
    await expectRefused([
      'PATCH',
      path,
      { suported_languages: ['de'] },
      meant('suported_languages', 'supported_languages'),
    ]);
  });
});

describe('an unknown field of a branch', () => {
  const managed = () => `/api/management/repositories/default/${client.repository}`;

  it('is refused where one is made, changed, or its head moved [BR-041]', async () => {
    const head = await client.headRevision();
    await client.branch('here');
    const branches = `${managed()}/branches`;
    await expectRefused(
      ['POST', branches, { name: 'a', upstream: 'main' }, meant('upstream', 'upstream_branch')],
      [
        'POST',
        branches,
        { name: 'a', upstream_branch: 'main', from_revison: head },
        meant('from_revison', 'from_revision'),
      ],
      [
        'POST',
        branches,
        { name: 'a', from_branch: 'main' },
        "Unknown field 'from_branch'; known are name, upstream_branch, from_revision, created_by, protected, description, include_revision_history",
      ],
      ['PATCH', `${branches}/here`, { protect: true }, meant('protect', 'protected')],
      [
        'PATCH',
        `${branches}/here/upstream`,
        { upstream_branch: 'main', force: true },
        other('force', 'upstream_branch'),
      ],
      ['PUT', `${branches}/main/head`, { revision: head, branch: 'main' }, other('branch', 'revision')],
    );
    expect((await client.managed('GET', '/branches/a')).status).toBe(404);
  });

  it('is not made of a branch that was read: its head would not be that of the fork [BR-041]', async () => {
    const read = (await client.managed('GET', '/branches/main')).json;
    const { json, status } = await client.managed('POST', '/branches', { ...read, name: 'copy' });
    expect([status, json.field]).toEqual([400, 'head']);
  });

  it('is refused when it is the only field and read-only [BR-042]', async () => {
    const head = await client.headRevision();
    for (const [field, value] of [
      ['head', head],
      ['name', 'main'],
      ['created_by', 'me'],
    ] as const) {
      const { json, status } = await client.managed('PATCH', '/branches/main', { [field]: value });
      const message = `Field '${field}' is read-only; those that can be written are protected, description, upstream_branch`;
      expect([status, json.message]).toEqual([400, message]);
    }
  });

  it('is refused of tags, merges, resolutions and reverts [TAG-014, MERGE-032, REVERT-014]', async () => {
    const head = await client.headRevision();
    const main = `${managed()}/branches/main`;
    const resolution = { node_id: 'n', resolution_type: 'manual', properties: {} };
    await expectRefused(
      ['POST', `${managed()}/tags`, { name: 't', revision: head, mesage: 'm' }, meant('mesage', 'message')],
      ['POST', `${main}/merge`, { source_branch: 'here', dryrun: true }, meant('dryrun', 'dry_run')],
      ['POST', `${main}/merge`, { source_branch: 'here', dry: true }, meant('dry', 'dry_run')],
      [
        'POST',
        `${main}/merge`,
        { source_branch: 'here', commit: { message: 'm', author: 'a' } },
        "Unknown field 'commit.author'; known are message, actor, is_system",
      ],
      [
        'POST',
        `${main}/resolve-merge`,
        { source_branch: 'here', resolutions: [], expected_head: head },
        "Unknown field 'expected_head'; known are source_branch, resolutions, expected_source_head, expected_target_head, message, actor, is_system, commit, dry_run",
      ],
      [
        'POST',
        `${main}/resolve-merge`,
        { source_branch: 'here', resolutions: [resolution] },
        meant('resolutions.0.properties', 'resolved_properties'),
      ],
      ['POST', `${main}/revert`, { revision: [head] }, meant('revision', 'revisions')],
    );
  });

  it('is refused before anything is merged: `dryrun` is `dry_run` [MERGE-032]', async () => {
    const space = await client.workspace();
    await client.branch('ahead', { upstream_branch: 'main' });
    await space.on('ahead').add('/', 'a');
    const dry = await client.managed('POST', '/branches/main/merge', {
      source_branch: 'ahead',
      dryRun: true,
    });
    expect([dry.status, dry.json.nodes_changed]).toEqual([200, 1]);
    await expectRefused([
      'POST',
      `${managed()}/branches/main/merge`,
      { source_branch: 'ahead', dry_runn: true },
      meant('dry_runn', 'dry_run'),
    ]);
    expect((await space.get('/a')).status).toBe(404);
  });
});

describe('an unknown field of a node', () => {
  const page = { node_type: 'svc:Page', properties: { title: 't' } };

  it('is refused beside `properties` [NODE-067]', async () => {
    const space = await client.workspace();
    const { id } = await space.add('/', 'a', { title: 't' }, 'svc:Page');
    const settable = ['name', 'node_type', 'properties', 'id', 'archetype', 'translations', 'owner_id'];
    const beside = ['commit', 'lock'];
    await expectRefused(
      ['POST', space.url('/'), { name: 'b', ...page, title: 'x' }, other('title', ...settable, ...beside)],
      ['POST', space.url('/a'), { name: 'b', ...page, propertys: {} }, meant('propertys', 'properties')],
      [
        'POST',
        space.url('/'),
        { node: { name: 'b', ...page, title: 'x' } },
        other('node.title', ...settable),
      ],
      [
        'POST',
        space.url('/'),
        { node: { name: 'b', ...page }, children: {} },
        other('children', 'node', ...beside),
      ],
      [
        'POST',
        space.url('/'),
        { name: 'b', ...page, children: [] },
        other('children', ...settable, ...beside),
      ],
      [
        'POST',
        space.url('/'),
        { name: 'b', ...page, commit: { message: 'm', autor: 'x' } },
        meant('commit.autor', 'actor'),
      ],
      [
        'PUT',
        space.url('/a'),
        { properties: { title: 'x' }, title: 'y' },
        expect.stringMatching(/^Unknown field 'title'; known are node_type, properties,/),
      ],
      [
        'PUT',
        space.url(`/$ref/${id}`),
        { properties: {}, translation: {} },
        meant('translation', 'translations'),
      ],
      ['DELETE', space.url('/a'), { comit: { message: 'm' } }, meant('comit', 'commit')],
      ['DELETE', space.url('/a'), { message: 'm' }, other('message', 'commit', 'lock', 'version')],
    );
    expect(await space.names()).toEqual(['a']);
    const schema = `/api/management/${client.repository}/main/nodetypes/validate`;
    await expectRefused([
      'POST',
      schema,
      { workspace: space.name, node: { name: 'b', ...page, title: 'x' } },
      other('node.title', ...settable),
    ]);
  });

  it('is no field where the body is the value of a property [NODE-067]', async () => {
    const space = await client.workspace();
    await space.add('/', 'a', { title: 't' }, 'svc:Page');
    const value = { any: { field: [1, { there: 'is' }] } };
    expect((await space.put('/a@content.x', value)).status).toBe(400);
    await space.add('/', 'b');
    expect((await space.put('/b@data', value)).status).toBe(200);
    expect((await space.get('/b@data')).json).toEqual(value);
  });

  it('is refused of each command [CMD-050]', async () => {
    const space = await client.workspace();
    await space.addAll('/a', '/b');
    const refused = async (command: string, body: object, message: unknown) => {
      for (const path of [`/a/svc:${command}`, `/a/svc:cmd/${command}`, `/a?command=${command}`])
        await expectRefused(['POST', space.url(path), body, message]);
    };
    await refused('rename', { newName: 'c', new_nam: 'd' }, meant('new_nam', 'newName'));
    await refused(
      'move',
      { targetPath: '/c', dry_run: true },
      expect.stringMatching(/^Unknown field 'dry_run'; known are/),
    );
    await refused('copy', { targetPath: '/c', name: 'x' }, meant('name', 'newName'));
    await refused('reorder', { targetPath: '/b', position: 'before' }, meant('position', 'movePosition'));
    await refused(
      'publish',
      { tree: true },
      expect.stringMatching(/^Unknown field 'tree'; known are message, actor,/),
    );
    await refused(
      'add-relation',
      { targetWorkspace: 'w', targetPath: '/b', type: 'x' },
      meant('type', 'relationType'),
    );
    await refused(
      'translate',
      { locale: 'en', translations: {}, translation: {} },
      meant('translation', 'translations'),
    );
    await refused('relations', { direction: 'in' }, "Unknown field 'direction'; none is taken here");
    await refused('translation-staleness', { locale: 'en', message: 'm' }, other('message', 'locale'));
    // Of what lacks a required field that is told first; what is always refused says why.
    for (const command of commandNames) {
      const { status, text } = await space.command('/a', command, { nonsense: 1 });
      const isRefusedAnyway = ['delete_version', 'update_version_note'].includes(command);
      expect([command, text]).toEqual([
        command,
        expect.stringMatching(isRefusedAnyway ? /immutable/ : /Unknown field 'nonsense'/),
      ]);
      expect([400, 422]).toContain(status);
    }
    expect(await space.names()).toEqual(['a', 'b']);
  });

  it('is refused of each operation of a commit [COMMIT-009]', async () => {
    const space = await client.workspace();
    await space.addAll('/a');
    const { id } = await space.node('/a');
    const commit = (message: string, ...operations: object[]): Refused => [
      'POST',
      space.url('/svc:commit'),
      { message: 'm', operations: [{ type: 'update', node_id: id, properties: {} }, ...operations] },
      message,
    ];
    const at = 'operations.1';
    await expectRefused(
      commit(other(`${at}.target_path`, 'type', 'node_id', 'new_path', 'version'), {
        type: 'move',
        node_id: id,
        new_path: '/b',
        target_path: 1,
      }),
      commit(meant(`${at}.propertes`, 'properties'), {
        type: 'update',
        node_id: id,
        properties: {},
        propertes: 1,
      }),
      commit(other(`${at}.path`, 'type', 'node_id', 'version'), { type: 'delete', node_id: id, path: '/a' }),
      commit(meant(`${at}.node.propertys`, 'properties'), {
        type: 'create',
        node: { name: 'b', ...page, propertys: 1 },
      }),
      commit(other(`${at}.deep`, 'type', 'node', 'parent_path'), {
        type: 'create',
        node: { name: 'b', ...page },
        deep: 1,
      }),
      [
        'POST',
        space.url('/svc:commit'),
        { message: 'm', operations: [], commit: { message: 'n' } },
        other('commit', 'message', 'actor', 'is_system', 'version', 'operations', 'lock'),
      ],
    );
    expect((await space.node('/a')).version).toBe(1);
  });

  it('of a boolean query is refused with the closest known one [DSL-015]', async () => {
    const space = await client.workspace();
    for (const [body, message] of [
      [{ node_typ: { eq: 'x' } }, "did you mean 'node_type'?"],
      [{ name: { equals: 'x' } }, "'equals' is not an operator; use one of eq, ne,"],
      [{ name: { lik: 'x' } }, "did you mean 'like'?"],
      [{ orderby: { name: 'asc' } }, "did you mean 'order_by'?"],
    ] as const) {
      const { json, status } = await space.dsl(body);
      expect([status, json]).toEqual([
        400,
        { error: 'BadRequest', message: expect.stringContaining(message) },
      ]);
    }
  });
});

describe('an unknown field of anything else', () => {
  it('is refused of repositories [REPO-022]', async () => {
    await expectRefused(
      [
        'POST',
        '/api/repositories',
        { repo_id: 'other', default_brnch: 'x' },
        meant('default_brnch', 'default_branch'),
      ],
      [
        'PUT',
        `/api/repositories/${client.repository}`,
        { default_language: 'de' },
        "Unknown field 'default_language'; known are description, default_branch, supported_languages, config",
      ],
    );
    expect((await server.admin('GET', '/api/repositories/other')).status).toBe(404);
  });

  it('is refused of locks, pools and queries [LOCK-021, QUERY-016]', async () => {
    const base = `/api/${client.repository}/main`;
    const space = await client.workspace();
    await expectRefused(
      ['POST', `${base}/locks/acquire`, { key: 'k', ttl_ms: 1_000, waitms: 9 }, meant('waitms', 'wait_ms')],
      [
        'POST',
        `${base}/locks/renew`,
        { key: 'k', token: 1, ttl_ms: 1_000, wait_ms: 9 },
        other('wait_ms', 'key', 'token', 'ttl_ms'),
      ],
      [
        'POST',
        `${base}/inventory/claim`,
        { pool: 'p', n: 1, capacity: 1, wait: 1 },
        other('wait', 'pool', 'n', 'capacity'),
      ],
      ['POST', space.url('/query'), { path: '/a', limt: 1 }, meant('limt', 'limit')],
      [
        'POST',
        space.url('/query'),
        { parent: '/', order_by: {} },
        other('order_by', 'nodeType', 'parent', 'path', 'limit', 'offset'),
      ],
    );
  });

  it('is refused when the request would apply to everything without it [REPO-022, BAK-026]', async () => {
    const apply = `/api/management/repositories/default/${client.repository}/system-updates/apply`;
    await expectRefused(
      ['POST', apply, { resource: ['workspace:default'], force: true }, meant('resource', 'resources')],
      ['POST', '/api/management/backups', { repo: 'default/x' }, other('repo', 'name', 'repository')],
      [
        'POST',
        '/api/management/restores',
        { from: 'x', ass: 'default/y' },
        other('ass', 'from', 'repository', 'as', 'accept_foreign'),
      ],
      [
        'POST',
        '/management/jobs/batch-delete',
        { job_ids: [], jobs: [] },
        "Unknown field 'jobs'; known are job_ids",
      ],
      [
        'POST',
        '/api/management/registry/tenants',
        { tenant_id: 'acme', admin: { password: 'x', change_password: false } },
        meant('admin.change_password', 'must_change_password'),
      ],
    );
  });

  it('is reported after a missing one [HTTP-003]', async () => {
    const path = `/api/management/repositories/default/${client.repository}/branches`;
    const { status, text } = await server.admin('POST', path, { nmae: 'a' });
    expect([status, text]).toEqual([422, `missing field \`name\`. ${meant('nmae', 'name')}`]);
  });

  it('is answered with one name where there are very many, and with its beginning [HTTP-073]', async () => {
    const path = `/api/management/repositories/default/${client.repository}/branches`;
    const many = Object.fromEntries(Array.from({ length: 15_000 }, (_, index) => [`unknown${index}`, 1]));
    const known = 'known are name, upstream_branch,';
    for (const [body, shown] of [
      [{ name: 'a', ...many }, `Unknown field 'unknown0'; ${known}`],
      [{ name: 'a', [`${'x'.repeat(1_000_000)}`]: 1 }, `Unknown field '${'x'.repeat(80)}…'; ${known}`],
    ] as const) {
      const { json, status } = await server.admin('POST', path, body);
      expect([status, json.message]).toEqual([400, expect.stringContaining(shown)]);
      expect(json.message.length).toBeLessThan(400);
    }
  });

  it('lets the header of deployments through, as any header [TEN-005]', async () => {
    const { status } = await server.request(
      'PATCH',
      `/api/repositories/${client.repository}/translation-config`,
      {
        token: server.adminToken,
        headers: { 'x-deployment-key': 'any' },
        body: { supported_languages: ['en'] },
      },
    );
    expect(status).toBe(204);
  });
});
