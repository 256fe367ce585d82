import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { expectStatus } from '#test/support/content-client.ts';
import { type ClusterMember, MemberCluster, showLogsOfFailures } from '#test/support/member-cluster.ts';
import { sharedNatsCluster } from '#test/support/nats-cluster.ts';
import { expectSameRows } from '#test/support/same-rows.ts';
import { until } from '#test/support/until.ts';

const WAIT_MS_MAX = 60_000;

const REPOSITORY = 'site';

const nats = sharedNatsCluster(3);
let cluster: MemberCluster;
let written = 0;
showLogsOfFailures(() => cluster);

beforeAll(async () => {
  cluster = await MemberCluster.start(nats(), {
    members: 3,
    partitions: 1,
    settings: ['lease_ms = 1_500', 'durability = "quorum"'],
  });
  expectStatus(await cluster.admin('POST', '/api/repositories', { repo_id: REPOSITORY }), 201);
  const open = { allowed_node_types: [], allowed_root_node_types: [] };
  expectStatus(await cluster.admin('PUT', `/api/workspaces/${REPOSITORY}/content`, open), 204);
});

afterAll(() => cluster?.close());

async function write(): Promise<void> {
  written += 1;
  const node = { name: `n${written}`, node_type: 'svc:Folder', properties: {} };
  const path = `/api/repository/${REPOSITORY}/main/head/content/`;
  const headers = { 'Idempotency-Key': `key-${written}` };
  await until(
    async () => (await cluster.admin('POST', path, node, headers)).status === 201,
    'it is written',
    WAIT_MS_MAX,
  );
}

const folderOf = (member: ClusterMember): string => join(cluster.dataDirOf(member), 'partitions/000');

const rebuiltOf = async (member: ClusterMember): Promise<number> =>
  (await member.request('GET', '/ready')).json.rebuilt_partitions;

/** Waits until a member answers from what it has itself, everything that was written. */
async function hasEverything(member: ClusterMember): Promise<void> {
  const path = `/api/repository/${REPOSITORY}/main/head/content/n${written}`;
  await until(
    async () => {
      const local = { 'X-Svc-Consistency': 'local' };
      return (await cluster.adminAt(member, 'GET', path, undefined, local)).status === 200;
    },
    `${member.id} has everything`,
    WAIT_MS_MAX,
  );
}

describe('hands on the data directory of a member', () => {
  it('that remove what it has of a partition lose no data, and are reported by its readiness and the status', async () => {
    await write();
    const owner = await cluster.ownerOf(REPOSITORY);
    const follower = cluster.members.find((each) => each !== owner) as ClusterMember;
    await hasEverything(follower);
    expect(await rebuiltOf(follower)).toBe(0);
    for (const member of [follower, owner]) {
      rmSync(folderOf(member), { recursive: true });
      await until(async () => (await rebuiltOf(member)) === 1, 'its readiness says so', WAIT_MS_MAX);
      const { warnings } = await cluster.overview();
      const found = warnings.filter(({ code }: { code: string }) => code === 'shards-rebuilt');
      expect(found.map(({ message }: { message: string }) => message)).toContainEqual(
        expect.stringMatching(new RegExp(`^${member.id}: its data of partition 0 is rebuilt: `)),
      );
      await until(
        async () => (await member.request('GET', '/ready')).status === 200,
        'it is ready',
        WAIT_MS_MAX,
      );
      await write();
      await hasEverything(member);
      expect(existsSync(folderOf(member))).toBe(true);
    }
  });

  it('may remove it while the member is stopped: it has all of it again after the start', async () => {
    const owner = await cluster.ownerOf(REPOSITORY);
    for (const member of cluster.members.toSorted((one) => (one === owner ? 1 : -1))) {
      expect(await member.drain()).toBe(0);
      rmSync(folderOf(member), { recursive: true });
      await write();
      await member.start();
      await hasEverything(member);
      // Nothing was damaged: it was not there.
      expect(await rebuiltOf(member)).toBe(0);
    }
  });

  it('that remove its lock file end it at once, and the others continue with everything', async () => {
    const owner = await cluster.ownerOf(REPOSITORY);
    await write();
    const { process } = owner;
    rmSync(join(cluster.dataDirOf(owner), 'lock'));
    expect(await process.exited).toEqual({ code: 1, signal: null });
    expect(process.stderr).toContain('lock was removed under the running server');
    expect(
      owner.linesOf('the data directory may be in use by another process; this one ends at once'),
    ).toHaveLength(1);
    await owner.kill();
    await write();
    for (const member of cluster.up) await hasEverything(member);
    await owner.start();
    await hasEverything(owner);
    await cluster.settled();
    await expectSameRows(cluster, [REPOSITORY], written);
  });
});
