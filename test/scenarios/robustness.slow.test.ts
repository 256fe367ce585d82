import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { ContentClient, expectStatus, type Space } from '#test/support/content-client.ts';
import type { TestResponse } from '#test/support/http-client.ts';
import { startServer, type TestServer } from '#test/support/server.ts';

let server: TestServer;
let client: ContentClient;

beforeAll(async () => {
  server = await startServer();
  client = await ContentClient.on(server);
});

afterAll(() => server.close());

/** Creates folders `n0`, `n1`, … below a path, in commits of ten thousand. */
async function fill(space: Space, path: string, count: number): Promise<void> {
  const step = 10_000;
  for (let start = 0; start < count; start += step) {
    const operations = Array.from({ length: Math.min(step, count - start) }, (_, index) => ({
      type: 'create',
      parent_path: path,
      node: { name: `n${start + index}`, node_type: 'svc:Folder' },
    }));
    await space.done('/', 'commit', { message: `from ${start}`, operations });
  }
}

describe('ten thousand creates of one path at the same time', () => {
  it('make one node; the others get the conflict answer [ROB-001]', async () => {
    const space = await client.workspace();
    await space.add('/', 'arena');
    const body = { name: 'prize', node_type: 'svc:Folder' };
    const answers: TestResponse[] = await Promise.all(
      Array.from({ length: 10_000 }, () => space.post('/arena', body)),
    );
    const statuses = new Map<number, number>();
    for (const { status } of answers) statuses.set(status, (statuses.get(status) ?? 0) + 1);
    expect(Object.fromEntries(statuses)).toEqual({ 201: 1, 409: 9_999 });
    expect(await space.names('/arena')).toEqual(['prize']);
  });
});

describe('a tree five hundred levels deep', () => {
  it('is created, read, moved and deleted [ROB-004]', async () => {
    const space = await client.workspace();
    const levels = 500;
    let path = '';
    for (let level = 0; level < levels; level += 1) {
      await space.add(path === '' ? '/' : path, 'd');
      path += '/d';
    }
    const deepest = await space.node(path);
    expect(deepest.path).toBe(path);
    expect((await space.get('/d?deep=true&flatten=true')).json).toHaveLength(100);
    await space.done('/d', 'move', { targetPath: '/moved' });
    expect((await space.node(`/moved${path.slice(2)}`)).id).toBe(deepest.id);
    await space.done('/moved', 'copy_tree', { targetPath: '/copied' });
    expect((await space.node(`/copied${path.slice(2)}`)).name).toBe('d');
    expectStatus(await space.delete('/moved'), 200);
    expect((await space.get(`/$ref/${deepest.id}`)).status).toBe(404);
    expect(await space.names()).toEqual(['copied']);
  });
});

/** Three members do together what one does. The size matters to each of them, so it is reached by one alone. */
const share = inject('natsUrl') === undefined ? 1 : 10;

describe('a hundred thousand children of one parent, or a tenth in a cluster', () => {
  const count = 100_000 / share;
  let space: Space;

  beforeAll(async () => {
    space = await client.workspace();
    await space.add('/', 'top');
    await fill(space, '/top', count);
  });

  it('are listed by pages, each once, in order [ROB-005]', async () => {
    let cursor: string | null = '';
    let expected = 0;
    while (cursor !== null) {
      const { json } = expectStatus(await space.get(`/top/?limit=1000&cursor=${cursor}`), 200);
      for (const { name } of json.items) expect(name).toBe(`n${expected++}`);
      cursor = json.next_cursor;
    }
    expect(expected).toBe(count);
  });

  it('are read as one tree while other requests are answered [ROB-012]', async () => {
    const order: string[] = [];
    const tree = space.get('/top?flatten=true').then((answer) => {
      order.push('tree');
      return answer;
    });
    for (let round = 0; round < 20; round += 1) {
      expectStatus(await server.request('GET', '/health'), 200);
      order.push('health');
    }
    const { json } = expectStatus(await tree, 200);
    expect(json).toHaveLength(count);
    expect(order.slice(0, 5)).toEqual(['health', 'health', 'health', 'health', 'health']);
  });

  it('leave reads of one of them and its siblings exact [ROB-005]', async () => {
    expect((await space.node('/top/n7777')).name).toBe('n7777');
    await space.done('/top/n0', 'reorder', { targetPath: `/top/n${count - 1}` });
    const { json } = await space.get('/top/?limit=1');
    expect(json.items[0].name).toBe('n1');
  });
});

describe('a command that would change too many nodes', () => {
  it('is refused with 413 and changes nothing [ROB-011]', async () => {
    const small = await startServer({ config: '[limits]\ncommit_nodes_max = 100\n' });
    try {
      const theirs = await ContentClient.on(small);
      const space = await theirs.workspace();
      await space.add('/', 'top');
      await fill(space, '/top', 100);
      const before = await theirs.headRevision();
      const writes = [
        await space.delete('/top'),
        await space.command('/top', 'move', { targetPath: '/moved' }),
        await space.command('/top', 'copy_tree', { targetPath: '/copied' }),
        await space.command('/top', 'publish_tree'),
      ];
      for (const { json, status } of writes) {
        expect([status, json.code]).toEqual([413, 'COMMIT_TOO_LARGE']);
      }
      expect(await theirs.headRevision()).toBe(before);
      expect((await space.get('/top?flatten=true')).json).toHaveLength(100);
    } finally {
      await small.close();
    }
  });
});
