import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ContentClient, expectStatus, Space } from '#test/support/content-client.ts';
import { startServer, type TestServer } from '#test/support/server.ts';

/** The least that can be configured, so that few levels reach it. */
const PATH_BYTES_MAX = 256;

const NAME_BYTES = 40;

let server: TestServer;
let client: ContentClient;
let space: Space;
/** The deepest path below `/top`: the longest that is allowed. */
let deepest: string;

beforeAll(async () => {
  server = await startServer({ config: `[limits]\npath_bytes_max = ${PATH_BYTES_MAX}` });
  client = await ContentClient.on(server);
});

afterAll(() => server.close());

const folder = (name: string) => ({ name, node_type: 'svc:Folder', properties: {} });
const level = (depth: number) => `${depth}`.padEnd(NAME_BYTES, 'x');

/** Makes `/top` with a chain of nodes below it, down to a path that is as long as paths may be. */
async function fillTo(target: Space): Promise<string> {
  await target.add('/', 'top');
  let path = '/top';
  for (let depth = 0; path.length + NAME_BYTES + 2 < PATH_BYTES_MAX; depth++) {
    await target.add(path, level(depth));
    path += `/${level(depth)}`;
  }
  const name = 'z'.repeat(PATH_BYTES_MAX - path.length - 1);
  await target.add(path, name);
  return `${path}/${name}`;
}

