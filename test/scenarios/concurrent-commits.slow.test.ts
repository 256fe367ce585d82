import { request } from 'node:http';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { anything } from '#test/support/content-client.ts';
import { type ServerProcess, startServerProcess } from '#test/support/server-process.ts';

/** Less than the copies below take together, and more than each of them. */
const HEAP_MIB = 128;
const REPOSITORIES = 8;
const NODES = 4_000;
const NODES_AT_ONCE = 1_000;

let server: ServerProcess;
let token: string;
const names = Array.from({ length: REPOSITORIES }, (_, n) => `trees-${n}`);
const spaceOf = (repository: string): string => `/api/repository/${repository}/main/head/space`;

const ask = (method: string, path: string, body?: unknown) =>
  server.request(method, path, body === undefined ? { token } : { token, body });

beforeAll(async () => {
  server = await startServerProcess({ env: { NODE_OPTIONS: `--max-old-space-size=${HEAP_MIB}` } });
  token = await server.logIn();
  for (const name of names) {
    expect((await ask('POST', '/api/repositories', { repo_id: name })).status).toBe(201);
    expect((await ask('PUT', `/api/workspaces/${name}/space`, anything)).status).toBe(204);
    const top = { name: 'top', node_type: 'svc:Folder' };
    expect((await ask('POST', `${spaceOf(name)}/`, top)).status).toBe(201);
    for (let first = 0; first < NODES; first += NODES_AT_ONCE) {
      const operations = Array.from({ length: NODES_AT_ONCE }, (_, at) => ({
        type: 'create',
        parent_path: '/top',
        node: { name: `n${first + at}`, node_type: 'svc:Folder', properties: { text: 'some text' } },
      }));
      const commit = { message: 'more', operations };
      const answer = await ask('POST', `${spaceOf(name)}/svc:cmd/commit`, commit);
      expect(answer.status, answer.text.slice(0, 300)).toBeLessThan(300);
    }
  }
});

afterAll(() => server.close());

/** Copies the tree of a repository, however long that takes. @returns the status */
function copy(repository: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const path = `${spaceOf(repository)}/top/svc:cmd/copy_tree`;
    const sent = request(
      { host: '127.0.0.1', port: server.port, method: 'POST', path, headers },
      (answer) => {
        answer.resume();
        answer.on('end', () => resolve(answer.statusCode ?? 0));
      },
    );
    sent.on('error', reject);
    sent.end(JSON.stringify({ targetPath: '/copy' }));
  });
}

it('large commits of many repositories at once are all made, one after the other where the heap is small', async () => {
  expect(await Promise.all(names.map(copy))).toEqual(Array(REPOSITORIES).fill(200));
  expect((await ask('GET', `${spaceOf('trees-0')}/copy/n1`)).status).toBe(200);
});
