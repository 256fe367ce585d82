import { cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { commonTableNames } from '#runtime/commit/behaviour.ts';
import { branchTableNames } from '#runtime/shard/key-layout.ts';
import { LmdbShard } from '#runtime/shard/lmdb-shard.ts';
import { findDamage } from '#test/support/branch-checker.ts';
import { ContentClient, expectStatus, Space } from '#test/support/content-client.ts';
import { type Cut, cutsOf } from '#test/support/cuts.ts';
import { startServer } from '#test/support/server.ts';

const repository = 'blog';

/** Nodes in a folder that moves: more than a merge handles between two rests. */
const MOVED = 70;

/** What can be seen of a branch. */
interface Seen {
  readonly head: string;
  /** Every node with its path, place and content, in tree order. */
  readonly tree: readonly unknown[];
  readonly revisions: number;
  readonly hasType: boolean;
}

async function look(client: ContentClient, branch: string): Promise<Seen> {
  const space = new Space(client, 'space-1', branch);
  const { json: nodes } = expectStatus(await space.get('/?deep=true&flatten=true'), 200);
  const tree = (nodes as Record<string, unknown>[]).map(
    ({ id, order_key, path, properties, relations, translations }) => [
      id,
      order_key,
      path,
      properties,
      relations,
      translations,
    ],
  );
  const list = `?branch=${branch}&limit=1000&include_system=true`;
  const { json: listed } = expectStatus(await client.revisions(list), 200);
  const type = await client.server.admin(
    'GET',
    `/api/management/${repository}/${branch}/nodetypes/test:Page`,
  );
  const head = await client.headOf(branch);
  return { head, tree, revisions: listed.revisions.length, hasType: type.status === 200 };
}

/** Token of `admin`: the first server of the data gives it. */
let token: string | undefined;

async function on<T>(dataDir: string, work: (client: ContentClient) => Promise<T>): Promise<T> {
  const server = await startServer(token === undefined ? { dataDir } : { dataDir, adminToken: token });
  token = server.adminToken;
  try {
    return await work(new ContentClient(server, repository));
  } finally {
    await server.close();
  }
}

/** What is wrong with the stored tables of every branch of the repository. */
async function damage(dataDir: string): Promise<readonly string[]> {
  const tenant = join(dataDir, 'actors/default');
  const folder = join(
    tenant,
    readdirSync(tenant).find((name) => name.startsWith(`${repository}~`)) as string,
  );
  const found: string[] = [];
  for (const branch of readdirSync(folder).filter((name) => name.includes('~'))) {
    const shard = new LmdbShard(join(folder, branch, 'branch'), [...commonTableNames, ...branchTableNames]);
    found.push(...findDamage(shard).map((sentence) => `${branch}: ${sentence}`));
    await shard.close();
  }
  return found;
}

/** A target for each kind of merge: `ours` has changes of its own, `behind` has none. */
const merges = {
  ours: { source_branch: 'theirs' },
  behind: { source_branch: 'theirs', strategy: 'fast-forward' },
} as const;

type Target = keyof typeof merges;

describe('a merge that is cut', () => {
  let template: string;
  const before: Record<string, Seen> = {};
  const after: Record<string, Seen> = {};
  const outcomes = new Set<string>();

  beforeAll(async () => {
    template = mkdtempSync(join(tmpdir(), 'grove-test-'));
    await on(template, async (client) => {
      await client.server.createRepository(repository, { supported_languages: ['en', 'de'] });
      const main = await client.workspace();
      await main.addAll('/a', '/b', '/c', '/folder');
      for (let index = 0; index < MOVED; index++) await main.add('/folder', `n${index}`);
      for (const name of ['ours', 'behind', 'theirs']) await client.branch(name, { upstream_branch: 'main' });
      await main.on('ours').add('/folder', 'mine');
      await main.on('ours').done('/b', 'rename', { newName: 'b2' });
      const theirs = main.on('theirs');
      await theirs.done('/folder', 'move', { targetPath: '/a/moved' });
      expectStatus(await theirs.delete('/c'), 200, 204);
      const schema = `/api/management/${repository}/theirs/nodetypes`;
      const type = { name: 'test:Page', properties: [{ name: 'code', type: 'String', unique: true }] };
      expectStatus(await client.server.admin('POST', schema, { node_type: type }), 200, 201);
      await theirs.add('/', 'page', { code: '1' }, 'test:Page');
      await theirs.done('/page', 'translate', { locale: 'de', translations: { '/code': 'eins' } });
      for (const branch of ['ours', 'behind', 'theirs']) before[branch] = await look(client, branch);
    });
    const copy = mkdtempSync(join(tmpdir(), 'grove-test-'));
    cpSync(template, copy, { recursive: true });
    await on(copy, async (client) => {
      for (const [branch, body] of Object.entries(merges)) {
        const answer = expectStatus(await client.managed('POST', `/branches/${branch}/merge`, body), 200);
        expect(answer.json).toMatchObject({ success: true });
        after[branch] = await look(client, branch);
      }
    });
    rmSync(copy, { recursive: true, force: true });
  });
  afterAll(() => rmSync(template, { recursive: true, force: true }));

  /** Merges into a branch, and checks what is left at each crash point on its way. */
  async function cutEverywhere(target: Target): Promise<void> {
    const dataDir = mkdtempSync(join(tmpdir(), 'grove-test-'));
    cpSync(template, dataDir, { recursive: true });
    const rest = `/branches/${target}/merge`;
    const path = `/api/management/repositories/default/${repository}${rest}`;
    const request = { token: token as string, method: 'POST', path, body: merges[target] };
    for (const cut of await cutsOf(dataDir, request, ['mid-merge'])) {
      try {
        await check(target, rest, cut);
      } catch (cause) {
        throw new Error(`cut at ${cut.points.join(', ')}: ${(cause as Error).message}`, { cause });
      } finally {
        rmSync(cut.dataDir, { recursive: true, force: true });
      }
    }
  }

  async function check(target: Target, rest: string, { dataDir, points, status }: Cut): Promise<void> {
    await on(dataDir, async (client) => {
      const old = before[target] as Seen;
      const whole = after[target] as Seen;
      const found = await look(client, target);
      const isMerged = found.head !== old.head;
      outcomes.add(`${status === 200 ? 'answered' : 'cut'}, ${isMerged ? 'merged' : 'as before'}`);
      if (status === 200) expect(isMerged).toBe(true);
      if (points.some((point) => point.startsWith('mid-merge')))
        expect([status, isMerged]).toEqual([0, false]);
      expect(found).toEqual({ ...(isMerged ? whole : old), head: found.head });
      const again = expectStatus(await client.managed('POST', rest, merges[target]), 200).json;
      expect(again.success).toBe(true);
      if (isMerged) expect(again).toMatchObject({ nodes_changed: 0, fast_forward: false, head: found.head });
      const last = await look(client, target);
      expect(last).toEqual({ ...whole, head: last.head });
      expect(await look(client, 'theirs')).toEqual(before.theirs);
    });
    expect(await damage(dataDir)).toEqual([]);
  }

  it('three-way, at any point, is there whole or not at all [DUR-001]', () => cutEverywhere('ours'));

  it('fast-forward, at any point, has taken over every revision or none [DUR-001]', () =>
    cutEverywhere('behind'));

  it('was cut before it was durable, and after', () => {
    expect([...outcomes]).toEqual(expect.arrayContaining(['cut, as before', 'cut, merged']));
    expect(outcomes).not.toContain('answered, as before');
  });
});