describe('a path that would be longer than `path_bytes_max`', () => {
  beforeAll(async () => {
    space = await client.workspace();
    deepest = await fillTo(space);
    await space.add('/', 'other');
  });

  const refusal = {
    status: 400,
    json: {
      code: 'VALIDATION_FAILED',
      message: `The path is longer than ${PATH_BYTES_MAX} bytes`,
      field: 'path',
    },
  };

  const parentOfDeepest = (): string => deepest.slice(0, deepest.lastIndexOf('/'));
  const tooLong = (): string => 'z'.repeat(PATH_BYTES_MAX - parentOfDeepest().length);

  it('is reached by its address while it is not longer [HTTP-055]', async () => {
    expect(deepest).toHaveLength(PATH_BYTES_MAX);
    expect(expectStatus(await space.get(deepest), 200).json.path).toBe(deepest);
    expectStatus(await space.put(deepest, { properties: { title: 'far down' } }), 200);
    expectStatus(await space.get(`${deepest}@title`), 200);
    expect((await space.get(`${deepest}/a`)).status).toBe(404);
  });

  it.each<[string, () => Promise<unknown>]>([
    ['a create', () => space.post(deepest, folder('a'))],
    ['a create of what is missing above', () => space.post(`${deepest}/a/b?deep=true`, folder('c'))],
    ['a rename', () => space.command('/top', 'rename', { newName: 'topmost' })],
    ['a move', () => space.command('/top', 'move', { targetPath: '/other/top' })],
    ['a copy', () => space.command('/top', 'copy_tree', { targetPath: '/other/top' })],
    ['a rename of a node without children', () => space.command(deepest, 'rename', { newName: tooLong() })],
    [
      'a move of one',
      () => space.command('/other', 'move', { targetPath: `${parentOfDeepest()}/${tooLong()}` }),
    ],
    [
      'a copy of one',
      () => space.command('/other', 'copy', { targetPath: parentOfDeepest(), newName: tooLong() }),
    ],
  ])('refuses %s, and nothing has changed [HTTP-055]', async (_what, ask) => {
    const before = await client.headRevision();
    expect(await ask()).toMatchObject(refusal);
    expect(await client.headRevision()).toBe(before);
  });

  it('refuses several operations of which one gives it, and keeps none of them [HTTP-055]', async () => {
    const { id } = await space.node('/top');
    const answer = await space.command('/', 'commit', {
      message: 'several',
      operations: [
        { type: 'create', node: { ...folder('beside'), path: '/beside' } },
        { type: 'rename', node_id: id, new_name: 'topmost' },
      ],
    });
    expect(answer).toMatchObject({ status: 400, json: { code: 'VALIDATION_FAILED' } });
    expect(answer.json.message).toContain(refusal.json.message);
    expect((await space.get('/beside')).status).toBe(404);
  });

  it('does not prevent a rename of the tree that still fits', async () => {
    expectStatus(await space.command('/top', 'rename', { newName: 'toq' }), 200, 204);
    expectStatus(await space.get(deepest.replace('/top', '/toq')), 200);
    expectStatus(await space.command('/toq', 'rename', { newName: 'top' }), 200, 204);
  });

  it('may stay as long as it is from a time with a higher limit, and become shorter [HTTP-055]', async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'grove-long-paths-'));
    const earlier = await startServer({ dataDir, config: '[limits]\npath_bytes_max = 1024' });
    const before = await ContentClient.on(earlier);
    const made = await before.workspace();
    await made.add('/', 'top');
    let long = '/top';
    for (let depth = 0; long.length <= PATH_BYTES_MAX + NAME_BYTES; depth++) {
      await made.add(long, level(depth));
      long += `/${level(depth)}`;
    }
    await earlier.close();
    const now = await startServer({ dataDir, config: `[limits]\npath_bytes_max = ${PATH_BYTES_MAX}` });
    try {
      const later = new ContentClient(now, before.repository);
      const tree = new Space(later, made.name);
      expect(await tree.command('/top', 'rename', { newName: 'topmost' })).toMatchObject(refusal);
      expectStatus(await tree.command('/top', 'rename', { newName: 'tops' }), 400);
      expectStatus(await tree.command('/top', 'rename', { newName: 'to' }), 200, 204);
      expectStatus(await tree.command('/to', 'move', { targetPath: '/t' }), 200, 204);
      const deep = `/t${long.slice('/top'.length)}`;
      await tree.add('/', 'beside');
      await later.branch('edited', { upstream_branch: 'main' });
      expectStatus(await tree.command('/beside', 'rename', { newName: 'moved' }), 200, 204);
      expectStatus(await tree.on('edited').put(deep, { properties: { title: 'edited' } }), 200);
      const merged = await later.managed('POST', '/branches/main/merge', { source_branch: 'edited' });
      expect(expectStatus(merged, 200).json).toMatchObject({ success: true, nodes_changed: 1 });
      expectStatus(await tree.delete('/t'), 200, 204);
      const removal = await later.headRevision();
      const reverted = await later.managed('POST', '/branches/main/revert', { revisions: [removal] });
      expectStatus(reverted, 200, 201);
      expectStatus(await tree.get('/t'), 200);
    } finally {
      await now.close();
      rmSync(dataDir, { recursive: true });
    }
  });

  it('is a conflict of the node and of what was moved, in a merge [HTTP-055] [MERGE-042]', async () => {
    const main = await client.workspace();
    const { id: top } = await main.add('/', 'top');
    await client.branch('deep', { upstream_branch: 'main' });
    expectStatus(await main.command('/top', 'rename', { newName: 'topmost' }), 200, 204);
    const source = main.on('deep');
    let path = '/top';
    for (let depth = 0; path.length + NAME_BYTES + 2 < PATH_BYTES_MAX; depth++) {
      await source.add(path, level(depth));
      path += `/${level(depth)}`;
    }
    const { id: last } = await source.add(path, 'z'.repeat(PATH_BYTES_MAX - path.length - 1));
    const before = await client.headRevision();
    const list = await client.managed('GET', '/branches/main/conflicts/deep');
    const { conflicts } = expectStatus(list, 200).json;
    expect(conflicts).toMatchObject([
      {
        node_id: last,
        violations: [{ violation_type: 'PathTooLong', with: [{ node_id: top, path: '/topmost' }] }],
      },
      { node_id: top, violations: [{ violation_type: 'PathTooLong', with: [{ node_id: last }], count: 1 }] },
    ]);
    expect(conflicts[0].violations[0].message).toBe(
      `The path is longer than ${PATH_BYTES_MAX} bytes; '/topmost' is placed as on the target`,
    );
    for (const rest of [{ dry_run: true }, {}]) {
      const answer = await client.managed('POST', '/branches/main/merge', { source_branch: 'deep', ...rest });
      expect(answer.json).toMatchObject({ success: false, conflicts });
    }
    expect(await client.headRevision()).toBe(before);
    const resolutions = [{ node_id: top, resolution_type: 'keep-theirs' }];
    const settled = await client.managed('POST', '/branches/main/resolve-merge', {
      source_branch: 'deep',
      resolutions,
    });
    expect(expectStatus(settled, 200).json).toMatchObject({ success: true });
    expectStatus(await main.get(`${path}/${'z'.repeat(PATH_BYTES_MAX - path.length - 1)}`), 200);
  });
});
