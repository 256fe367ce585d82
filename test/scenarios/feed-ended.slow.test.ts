import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { FileConsumer } from '#test/support/feed-consumers.ts';
import { type ServerProcess, startServerProcess } from '#test/support/server-process.ts';
import { until } from '#test/support/until.ts';

const main = join(import.meta.dirname, '../support/feed-member.ts');
const managed = '/api/management/repositories/default/blog/branches';

let place: string;
let server: ServerProcess | undefined;

beforeEach(() => {
  place = mkdtempSync(join(tmpdir(), 'feed-ended-'));
});
afterEach(async () => {
  await server?.close();
  server = undefined;
  rmSync(place, { recursive: true, force: true });
});

async function start(env: Readonly<Record<string, string>> = {}): Promise<string> {
  const FEED_NOTED = join(place, 'noted');
  const dataDir = join(place, 'data');
  server = await startServerProcess({ main, dataDir, env: { FEED_NOTED, ...env } });
  return await server.logIn();
}

const request = (token: string, method: string, path: string, body?: object) =>
  (server as ServerProcess).request(method, path, body === undefined ? { token } : { token, body });

/** Parts of the ids of the branches that the consumer was told are removed, with repetitions. */
function ended(): string[] {
  const { noted } = new FileConsumer(join(place, 'noted'));
  return noted.filter((note) => note.ended).map(({ branch }) => branch.split('/').at(-2) as string);
}

/** Names of the branches that a start of the consumer was noted of. */
function started(): string[] {
  const { noted } = new FileConsumer(join(place, 'noted'));
  return noted.filter((note) => note.start !== undefined).map(({ branch }) => branch.split('/')[2] as string);
}

async function prepared(): Promise<string> {
  const token = await start();
  await request(token, 'POST', '/api/repositories', { repo_id: 'blog' });
  await request(token, 'POST', managed, { name: 'one', upstream_branch: 'main' });
  const isStarted = (name: string): boolean => started().some((part) => part.startsWith(`${name}~`));
  await until(() => isStarted('main'), 'it has started on main');
  // A fork has an entry of its own, and a consumer starts with its next commit or when it is opened.
  const node = { name: 'n', node_type: 'svc:Folder', properties: {} };
  await request(token, 'PUT', '/api/workspaces/blog/w', {
    allowed_node_types: [],
    allowed_root_node_types: [],
  });
  expect((await request(token, 'POST', '/api/repository/blog/one/head/w/', node)).status).toBe(201);
  await until(() => isStarted('one'), 'it has started on the fork');
  await (server as ServerProcess).kill('SIGTERM');
  await server?.close();
  return token;
}

it.each([
  ['before it is told', 'before', 1],
  ['after it was told', 'after', 2],
])('a consumer is told of a removed branch when the process dies %s', async (_, when, times) => {
  await prepared();
  const token = await start({ FEED_ENDED: when });
  await request(token, 'DELETE', `${managed}/one`).catch(() => undefined);
  expect((await server?.exited)?.signal).toBe('SIGKILL');
  await server?.close();
  await start();
  await until(() => ended().length === times, 'it was told');
  expect(new Set(ended()).size).toBe(1);
  expect(ended()[0]).toMatch(/^one~/);
  // It is told no more.
  await (server as ServerProcess).kill('SIGTERM');
  await server?.close();
  const again = await start();
  await request(again, 'POST', managed, { name: 'two', upstream_branch: 'main' });
  await request(again, 'DELETE', `${managed}/two`);
  await until(() => ended().length === times + 1, 'it was told of another branch');
  expect(ended().at(-1)).toMatch(/^two~/);
});

it('a consumer is told of all branches of a removed repository, whose process dies in between', async () => {
  await prepared();
  const token = await start({ FEED_ENDED: 'after' });
  await request(token, 'DELETE', '/api/repositories/blog').catch(() => undefined);
  expect((await server?.exited)?.signal).toBe('SIGKILL');
  await server?.close();
  await start();
  const names = (): string[] => [...new Set(ended().map((part) => part.slice(0, part.indexOf('~'))))].sort();
  await until(() => names().length === 2, 'it was told of both');
  expect(names()).toEqual(['main', 'one']);
});
