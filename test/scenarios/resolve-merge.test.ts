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

type Workspace = Awaited<ReturnType<ContentClient['workspace']>>;

const folder = (name: string, title = '') => ({ name, node_type: 'svc:Folder', properties: { title } });
const title = (text: string) => ({ properties: { title: text } });
const resolve = (target: string, body: object) =>
  client.managed('POST', `/branches/${target}/resolve-merge`, body);
const resolved = async (target: string, body: object) => expectStatus(await resolve(target, body), 200).json;

let names = 0;

/** Nodes that `main` and a new branch both changed. */
async function diverged(...paths: readonly string[]) {
  names += 1;
  const source = `source-${names}`;
  const main = await client.workspace();
  const ids: Record<string, string> = {};
  for (const path of paths) ids[path] = expectStatus(await main.post('', folder(path, 'base')), 201).json.id;
  await client.branch(source, { upstream_branch: 'main' });
  const feature: Workspace = main.on(source);
  for (const path of paths) {
    expectStatus(await feature.put(`/${path}`, title('theirs')), 200);
    expectStatus(await main.put(`/${path}`, title('ours')), 200);
  }
  const id = (path: string): string => ids[path] as string;
  return { source, main, feature, id };
}

describe('POST resolve-merge', () => {
  it('keeps ours, takes theirs or the given properties, in one merge commit [MERGE-020]', async () => {
    const { source, main, id } = await diverged('one', 'two', 'three');
    const heads = [await client.headOf('main'), await client.headOf(source)];
    const body = {
      source_branch: source,
      resolutions: [
        { node_id: id('one'), resolution_type: 'keep-ours' },
        { node_id: id('two'), resolution_type: 'keep-theirs' },
        { node_id: id('three'), resolution_type: 'manual', resolved_properties: { title: 'both' } },
      ],
      message: 'settled',
      actor: 'ada',
    };
    const dry = await resolved('main', { ...body, dry_run: true });
    expect([dry.success, dry.nodes_changed, await client.headOf('main')]).toEqual([true, 3, heads[0]]);
    const answer = expectStatus(await resolve('main', body), 200);
    const head = await client.headOf('main');
    expect(revisionOf(answer)).toBe(head);
    expect(answer.json).toEqual({
      success: true,
      revision: Number(head.split('-')[0]),
      head,
      conflicts: [],
      fast_forward: false,
      nodes_changed: 3,
      definitions_changed: 0,
      access_changes: 0,
      target_head: heads[0],
      source_head: heads[1],
    });
    for (const [path, expected] of [
      ['/one', 'ours'],
      ['/two', 'theirs'],
      ['/three', 'both'],
    ] as const) {
      expect(expectStatus(await main.get(path), 200).json.properties.title).toBe(expected);
    }
    const record = expectStatus(await client.managed('GET', `/revisions/${head}`), 200).json;
    expect(record).toMatchObject({
      message: 'settled',
      actor: 'ada',
      parent: heads[0],
      merge_parent: heads[1],
      branch: 'main',
    });
    expect(await client.headOf(source)).toBe(heads[1]);
    const again = expectStatus(
      await client.managed('POST', '/branches/main/merge', { source_branch: source }),
      200,
    );
    expect(again.json).toMatchObject({ success: true, conflicts: [], nodes_changed: 0 });
  });

  it('takes the shorter form with `conflicts` and `resolution`', async () => {
    const { source, main, id } = await diverged('one', 'two');
    const conflicts = [
      { node_id: id('one'), resolution: 'ours' },
      { node_id: id('two'), resolution: 'theirs' },
    ];
    expect(await resolved('main', { source_branch: source, conflicts })).toMatchObject({ success: true });
    expect(expectStatus(await main.get('/one'), 200).json.properties.title).toBe('ours');
    expect(expectStatus(await main.get('/two'), 200).json.properties.title).toBe('theirs');
  });

  it('refuses a resolution of a node that is not in conflict [MERGE-021]', async () => {
    const { source, main, id } = await diverged('one');
    const quiet = expectStatus(await main.post('', folder('quiet')), 201).json.id;
    const head = await client.headOf('main');
    const resolutions = [id('one'), quiet].map((one) => ({ node_id: one, resolution_type: 'keep-ours' }));
    const answer = await resolve('main', { source_branch: source, resolutions });
    expect([answer.status, answer.json.code]).toEqual([400, 'VALIDATION_FAILED']);
    expect(answer.json.message).toContain(quiet);
    expect(await client.headOf('main')).toBe(head);
  });

  it('deletes a node, and a translation, with null properties [MERGE-022]', async () => {
    const { source, main, feature, id } = await diverged('one', 'two');
    expectStatus(await main.post('/one', folder('below')), 201);
    const translate = (on: Workspace, text: string) =>
      on.command('/two', 'translate', { locale: 'de', translations: { '/title': text } });
    expectStatus(await translate(main, 'unser'), 200);
    expectStatus(await translate(feature, 'euer'), 200);
    const gone = { resolution_type: 'manual', resolved_properties: null };
    const resolutions = [
      { node_id: id('one'), ...gone },
      { node_id: id('two'), resolution_type: 'keep-ours' },
      { node_id: id('two'), translation_locale: 'de', ...gone },
    ];
    expect(await resolved('main', { source_branch: source, resolutions })).toMatchObject({ success: true });
    for (const path of ['/one', '/one/below']) expectStatus(await main.get(path), 404);
    expect(expectStatus(await main.get('/two'), 200).json.translations).toBe(null);
  });

  it('resolves references to nodes that it adds, in translations too [TRANS-030]', async () => {
    const { source, main, feature, id } = await diverged('one');
    for (const [on, text] of [
      [main, 'unser'],
      [feature, 'euer'],
    ] as const)
      await on.done('/one', 'translate', { locale: 'de', translations: { '/title': text } });
    const brought = await feature.add('/', 'brought');
    const link = { 'svc:ref': '/brought' };
    const node = { node_id: id('one'), resolution_type: 'manual' };
    const resolutions = [
      { ...node, resolved_properties: { link } },
      { ...node, translation_locale: 'de', resolved_properties: { link } },
    ];
    expect(await resolved('main', { source_branch: source, resolutions })).toMatchObject({ success: true });
    const expected = { 'svc:ref': brought.id, 'svc:path': '/brought' };
    const { properties, translations } = await main.node('/one');
    expect([properties.link, translations]).toEqual([expected, { de: { link: expected } }]);
  });

  it('answers with the conflicts that have no resolution, and writes nothing [MERGE-023]', async () => {
    const { source, main, id } = await diverged('one', 'two');
    const head = await client.headOf('main');
    const resolutions = [{ node_id: id('one'), resolution_type: 'keep-theirs' }];
    expect(await resolved('main', { source_branch: source, resolutions })).toEqual({
      success: false,
      revision: Number(head.split('-')[0]),
      head,
      fast_forward: false,
      nodes_changed: 0,
      definitions_changed: 0,
      access_changes: 0,
      target_head: head,
      source_head: await client.headOf(source),
      conflicts: [
        {
          node_id: id('two'),
          workspace: main.name,
          path: '/two',
          conflict_type: 'BothModified',
          base_properties: { title: 'base' },
          target_properties: { title: 'ours' },
          source_properties: { title: 'theirs' },
          base_path: '/two',
          target_path: '/two',
          source_path: '/two',
          base_published: false,
          target_published: false,
          source_published: false,
        },
      ],
    });
    expect(await client.headOf('main')).toBe(head);
  });

  it('refuses to settle what has moved on since, either side [MERGE-028]', async () => {
    const { source, main, feature, id } = await diverged('one');
    const resolutions = [{ node_id: id('one'), resolution_type: 'keep-theirs' }];
    const expected = {
      expected_target_head: await client.headOf('main'),
      expected_source_head: await client.headOf(source),
    };
    const fresh = { source_branch: source, resolutions, ...expected };
    expectStatus(await main.post('', folder('later')), 201);
    const moved = revisionOf(await feature.put('/one', title('theirs again')));
    for (const [field, value] of Object.entries(expected)) {
      const answer = await resolve('main', { source_branch: source, resolutions, [field]: value });
      expect([answer.status, answer.json.code]).toEqual([409, 'CONFLICT']);
      expect(answer.json.details).toEqual({
        target_head: await client.headOf('main'),
        source_head: moved,
      });
    }
    expect((await resolve('main', fresh)).status).toBe(409);
    const renewed = {
      ...fresh,
      expected_target_head: await client.headOf('main'),
      expected_source_head: moved,
    };
    expect(await resolved('main', renewed)).toMatchObject({ success: true });
    expect((await resolve('main', { ...fresh, expected_source_head: 'now' })).status).toBe(400);
  });

  it('refuses protected targets, missing branches, tags, and empty bodies', async () => {
    const { source, id } = await diverged('one');
    const resolutions = [{ node_id: id('one'), resolution_type: 'keep-theirs' }];
    const revision = await client.headOf(source);
    await client.branch('shielded', { upstream_branch: 'main', protected: true });
    expectStatus(await client.managed('POST', '/tags', { name: 'marked', revision }), 201);
    expect((await resolve('shielded', { source_branch: source, resolutions })).status).toBe(403);
    for (const [target, from] of [
      ['never', source],
      ['main', 'never'],
      ['main', 'marked'],
      ['marked', 'main'],
    ] as const) {
      const answer = await resolve(target, { source_branch: from, resolutions });
      expect([answer.status, answer.json.code]).toEqual([404, 'BRANCH_NOT_FOUND']);
    }
    const wrong = [
      [{ resolutions }, 422],
      [{ source_branch: source }, 422],
      [{ source_branch: source, resolutions: [{ resolution_type: 'manual' }] }, 422],
      [{ source_branch: source, resolutions: [{ node_id: id('one') }] }, 422],
      [{ source_branch: source, resolutions: [{ node_id: id('one'), resolution_type: 'manual' }] }, 422],
      [{ source_branch: source, resolutions: [{ node_id: id('one'), resolution_type: 'best' }] }, 400],
    ] as const;
    for (const [body, status] of wrong) expect((await resolve('main', body)).status).toBe(status);
    const address = `/api/management/repositories/default/${client.repository}/branches/main/resolve-merge`;
    const anonymous = await server.request('POST', address, { body: { source_branch: source, resolutions } });
    expect(anonymous.status).toBe(401);
  });
});
