import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ContentClient, expectStatus, revisionOf, type Space } from '#test/support/content-client.ts';
import { startServer, type TestServer } from '#test/support/server.ts';

let server: TestServer;
let client: ContentClient;
let main: Space;

beforeAll(async () => {
  server = await startServer({ config: '[limits]\ncommit_nodes_max = 100\n' });
  client = await ContentClient.on(server);
  main = await client.workspace();
});

afterAll(() => server.close());

const folder = (name: string, title = '') => ({ name, node_type: 'svc:Folder', properties: { title } });
const title = (text: string) => ({ properties: { title: text } });
const revert = (branch: string, body: object) => client.managed('POST', `/branches/${branch}/revert`, body);
const reverted = async (branch: string, body: object) => expectStatus(await revert(branch, body), 200).json;

describe('POST revert', () => {
  it('undoes a list or a range as one revision, answered as a merge is [BR-032, REVERT-001, REVERT-002]', async () => {
    expectStatus(await main.post('', folder('page', 'base')), 201);
    const first = revisionOf(await main.put('/page', title('one')));
    const second = revisionOf(await main.post('/page', folder('child')));
    const third = revisionOf(await main.put('/page/child', title('x')));
    const done = await revert('main', { from: first, to: third, message: 'undo it', actor: 'ada' });
    const head = await client.headOf('main');
    expect(revisionOf(done)).toBe(head);
    expect(done.json).toEqual({
      success: true,
      revision: Number(head.split('-')[0]),
      head,
      conflicts: [],
      fast_forward: false,
      nodes_changed: 2,
      definitions_changed: 0,
    });
    expect(await client.revision(head)).toMatchObject({
      message: 'undo it',
      actor: 'ada',
      parent: third,
      merge_parent: null,
      is_system: false,
    });
    expect((await main.node('/page')).properties.title).toBe('base');
    expect((await main.get('/page/child')).status).toBe(404);
    expect(await reverted('main', { revisions: [head] })).toMatchObject({ success: true, nodes_changed: 2 });
    expect(await reverted('main', { revisions: [third, second] })).toMatchObject({ nodes_changed: 1 });
    expect((await main.node('/page')).properties.title).toBe('one');
  });

  it('stops with conflicts in the form of a merge, and writes nothing [REVERT-004, REVERT-009]', async () => {
    const { id } = await main.add('/', 'both', { title: 'base' });
    const done = revisionOf(await main.put('/both', title('reverted')));
    const head = revisionOf(await main.put('/both', title('later')));
    for (const dryRun of [true, false]) {
      const stopped = await reverted('main', { revisions: [done], dry_run: dryRun });
      expect(stopped).toEqual({
        success: false,
        revision: Number(head.split('-')[0]),
        head,
        conflicts: [
          {
            node_id: id,
            workspace: main.name,
            path: '/both',
            conflict_type: 'BothModified',
            base_properties: { title: 'reverted' },
            target_properties: { title: 'later' },
            source_properties: { title: 'base' },
            base_path: '/both',
            target_path: '/both',
            source_path: '/both',
            base_published: false,
            target_published: false,
            source_published: false,
          },
        ],
        fast_forward: false,
        nodes_changed: 0,
        definitions_changed: 0,
      });
    }
    expect(await reverted('main', { revisions: [head, done], dry_run: true })).toMatchObject({
      success: true,
      nodes_changed: 1,
      head,
    });
    expect(await client.headOf('main')).toBe(head);
    await reverted('main', { revisions: [head, done] });
    const after = await client.headOf('main');
    expect(await reverted('main', { revisions: [head, done] })).toMatchObject({
      success: true,
      nodes_changed: 0,
      head: after,
    });
  });

  it('works on a protected branch [REVERT-012]', async () => {
    expectStatus(await main.post('', folder('kept', 'base')), 201);
    await client.branch('guarded', { upstream_branch: 'main', protected: true });
    const guarded = main.on('guarded');
    const done = revisionOf(await guarded.put('/kept', title('x')));
    expect(await reverted('guarded', { revisions: [done] })).toMatchObject({ success: true });
    expect((await guarded.node('/kept')).properties.title).toBe('base');
  });

  it('refuses what cannot be reverted, with the reason [REVERT-010]', async () => {
    const head = revisionOf(await main.post('', folder('reason')));
    const statusOf = async (body: object, branch = 'main') => {
      const answer = await revert(branch, body);
      return answer.status === 422 ? 422 : [answer.status, answer.json.code];
    };
    expect(await statusOf({ revisions: ['7-7'] })).toEqual([404, 'REVISION_NOT_FOUND']);
    expect(await statusOf({ from: '7-7', to: head })).toEqual([404, 'REVISION_NOT_FOUND']);
    expect(await statusOf({ revisions: [head] }, 'never')).toEqual([404, 'BRANCH_NOT_FOUND']);
    expect(await statusOf({ revisions: ['yesterday'] })).toEqual([400, 'INVALID_REVISION_NUMBER']);
    expect(await statusOf({ revisions: [] })).toEqual([400, 'VALIDATION_FAILED']);
    expect(await statusOf({ revisions: [head], from: head, to: head })).toEqual([400, 'VALIDATION_FAILED']);
    expect(await statusOf({})).toBe(422);
    expect(await statusOf({ from: head })).toBe(422);
    expect(await statusOf({ revisions: head })).toBe(422);
    expect(await statusOf({ revisions: [1] })).toBe(422);
    expect(await statusOf({ revisions: [head], dry_run: 'no' })).toBe(422);
    await client.branch('aside', { upstream_branch: 'main' });
    const elsewhere = revisionOf(await main.on('aside').post('', folder('elsewhere')));
    expect(await statusOf({ revisions: [elsewhere] })).toEqual([404, 'REVISION_NOT_FOUND']);
    expectStatus(await client.managed('PUT', '/branches/aside/head', { revision: head }), 200, 204);
    expect(await statusOf({ revisions: [elsewhere] }, 'aside')).toEqual([400, 'VALIDATION_FAILED']);
    const path = `/api/management/repositories/default/${client.repository}/branches/main/revert`;
    const anonymous = await server.request('POST', path, { body: { revisions: [head] } });
    expect(anonymous.status).toBe(401);
    expect(await client.headOf('main')).toBe(head);
  });

  it('refuses to change more nodes than one commit may, and can be done in steps [REVERT-011]', async () => {
    const made: string[] = [];
    for (let index = 0; index < 101; index++) {
      made.push(revisionOf(await main.post('', folder(`many-${index}`))));
    }
    const refused = await revert('main', { revisions: made });
    expect([refused.status, refused.json.code]).toEqual([413, 'COMMIT_TOO_LARGE']);
    expect(await reverted('main', { revisions: made.slice(1) })).toMatchObject({ nodes_changed: 100 });
  });

  it('answers a repeated request with the same key as before', async () => {
    const done = revisionOf(await main.post('', folder('once')));
    const path = `/api/management/repositories/default/${client.repository}/branches/main/revert`;
    const headers = { 'idempotency-key': 'revert-once' };
    const body = { revisions: [done] };
    const ask = () => server.request('POST', path, { token: server.adminToken, headers, body });
    const first = expectStatus(await ask(), 200);
    const again = expectStatus(await ask(), 200);
    expect(again.json).toEqual(first.json);
    expect(await client.headOf('main')).toBe(first.json.head);
  });
});
