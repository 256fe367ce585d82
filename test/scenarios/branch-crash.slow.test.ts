import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { CrashPointName } from '#runtime/commit/crash-point.ts';
import { ContentClient, expectStatus, Space } from '#test/support/content-client.ts';
import { type Cut, cutsOf } from '#test/support/cuts.ts';
import { preparedFolder } from '#test/support/prepared-folder.ts';
import { startServer } from '#test/support/server.ts';

const repository = 'blog';

/** Heads of the branches at the beginning. */
const heads = { main: '', old: '' };

/** Token of `admin`. */
let token = '';

/** A data folder with a repository, content on `main`, and a fork named `old`. */
const prepared = preparedFolder(async (server) => {
  await server.createRepository(repository);
  const client = new ContentClient(server, repository);
  const space = await client.workspace();
  await space.addAll('/a', '/a/b', '/c');
  await client.branch('old', { upstream_branch: 'main' });
  await space.on('old').add('/', 'on-old');
  heads.main = await client.headOf('main');
  heads.old = await client.headOf('old');
  token = server.adminToken;
});

/** Folders of the branches of the repository. */
function branchFolders(dataDir: string): string[] {
  const tenant = join(dataDir, 'actors/default');
  const folder = readdirSync(tenant).find((name) => name.startsWith(`${repository}~`)) as string;
  return readdirSync(join(tenant, folder)).filter((name) => name.includes('~'));
}

/**
 * Sends a request about the repository, and checks what is left at each crash point on its way.
 *
 * @param points those that only such a request passes
 */
async function cutEverywhere(
  [method, rest, body]: readonly [method: string, rest: string, body?: unknown],
  points: readonly CrashPointName[],
  check: (client: ContentClient, status: number) => Promise<void>,
): Promise<void> {
  const path = `/api/management/repositories/default/${repository}${rest}`;
  const cuts = await cutsOf(prepared(), { token, method, path, body }, points);
  for (const cut of cuts) await reopened(cut, (client) => check(client, cut.status));
}

async function reopened(
  { dataDir, points }: Cut,
  check: (client: ContentClient) => Promise<void>,
): Promise<void> {
  const server = await startServer({ dataDir, adminToken: token });
  try {
    const client = new ContentClient(server, repository);
    await check(client);
    const listed = expectStatus(await client.managed('GET', '/branches'), 200).json;
    expect(branchFolders(dataDir)).toHaveLength(listed.length);
    const removed = join(dataDir, 'actors/.removed');
    // Only what is kept for a while, whole.
    for (const name of existsSync(removed) ? readdirSync(removed) : [])
      expect(name).toMatch(/^\d+-[0-9a-f]{32}$/);
  } catch (cause) {
    throw new Error(`cut at ${points.join(', ')}: ${(cause as Error).message}`, { cause });
  } finally {
    await server.close();
    rmSync(dataDir, { recursive: true, force: true });
  }
}

it('a fork is there whole or not at all, cut at any point [DUR-001]', () =>
  cutEverywhere(
    ['POST', '/branches', { name: 'cut', upstream_branch: 'main' }],
    ['mid-fork', 'before-fork-rewind', 'before-branch-register'],
    async (client, status) => {
      const found = await client.managed('GET', '/branches/cut');
      if (status === 201) expect(found.status).toBe(200);
      if (found.status === 404) await client.branch('cut', { upstream_branch: 'main' });
      const main = new Space(client, 'space-1');
      const { json: made } = expectStatus(await client.managed('GET', '/branches/cut'), 200);
      expect(made.head).toBe(made.created_from);
      const tree = '/?deep=true&flatten=true';
      expect((await main.on('cut').get(tree)).json).toEqual((await main.get(tree)).json);
      await main.on('cut').add('/', 'after');
      expect(await main.names()).toEqual(['a', 'c']);
    },
  ));

it('an empty branch is there or not, cut at any point [DUR-001]', () =>
  cutEverywhere(
    ['POST', '/branches', { name: 'cut' }],
    ['before-shard-create', 'before-branch-register'],
    async (client, status) => {
      const found = await client.managed('GET', '/branches/cut');
      if (status === 201) expect(found.status).toBe(200);
      if (found.status === 404) await client.branch('cut');
      expect(await client.headOf('cut')).toBe('0-0');
    },
  ));

it('a branch is gone whole or still there, its deletion cut at any point [DUR-001]', () =>
  cutEverywhere(['DELETE', '/branches/old'], ['before-branch-removal'], async (client, status) => {
    const found = await client.managed('GET', '/branches/old');
    if (status === 204) expect(found.status).toBe(404);
    const space = new Space(client, 'space-1');
    expect(await space.names()).toEqual(['a', 'c']);
    if (found.status === 200) expect(await space.on('old').names()).toEqual(['a', 'c', 'on-old']);
    else await client.branch('old', { upstream_branch: 'main' });
  }));

it('a tag is there or not, its making cut at any point [DUR-001]', async () => {
  const body = { name: 'v1', revision: heads.old };
  await cutEverywhere(['POST', '/tags', body], [], async (client, status) => {
    const found = await client.managed('GET', '/tags/v1');
    if (status === 201) expect(found.status).toBe(200);
    if (found.status === 404) expectStatus(await client.managed('POST', '/tags', body), 201);
    const space = new Space(client, 'space-1', 'v1');
    expect(await space.names()).toEqual(['a', 'c', 'on-old']);
  });
});

it('the head is at its old or its new revision, after a crash at any point [DUR-001]', async () => {
  const { old: from, main: to } = heads;
  await cutEverywhere(['PUT', '/branches/old/head', { revision: to }], [], async (client, status) => {
    const head = await client.headOf('old');
    if (status === 204) expect(head).toBe(to);
    expect([from, to]).toContain(head);
    const names = await new Space(client, 'space-1', 'old').names();
    expect(names).toEqual(head === to ? ['a', 'c'] : ['a', 'c', 'on-old']);
  });
});
