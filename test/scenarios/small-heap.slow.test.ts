import { afterAll, beforeAll, expect, it } from 'vitest';
import { anything } from '#test/support/content-client.ts';
import { type ServerProcess, startServerProcess } from '#test/support/server-process.ts';

/** Of which copies of the tree below would take several times as much, one with the other. */
const HEAP_MIB = 64;
const NODES = 15_000;
const NODES_AT_ONCE = 1_000;

let server: ServerProcess;
let token: string;
const space = '/api/repository/trees/main/head/space';

const ask = (method: string, path: string, body?: unknown) =>
  server.request(method, path, body === undefined ? { token } : { token, body });

beforeAll(async () => {
  server = await startServerProcess({ env: { NODE_OPTIONS: `--max-old-space-size=${HEAP_MIB}` } });
  token = await server.logIn();
  expect((await ask('POST', '/api/repositories', { repo_id: 'trees' })).status).toBe(201);
  expect((await ask('PUT', '/api/workspaces/trees/space', anything)).status).toBe(204);
  const top = { name: 'top', node_type: 'svc:Folder' };
  expect((await ask('POST', `${space}/`, top)).status).toBe(201);
  for (let first = 0; first < NODES; first += NODES_AT_ONCE) {
    const operations = Array.from({ length: NODES_AT_ONCE }, (_, at) => ({
      type: 'create',
      parent_path: '/top',
      node: { name: `n${first + at}`, node_type: 'svc:Folder', properties: { text: 'some text' } },
    }));
    const answer = await ask('POST', `${space}/svc:cmd/commit`, { message: 'more', operations });
    expect(answer.status, answer.text.slice(0, 300)).toBeLessThan(300);
  }
});

afterAll(() => server.close());

const commands: readonly [string, () => ReturnType<typeof ask>][] = [
  ['copied', () => ask('POST', `${space}/top/svc:cmd/copy_tree`, { targetPath: '/copy' })],
  ['moved', () => ask('POST', `${space}/top/svc:cmd/move`, { targetPath: '/moved' })],
  ['renamed', () => ask('POST', `${space}/top/svc:cmd/rename`, { newName: 'renamed' })],
  ['deleted', () => ask('DELETE', `${space}/top`)],
];

it.each(commands)(
  'a tree that does not fit into the heap is not %s, and the process continues',
  async (_, send) => {
    const { json, status } = await send();
    expect({ status, code: json.code }).toEqual({ status: 413, code: 'COMMIT_TOO_LARGE' });
    expect((await ask('GET', `${space}/top`)).status).toBe(200);
  },
);
