import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ContentClient, expectStatus, Space } from '#test/support/content-client.ts';
import { requestUntilCrash, strikes } from '#test/support/crashing-request.ts';
import { preparedFolder } from '#test/support/prepared-folder.ts';
import { startServer, type TestServer } from '#test/support/server.ts';

const repository = 'blog';

/** Heads of the branches at the beginning. */
const heads = { main: '', old: '' };

/** A data folder with a repository, content on `main`, and a fork named `old`; so that points count from there. */
const prepared = preparedFolder(async (server) => {
  await server.createRepository(repository);
  const client = new ContentClient(server, repository);
  const space = await client.workspace();
  await space.addAll('/a', '/a/b', '/c');
  await client.branch('old', { upstream_branch: 'main' });
  await space.on('old').add('/', 'on-old');
  heads.main = await client.headOf('main');
  heads.old = await client.headOf('old');
});

/** Folders of the branches of the repository. */
function branchFolders(dataDir: string): string[] {
  const tenant = join(dataDir, 'actors/default');
  const folder = readdirSync(tenant).find((name) => name.startsWith(`${repository}~`)) as string;
  return readdirSync(join(tenant, folder)).filter((name) => name.includes('~'));
}

async function reopened(
  dataDir: string,
  check: (client: ContentClient, server: TestServer) => Promise<void>,
): Promise<void> {
  const server = await startServer({ dataDir });
  try {
    const client = new ContentClient(server, repository);
    await check(client, server);
    const listed = expectStatus(await client.managed('GET', '/branches'), 200).json;
    expect(branchFolders(dataDir)).toHaveLength(listed.length);
    const removed = join(dataDir, 'actors/.removed');
    // Only what is kept for a while, whole.
    for (const name of existsSync(removed) ? readdirSync(removed) : [])
      expect(name).toMatch(/^\d+-[0-9a-f]{32}$/);
  } finally {
    await server.close();
    rmSync(dataDir, { recursive: true, force: true });
  }
}

it.each([...strikes, 'mid-fork:1', 'before-fork-rewind:1', 'before-branch-register:1'])(
  'a fork is there whole or not at all, cut at %s [DUR-001]',
  async (point) => {
    const dataDir = prepared();
    const body = { name: 'cut', upstream_branch: 'main' };
    const status = await requestUntilCrash(dataDir, repository, point, 'POST', '/branches', body);
    await reopened(dataDir, async (client) => {
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
    });
  },
);

it.each(['before-shard-create:1', 'before-branch-register:1', 'before-append:2', 'after-durable:2'])(
  'an empty branch is there or not, cut at %s [DUR-001]',
  async (point) => {
    const dataDir = prepared();
    const status = await requestUntilCrash(dataDir, repository, point, 'POST', '/branches', { name: 'cut' });
    await reopened(dataDir, async (client) => {
      const found = await client.managed('GET', '/branches/cut');
      if (status === 201) expect(found.status).toBe(200);
      if (found.status === 404) await client.branch('cut');
      expect(await client.headOf('cut')).toBe('0-0');
    });
  },
);

it.each([...strikes, 'before-branch-removal:1'])(
  'a branch is gone whole or still there, its deletion cut at %s [DUR-001]',
  async (point) => {
    const dataDir = prepared();
    const status = await requestUntilCrash(dataDir, repository, point, 'DELETE', '/branches/old');
    await reopened(dataDir, async (client) => {
      const found = await client.managed('GET', '/branches/old');
      if (status === 204) expect(found.status).toBe(404);
      const space = new Space(client, 'space-1');
      expect(await space.names()).toEqual(['a', 'c']);
      if (found.status === 200) expect(await space.on('old').names()).toEqual(['a', 'c', 'on-old']);
      else await client.branch('old', { upstream_branch: 'main' });
    });
  },
);

it.each(strikes)('a tag is there or not, its making cut at %s [DUR-001]', async (point) => {
  const dataDir = prepared();
  const revision = heads.old;
  const status = await requestUntilCrash(dataDir, repository, point, 'POST', '/tags', {
    name: 'v1',
    revision,
  });
  await reopened(dataDir, async (client) => {
    const found = await client.managed('GET', '/tags/v1');
    if (status === 201) expect(found.status).toBe(200);
    if (found.status === 404)
      expectStatus(await client.managed('POST', '/tags', { name: 'v1', revision }), 201);
    const space = new Space(client, 'space-1', 'v1');
    expect(await space.names()).toEqual(['a', 'c', 'on-old']);
  });
});

it.each(strikes)(
  'the head is at its old or its new revision, after a crash at %s [DUR-001]',
  async (point) => {
    const dataDir = prepared();
    const { old: from, main: to } = heads;
    const status = await requestUntilCrash(dataDir, repository, point, 'PUT', '/branches/old/head', {
      revision: to,
    });
    await reopened(dataDir, async (client) => {
      const head = await client.headOf('old');
      if (status === 204) expect(head).toBe(to);
      expect([from, to]).toContain(head);
      const names = await new Space(client, 'space-1', 'old').names();
      expect(names).toEqual(head === to ? ['a', 'c'] : ['a', 'c', 'on-old']);
    });
  },
);
