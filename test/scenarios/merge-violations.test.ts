import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ContentClient, expectStatus } from '#test/support/content-client.ts';
import { startServer, type TestServer } from '#test/support/server.ts';

let server: TestServer;
let client: ContentClient;

beforeAll(async () => {
  server = await startServer();
  client = await ContentClient.on(server);
});

afterAll(() => server.close());

const text = (name: string, more: object = {}) => ({ name, type: 'String', ...more });
const types = (branch: string, method: string, rest: string, body?: object) =>
  server.admin(method, `/api/management/${client.repository}/${branch}/nodetypes${rest}`, body);
const define = async (branch: string, name: string, definition: object) => {
  const body = { node_type: { name, ...definition } };
  expectStatus(await types(branch, 'POST', '', body), 200, 201);
};
const merge = async (target: string, body: object) =>
  expectStatus(await client.managed('POST', `/branches/${target}/merge`, body), 200).json;
const resolve = (target: string, body: object) =>
  client.managed('POST', `/branches/${target}/resolve-merge`, body);

/** The conflicts of the list; a merge, its dry run and one without resolutions name the same. */
async function conflicts(target: string, source: string) {
  const head = await client.headOf(target);
  const list = expectStatus(await client.managed('GET', `/branches/${target}/conflicts/${source}`), 200).json;
  const said = { success: false, nodes_changed: 0, target_head: head, conflicts: list.conflicts };
  for (const dryRun of [true, false]) {
    expect(await merge(target, { source_branch: source, dry_run: dryRun })).toMatchObject(said);
    const body = { source_branch: source, resolutions: [], dry_run: dryRun };
    expect(expectStatus(await resolve(target, body), 200).json).toMatchObject(said);
  }
  expect(await client.headOf(target)).toBe(head);
  return list.conflicts;
}

describe('what only both sides of a merge make invalid', () => {
  it('is listed whole by every way to ask, and settled with what was listed [MERGE-034, MERGE-035, MERGE-040]', async () => {
    const ARTICLE = 'fit:Article';
    const main = await client.workspace();
    await define('main', ARTICLE, { strict: true, properties: [text('title')] });
    await define('main', 'fit:Coded', { properties: [text('code', { unique: true })] });
    await define('main', 'fit:Gone', { properties: [] });
    await client.branch('stricter', { upstream_branch: 'main' });
    const stricter = main.on('stricter');
    const properties = [text('title'), text('author', { required: true })];
    await define('stricter', ARTICLE, { strict: true, properties });
    expectStatus(await types('stricter', 'DELETE', '/fit:Gone'), 204);
    const add = async (space: typeof main, name: string, node_type: string, given: object) =>
      expectStatus(await space.post('', { name, node_type, properties: given }), 201).json.id as string;
    const article = await add(main, 'article', ARTICLE, { title: 'new' });
    const mine = await add(main, 'mine', 'fit:Coded', { code: '1' });
    const used = await add(main, 'used', 'fit:Gone', {});
    const yours = await add(stricter, 'yours', 'fit:Coded', { code: '1' });

    for (const [target, source] of [
      ['main', 'stricter'],
      ['stricter', 'main'],
    ] as const) {
      const listed = await conflicts(target, source);
      expect(listed.map(({ node_id }: { node_id: string }) => node_id)).toEqual([
        `node_type:${ARTICLE}`,
        'node_type:fit:Gone',
        article,
        mine,
        used,
        yours,
      ]);
      expect(listed[2]).toMatchObject({
        workspace: main.name,
        path: '/article',
        conflict_type: 'BothModified',
        violations: [
          {
            violation_type: 'InvalidContent',
            message: expect.stringContaining(`Missing required property 'author' for NodeType '${ARTICLE}'`),
            property: 'author',
            with: [{ node_id: `node_type:${ARTICLE}`, workspace: null, path: `/node_type/${ARTICLE}` }],
          },
        ],
      });
      expect(listed[3].violations).toMatchObject([
        { violation_type: 'DuplicateValue', with: [{ node_id: yours, path: '/yours' }] },
      ]);
      expect(listed[4].violations).toMatchObject([
        { violation_type: 'MissingDefinition', with: [{ node_id: 'node_type:fit:Gone' }] },
      ]);
    }

    const listed = await conflicts('main', 'stricter');
    // What was read is sent back with the resolution.
    const resolutions = [
      { ...listed[2], resolution_type: 'manual', resolved_properties: { title: 'new', author: 'ada' } },
      { node_id: mine, resolution_type: 'keep-ours' },
      { ...listed[1], resolution_type: 'keep-ours' },
    ];
    const wrong = [
      { node_id: article, resolution_type: 'manual', resolved_properties: { title: 'new', writer: 'ada' } },
      ...resolutions.slice(1),
    ];
    const refused = expectStatus(
      await resolve('main', { source_branch: 'stricter', resolutions: wrong }),
      400,
    );
    expect(refused.json).toMatchObject({
      code: 'VALIDATION_FAILED',
      message: expect.stringContaining("'/article' would be invalid"),
      details: { errors: [expect.stringContaining('author'), expect.stringContaining("'writer'")] },
    });
    const body = { source_branch: 'stricter', resolutions };
    const dry = expectStatus(await resolve('main', { ...body, dry_run: true }), 200).json;
    const done = expectStatus(await resolve('main', body), 200).json;
    for (const result of [dry, done]) {
      expect(result).toMatchObject({ success: true, conflicts: [], definitions_changed: 2 });
    }
    expect((await main.node('/article')).properties).toMatchObject({ title: 'new', author: 'ada' });
    expectStatus(await main.get('/yours'), 404);
    expectStatus(await types('main', 'GET', '/fit:Gone'), 200);
    expect(await merge('stricter', { source_branch: 'main' })).toMatchObject({ success: true });
    expect((await stricter.node('/article')).properties.author).toBe('ada');
    expectStatus(await types('stricter', 'GET', '/fit:Gone'), 200);
  });

  it('is a type that the workspace does not take any more [MERGE-039]', async () => {
    const main = await client.workspace();
    await client.branch('older', { upstream_branch: 'main' });
    const node = { name: 'folder', node_type: 'svc:Folder', properties: { title: 'x' } };
    const { id } = expectStatus(await main.on('older').post('', node), 201).json;
    const lists = { allowed_node_types: ['svc:Page'], allowed_root_node_types: [] };
    const put = await server.admin('PUT', `/api/workspaces/${client.repository}/${main.name}`, lists);
    expectStatus(put, 204);
    const listed = await conflicts('main', 'older');
    expect(listed).toMatchObject([
      {
        node_id: id,
        target_path: null,
        source_path: '/folder',
        violations: [{ violation_type: 'TypeNotAllowed', with: [] }],
      },
    ]);
    const body = { source_branch: 'older', resolutions: [{ ...listed[0], resolution_type: 'keep-theirs' }] };
    expect(expectStatus(await resolve('main', body), 200).json).toMatchObject({ success: true });
    expect((await main.node('/folder')).id).toBe(id);
  });
});
