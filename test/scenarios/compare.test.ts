import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ContentClient, expectStatus, revisionOf } from '#test/support/content-client.ts';
import { startServer, type TestServer } from '#test/support/server.ts';

let server: TestServer;
let client: ContentClient;

beforeAll(async () => {
  server = await startServer();
  client = await ContentClient.on(server);
});

afterAll(() => server.close());

const folder = (name: string, title = '') => ({ name, node_type: 'svc:Folder', properties: { title } });

const compare = async (branch: string, base: string) =>
  expectStatus(await client.managed('GET', `/branches/${branch}/compare/${base}`), 200).json;
const diff = async (branch: string, base: string) =>
  expectStatus(await client.managed('GET', `/branches/${branch}/diff/${base}`), 200).json;

describe('two branches', () => {
  it('are compared by their revisions and by what they changed [BR-011, BR-012]', async () => {
    const main = await client.workspace();
    expectStatus(await main.post('', folder('kept')), 201);
    expectStatus(await main.post('', folder('dropped')), 201);
    const forkedAt = await client.headOf('main');
    await client.branch('feature/one', { upstream_branch: 'main' });
    const feature = main.on('feature/one');
    const added = expectStatus(await feature.post('', folder('added')), 201).json;
    const kept = expectStatus(await feature.put('/kept', { properties: { title: 'changed' } }), 200).json;
    expectStatus(await feature.delete('/dropped'), 200);
    expect(await compare('feature%2Fone', 'main')).toEqual({
      ahead: 3,
      behind: 0,
      common_ancestor: forkedAt,
    });
    expectStatus(await main.post('', folder('of-main')), 201);
    expect(await compare('feature%2Fone', 'main')).toEqual({
      ahead: 3,
      behind: 1,
      common_ancestor: forkedAt,
    });
    expect(await compare('main', 'feature%2Fone')).toEqual({
      ahead: 1,
      behind: 3,
      common_ancestor: forkedAt,
    });
    const workspace = main.name;
    expect(await diff('feature%2Fone', 'main')).toEqual({
      common_ancestor: forkedAt,
      added: [{ node_id: added.id, workspace, path: '/added', operation: 'added' }],
      modified: [{ node_id: kept.id, workspace, path: '/kept', operation: 'modified' }],
      deleted: [{ node_id: expect.any(String), workspace, path: '/dropped', operation: 'deleted' }],
      definitions: [],
    });
    expect(await diff('main', 'feature%2Fone')).toMatchObject({
      added: [{ path: '/of-main' }],
      modified: [],
      deleted: [],
    });
  });

  it('that share nothing have the ancestor 0-0 [BR-026]', async () => {
    await client.branch('unrelated');
    const { revisions } = expectStatus(
      await client.managed('GET', '/revisions?branch=main&include_system=true&limit=1000'),
      200,
    ).json;
    const found = await compare('unrelated', 'main');
    expect(found.common_ancestor).toBe('0-0');
    expect(found.behind).toBe(revisions.length);
    expect((await diff('unrelated', 'main')).common_ancestor).toBe('0-0');
  });

  it('may be named by tags, and see nothing later than those [BR-035]', async () => {
    const main = await client.workspace();
    await client.branch('tagged', { upstream_branch: 'main' });
    const space = main.on('tagged');
    const revision = revisionOf(await space.post('', folder('before-tag')));
    expectStatus(await client.managed('POST', '/tags', { name: 'v1', revision }), 201);
    expectStatus(await space.post('', folder('after-tag')), 201);
    expect(await compare('tagged', 'v1')).toEqual({ ahead: 1, behind: 0, common_ancestor: revision });
    expect(await compare('v1', 'tagged')).toEqual({ ahead: 0, behind: 1, common_ancestor: revision });
    expect(await diff('tagged', 'v1')).toMatchObject({ added: [{ path: '/after-tag' }] });
    expect(await compare('v1', 'main')).toMatchObject({ ahead: 1, behind: 0 });
  });

  it('differ by schema definitions, which are counted by a dry run [BR-040, MERGE-031]', async () => {
    const names = { nodetypes: 'node_type', archetypes: 'archetype', elementtypes: 'element_type' } as const;
    const define = async (branch: string, family: keyof typeof names, definition: object) => {
      const path = `/api/management/${client.repository}/${branch}/${family}`;
      expectStatus(await server.admin('POST', path, { [names[family]]: definition }), 200, 201);
    };
    await define('main', 'nodetypes', { name: 'diff:Old', properties: [] });
    await define('main', 'nodetypes', { name: 'diff:Same', properties: [] });
    await client.branch('schema', { upstream_branch: 'main' });
    await define('schema', 'nodetypes', { name: 'diff:Same', properties: [] });
    await define('schema', 'archetypes', { name: 'diff:Look', base_node_type: 'svc:Folder', fields: [] });
    await define('schema', 'elementtypes', { name: 'diff:Part', fields: [] });
    await define('schema', 'nodetypes', { name: 'diff:Fresh', properties: [{ name: 'a', type: 'String' }] });
    await define('schema', 'nodetypes', { name: 'diff:Fresh', properties: [{ name: 'b', type: 'String' }] });
    const gone = await server.admin(
      'DELETE',
      `/api/management/${client.repository}/schema/nodetypes/diff:Old`,
    );
    expectStatus(gone, 204);
    const entry = (kind: string, name: string, operation: string) => ({
      node_id: `${kind}:${name}`,
      workspace: null,
      path: `/${kind}/${name}`,
      operation,
      kind,
      name,
    });
    const found = await diff('schema', 'main');
    expect(found).toEqual({
      common_ancestor: await client.headOf('main'),
      added: [],
      modified: [],
      deleted: [],
      definitions: [
        entry('archetype', 'diff:Look', 'added'),
        entry('element_type', 'diff:Part', 'added'),
        entry('node_type', 'diff:Fresh', 'added'),
        entry('node_type', 'diff:Old', 'deleted'),
      ],
    });
    const merge = (body: object) => client.managed('POST', '/branches/main/merge', body);
    for (const dryRun of [true, false]) {
      const done = expectStatus(await merge({ source_branch: 'schema', dry_run: dryRun }), 200).json;
      expect(done).toMatchObject({ success: true, nodes_changed: 0, definitions_changed: 4 });
    }
    expect((await diff('schema', 'main')).definitions).toEqual([]);
    const revisions = [await client.headOf('main')];
    for (const dryRun of [true, false]) {
      const body = { revisions, dry_run: dryRun };
      const done = expectStatus(await client.managed('POST', '/branches/main/revert', body), 200).json;
      expect(done).toMatchObject({ success: true, nodes_changed: 0, definitions_changed: 4 });
    }
  });

  it('that do not exist are 404, and anonymous callers are refused', async () => {
    for (const path of ['never/compare/main', 'main/compare/never', 'never/diff/main', 'main/diff/never']) {
      const answer = await client.managed('GET', `/branches/${path}`);
      expect([answer.status, answer.json.code]).toEqual([404, 'BRANCH_NOT_FOUND']);
    }
    const base = `/api/management/repositories/default/${client.repository}/branches`;
    expect((await server.request('GET', `${base}/main/compare/main`)).status).toBe(401);
    expect((await server.request('GET', `${base}/main/diff/main`)).status).toBe(401);
  });
});
