import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readConsumer } from '#runtime/feed/consumer-store.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { readBranchHead } from '#runtime/tree/revision-store.ts';
import { expectStatus } from '#test/support/content-client.ts';
import { byKey, FileConsumer, inBranchFile, type Noted, PathTally } from '#test/support/feed-consumers.ts';
import { feedAfter, partsOf } from '#test/support/feed-reader.ts';
import { type ClusterMember, MemberCluster, showLogsOfFailures } from '#test/support/member-cluster.ts';
import { sharedNatsCluster } from '#test/support/nats-cluster.ts';
import { until } from '#test/support/until.ts';

/** Time within which another member has to take over, in milliseconds. */
const TAKEN_OVER_MS_MAX = 90_000;

const repository = 'followed';
const base = `/api/repository/${repository}/main/head/load`;
const main = join(import.meta.dirname, '../support/feed-member.ts');

const nats = sharedNatsCluster(3);
const place = mkdtempSync(join(tmpdir(), 'feed-failover-'));
/** All members have the same one: its effects are outside of the cluster. */
const outside = new FileConsumer(join(place, 'noted'));
let cluster: MemberCluster;
showLogsOfFailures(() => cluster);

beforeAll(async () => {
  const env = (): Record<string, string> => ({ FEED_NOTED: join(place, 'noted') });
  cluster = await MemberCluster.start(nats(), { members: 3, partitions: 2, main, env });
  expectStatus(await cluster.admin('POST', '/api/repositories', { repo_id: repository }), 201);
  const open = { allowed_node_types: [], allowed_root_node_types: [] };
  expectStatus(await cluster.admin('PUT', `/api/workspaces/${repository}/load`, open), 204);
});
afterAll(async () => {
  await cluster.close();
  rmSync(place, { recursive: true, force: true });
});

/** Writes through members that are up; whoever dies meanwhile does not answer. @returns the status */
async function write(method: string, path: string, body?: object): Promise<number | undefined> {
  const sent = cluster.admin(method, `${base}${path}`, body);
  return await sent.then(
    ({ status }) => status,
    () => undefined,
  );
}

const create = (name: string): Promise<number | undefined> =>
  write('POST', '/', { name, node_type: 'svc:Folder', properties: { title: name } });

/** Writes until the owner is dead, and some more, with nodes that are made, changed, renamed and deleted. */
async function writeUntilDeath(prefix: string, death: Promise<void>): Promise<void> {
  let more = 12;
  let isDead = false;
  void death.then(() => {
    isDead = true;
  });
  for (let number = 0; more > 0 && number < 400; number++) {
    const name = `${prefix}-${number}`;
    await create(name);
    if (number % 3 === 1) await write('PUT', `/${name}`, { properties: { title: 'changed' } });
    if (number % 5 === 2) await write('DELETE', `/${name}`);
    if (isDead) more -= 1;
  }
  expect(isDead).toBe(true);
}

/** Creates a node, however long it takes, and waits until both consumers have seen everything on every member. */
async function caughtUp(name: string): Promise<void> {
  await until(async () => (await create(name)) === 201, `${name} is created`, TAKEN_OVER_MS_MAX);
  const { json } = await cluster.admin('GET', `${base}/${name}`);
  const isNoted = (): boolean => outside.noted.some(({ ids }) => ids?.includes(json.id as string));
  await until(isNoted, 'the outside consumer has seen it', TAKEN_OVER_MS_MAX);
  await idle();
}

async function idle(): Promise<void> {
  const isIdle = async (member: ClusterMember): Promise<boolean> =>
    /^svc_feed_behind\S* 0$/m.test((await member.request('GET', '/metrics')).text);
  await until(
    async () => (await Promise.all(cluster.up.map(isIdle))).every(Boolean),
    'no consumer is behind',
    TAKEN_OVER_MS_MAX,
  );
}

/** What the outside consumer must have been given of entries after its start. */
function requireGiven(reader: TableReader, noted: readonly Noted[]): void {
  const starts = noted.filter(({ start }) => start !== undefined);
  expect(starts.map(({ start }) => start?.reason)).toEqual(starts.map(() => 'new'));
  const began = starts.at(-1)?.start?.position.sequence as number;
  const given = new Map<string, string>();
  for (const { after, ids } of noted) {
    if (after === undefined) continue;
    const key = `${after.sequence} ${after.parts}`;
    const text = JSON.stringify(ids);
    // The same again after a failure, under the same key.
    expect(given.get(key) ?? text).toBe(text);
    given.set(key, text);
  }
  for (const entry of feedAfter(reader, began)) {
    const ids = partsOf(reader, entry).flatMap(({ changes }) => changes.map(({ node_id }) => node_id));
    expect(given.get(`${entry.sequence} 0`), `${entry.sequence}`).toBe(JSON.stringify(ids));
  }
}

describe('consumers of a branch whose owner is killed', () => {
  it.each([
    'mid-consume:4',
    'before-consumer-move:3',
    'after-durable:9',
    'before-apply:2',
    'after-append-sent:11',
  ])('go on with the next owner, at %s', async (point) => {
    const owner = await cluster.ownerOf(repository);
    await owner.arm(point);
    const death = owner.died();
    await writeUntilDeath(point.split(':')[0] as string, death);
    await owner.start();
    await caughtUp(`end-${point.split(':')[0]}`);
  });

  it('go on when the branch is read, without another commit', async () => {
    const owner = await cluster.ownerOf(repository);
    await owner.arm('mid-consume:1');
    const death = owner.died();
    await create('last');
    await death;
    let id: string | undefined;
    const isThere = async (): Promise<boolean> => {
      const { json, status } = await cluster.admin('GET', `${base}/last`);
      if (status === 200) id = json.id as string;
      return status === 200;
    };
    await until(isThere, 'the node can be read', TAKEN_OVER_MS_MAX);
    const isNoted = (): boolean => outside.noted.some(({ ids }) => ids?.includes(id as string));
    await until(isNoted, 'the outside consumer has seen it', TAKEN_OVER_MS_MAX);
    await idle();
    await owner.start();
  });

  it('have seen each change once in the branch, and at least once outside, under a key of its own', async () => {
    const owner = await cluster.ownerOf(repository);
    const folder = cluster
      .branchFolders(repository)
      .find((each) => each.startsWith(cluster.dataDirOf(owner)));
    for (const member of cluster.members) await member.drain();
    inBranchFile(folder as string, (reader) => {
      const tally = new PathTally();
      const stored = readConsumer(reader, 'tally');
      expect(stored?.position).toEqual({ sequence: readBranchHead(reader).feed.last, parts: 0 });
      expect(stored?.state).toMatchObject({ starts: ['new'] });
      expect(new Map([...tally.rows(reader)].sort(byKey))).toEqual(tally.expected(reader));
      expect(tally.rows(reader).size).toBeGreaterThan(50);
      const { branch } = outside.noted.find(({ branch: one }) => one.includes(`/${repository}~`)) as Noted;
      requireGiven(
        reader,
        outside.noted.filter((noted) => noted.branch === branch),
      );
    });
  });
});
