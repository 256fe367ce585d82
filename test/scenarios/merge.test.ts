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
const title = (text: string) => ({ properties: { title: text } });
const merge = (target: string, body: object) => client.managed('POST', `/branches/${target}/merge`, body);
const merged = async (target: string, body: object) => expectStatus(await merge(target, body), 200).json;

describe('POST merge', () => {
  it('writes a merge commit by default, and answers its revision as a number and a text [MERGE-001, MERGE-002, MERGE-010, MERGE-025, BR-025]', async () => {
    const main = await client.workspace();
    expectStatus(await main.post('', folder('kept')), 201);
    await client.branch('three-way', { upstream_branch: 'main' });
    const feature = main.on('three-way');
    expectStatus(await feature.post('', folder('new')), 201);
    const sourceHead = revisionOf(await feature.put('/kept', title('theirs')));
    const compare = async () =>
      expectStatus(await client.managed('GET', '/branches/three-way/compare/main'), 200).json;
    expect(await compare()).toMatchObject({ ahead: 2, behind: 0 });
    const targetHead = await client.headOf('main');
    const dry = await merged('main', { source_branch: 'three-way', dry_run: true });
    expect([dry.success, await client.headOf('main')]).toEqual([true, targetHead]);
    const done = await merged('main', { source_branch: 'three-way', message: 'bring it', actor: 'ada' });
    const head = await client.headOf('main');
    expect(done).toEqual({
      success: true,
      revision: Number(head.split('-')[0]),
      head,
      conflicts: [],
      fast_forward: false,
      nodes_changed: 2,
      definitions_changed: 0,
      access_changes: 0,
      target_head: targetHead,
      source_head: sourceHead,
    });
    const record = expectStatus(await client.managed('GET', `/revisions/${head}`), 200).json;
    expect(record).toMatchObject({
      message: 'bring it',
      actor: 'ada',
      parent: targetHead,
      merge_parent: sourceHead,
    });
    expect(expectStatus(await main.get('/kept'), 200).json.properties.title).toBe('theirs');
    expectStatus(await main.get('/new'), 200);
    expect(await compare()).toMatchObject({ ahead: 0 });
    expect(await client.headOf('three-way')).toBe(sourceHead);
  });

  it('stops with conflicts and both heads, and merges nothing when there is nothing to merge [MERGE-014, MERGE-024, MERGE-026]', async () => {
    const main = await client.workspace();
    expectStatus(await main.post('', folder('both', 'base')), 201);
    await client.branch('conflicting', { upstream_branch: 'main' });
    const equal = await merged('main', { source_branch: 'conflicting' });
    expect(equal).toMatchObject({ success: true, nodes_changed: 0, fast_forward: false });
    expect(equal.head).toBe(await client.headOf('main'));
    const sourceHead = revisionOf(await main.on('conflicting').put('/both', title('source')));
    const targetHead = revisionOf(await main.put('/both', title('target')));
    for (const dryRun of [true, false]) {
      expect(await merged('main', { source_branch: 'conflicting', dry_run: dryRun })).toMatchObject({
        success: false,
        revision: Number(targetHead.split('-')[0]),
        target_head: targetHead,
        source_head: sourceHead,
        conflicts: [{ path: '/both', conflict_type: 'BothModified' }],
      });
    }
    expect(await client.headOf('main')).toBe(targetHead);
  });

  it('merges edits of different nodes, and names a node both edited with its three states [MERGE-007]', async () => {
    const main = await client.workspace();
    for (const name of ['mine', 'yours']) expectStatus(await main.post('', folder(name, 'base')), 201);
    await client.branch('disjoint', { upstream_branch: 'main' });
    expectStatus(await main.put('/mine', title('ours')), 200);
    const sourceHead = revisionOf(await main.on('disjoint').put('/yours', title('theirs')));
    const done = await merged('main', { source_branch: 'disjoint' });
    expect(done).toMatchObject({ success: true, nodes_changed: 1 });
    const record = expectStatus(await client.managed('GET', `/revisions/${done.head}`), 200).json;
    expect(record.merge_parent).toBe(sourceHead);
    for (const [path, expected] of [
      ['/mine', 'ours'],
      ['/yours', 'theirs'],
    ] as const) {
      expect(expectStatus(await main.get(path), 200).json.properties.title).toBe(expected);
    }
    expectStatus(await main.put('/yours', title('ours')), 200);
    expectStatus(await main.on('disjoint').put('/yours', title('theirs again')), 200);
    expect((await merged('main', { source_branch: 'disjoint' })).conflicts).toMatchObject([
      {
        path: '/yours',
        conflict_type: 'BothModified',
        base_properties: { title: 'theirs' },
        target_properties: { title: 'ours' },
        source_properties: { title: 'theirs again' },
      },
    ]);
  });

  it('fast-forwards in any spelling, and refuses diverged branches [MERGE-008, MERGE-015]', async () => {
    const main = await client.workspace();
    expectStatus(await main.post('', folder('one')), 201);
    expectStatus(await main.post('', folder('two')), 201);
    await client.branch('forward', { upstream_branch: 'main' });
    const forward = main.on('forward');
    for (const strategy of ['FastForward', 'fast-forward', 'FAST_FORWARD']) {
      const revision = revisionOf(await forward.put('/one', title(strategy)));
      const done = await merged('main', { source_branch: 'forward', strategy });
      expect(done).toMatchObject({ success: true, fast_forward: true, nodes_changed: 0, head: revision });
      expect(expectStatus(await main.get('/one'), 200).json.properties.title).toBe(strategy);
    }
    const place = { targetPath: '/one', move_position: 'before' };
    expectStatus(await main.command('/two', 'reorder', place), 200);
    expectStatus(await forward.put('/two', title('theirs')), 200);
    const refused = await merge('main', { source_branch: 'forward', strategy: 'FastForward' });
    expect([refused.status, refused.json.message]).toEqual([
      400,
      'Fast-forward merge not possible: branches have diverged',
    ]);
    expect(await merged('main', { source_branch: 'forward', strategy: 'three-way' })).toMatchObject({
      success: true,
      fast_forward: false,
    });
    expect((await merge('main', { source_branch: 'forward', strategy: 'octopus' })).status).toBe(400);
  });

  it('refuses protected targets and branches that do not exist [BR-015, MERGE-013]', async () => {
    await client.branch('guarded', { upstream_branch: 'main', protected: true });
    expect((await merge('guarded', { source_branch: 'main' })).status).toBe(403);
    const revision = await client.headOf('main');
    expect((await client.managed('PUT', '/branches/guarded/head', { revision })).status).toBe(403);
    expect((await client.managed('DELETE', '/branches/guarded')).status).toBe(403);
    expectStatus(await client.managed('POST', '/tags', { name: 'marked', revision }), 201);
    for (const [target, source] of [
      ['never', 'main'],
      ['main', 'never'],
      // A merge commit names the head of a branch; neither a tag nor a revision has one.
      ['main', 'marked'],
      ['main', revision],
      ['marked', 'main'],
    ] as const) {
      const answer = await merge(target, { source_branch: source });
      expect([answer.status, answer.json.code]).toEqual([404, 'BRANCH_NOT_FOUND']);
    }
    expect((await merge('main', {})).status).toBe(422);
  });
});
