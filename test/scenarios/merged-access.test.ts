import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { ContentClient, expectStatus } from '#test/support/content-client.ts';
import { startServer, type TestServer } from '#test/support/server.ts';

const ACCESS = 'svc:access_control';

let server: TestServer;
let client: ContentClient;
let repository: string;

beforeAll(async () => {
  server = await startServer();
});

afterAll(() => server.close());

/** A branch with changes of a role, a group, a user that moves, settings, and of nodes that decide nothing. */
beforeEach(async () => {
  repository = await server.createRepository();
  client = new ContentClient(server, repository);
  await node('POST', 'main', '/users', { name: 'kim', node_type: 'svc:User', properties: person });
  await client.branch('dev', { upstream_branch: 'main' });
});

const person = { email: 'kim@example.org', display_name: 'Kim' };

async function node(method: string, branch: string, path: string, body?: object): Promise<void> {
  const at = `/api/repository/${repository}/${branch}/head/${ACCESS}${path}`;
  const answer = await server.admin(method, at, body);
  expect([answer.status, answer.text]).toEqual([method === 'POST' ? 201 : 200, expect.anything()]);
}

async function decideOnDev(): Promise<void> {
  const role = { role_id: 'chief', name: 'Chief', permissions: [] };
  await node('POST', 'dev', '/roles', { name: 'chief', node_type: 'svc:Role', properties: role });
  await node('DELETE', 'dev', '/roles/author');
  await node('PUT', 'dev', '/users/kim', { properties: { ...person, roles: ['chief'] } });
  await node('PUT', 'dev', '/config/default', {
    properties: { workspace: '*', default_policy: 'allow', anonymous_enabled: false },
  });
  // Neither of these decides: they are counted with the nodes only.
  await node('POST', 'dev', '/', { name: 'notes', node_type: 'svc:AclFolder', properties: {} });
}

const merge = (body: object) =>
  client.managed('POST', '/branches/main/merge', { source_branch: 'dev', ...body });

it.each([['ThreeWay'], ['FastForward']])('a merge says how many nodes decide: %s', async (strategy) => {
  await decideOnDev();
  for (const dryRun of [true, false]) {
    const { json } = expectStatus(await merge({ strategy, dry_run: dryRun }), 200);
    expect(json).toMatchObject({ success: true, access_changes: 4 });
    if (strategy === 'ThreeWay') expect(json.nodes_changed).toBeGreaterThan(4);
  }
});

it.each([['ThreeWay'], ['FastForward']])(
  'a merge of other content says that none does: %s',
  async (strategy) => {
    await node('POST', 'dev', '/', { name: 'notes', node_type: 'svc:AclFolder', properties: {} });
    for (const dryRun of [true, false]) {
      const { json } = expectStatus(await merge({ strategy, dry_run: dryRun }), 200);
      expect(json).toMatchObject({ success: true, access_changes: 0 });
    }
  },
);

it('says so of a merge whose conflicts are resolved', async () => {
  await node('PUT', 'dev', '/users/kim', { properties: { ...person, roles: ['editor'] } });
  await node('PUT', 'main', '/users/kim', { properties: { ...person, roles: ['viewer'] } });
  const { json: refused } = expectStatus(await merge({ dry_run: true }), 200);
  expect(refused).toMatchObject({ success: false, access_changes: 0 });
  const resolutions = [{ node_id: refused.conflicts[0].node_id, resolution_type: 'keep-theirs' }];
  const body = { source_branch: 'dev', resolutions, dry_run: true };
  const { json } = expectStatus(await client.managed('POST', '/branches/main/resolve-merge', body), 200);
  expect(json).toMatchObject({ success: true, access_changes: 1 });
});
