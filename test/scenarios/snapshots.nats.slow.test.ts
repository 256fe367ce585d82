import { rmSync } from 'node:fs';
import { jetstreamManager } from '@nats-io/jetstream';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Subjects } from '#cluster/nats/subjects.ts';
import { expectStatus } from '#test/support/content-client.ts';
import { type ClusterMember, MemberCluster, showLogsOfFailures } from '#test/support/member-cluster.ts';
import { sharedNatsCluster } from '#test/support/nats-cluster.ts';
import { expectSameRows } from '#test/support/same-rows.ts';

const REPOSITORIES = ['red', 'green', 'blue'];

/** What one round of writes brings into each repository: about half of what logs grow between two snapshots. */
const NODES = 8;
const NODE_TEXT = 'x'.repeat(60_000);

const WAIT_MS_MAX = 120_000;

const subjects = new Subjects();
const nats = sharedNatsCluster(3);
let cluster: MemberCluster;
let connection: NatsConnection;
let written = 0;
showLogsOfFailures(() => cluster);

beforeAll(async () => {
  cluster = await MemberCluster.start(nats(), {
    members: 3,
    partitions: 1,
    settings: [
      'snapshot_log_bytes = 1_048_576',
      'log_keep_ms = 0',
      'lease_ms = 1_500',
      // Writes go on with one member left.
      'durability = "quorum"',
    ],
  });
  connection = await connect({ servers: nats().urls });
  for (const repository of REPOSITORIES) {
    expectStatus(await cluster.admin('POST', '/api/repositories', { repo_id: repository }), 201);
    const open = { allowed_node_types: [], allowed_root_node_types: [] };
    expectStatus(await cluster.admin('PUT', `/api/workspaces/${repository}/content`, open), 204);
  }
});

afterAll(async () => {
  await connection?.close();
  await cluster?.close();
});

/** Writes to every repository, through the members in turn unless one is about to die. */
async function write(through?: ClusterMember): Promise<void> {
  for (let number = 0; number < NODES; number += 1) {
    written += 1;
    const node = { name: `n${written}`, node_type: 'svc:Folder', properties: { title: NODE_TEXT } };
    await until(async () => {
      const answers = await Promise.all(
        REPOSITORIES.map((repository) =>
          cluster.adminAt(
            through ?? cluster.next(),
            'POST',
            `/api/repository/${repository}/main/head/content/`,
            node,
            { 'Idempotency-Key': `key-${written}-${repository}` },
          ),
        ),
      );
      return answers.every(({ status }) => status === 201);
    }, 'a node is written');
  }
}

/** Oldest message of the log of each partition. */
async function beginnings(): Promise<number[]> {
  const manager = await jetstreamManager(connection, { timeout: 10_000 });
  return Promise.all(
    [0].map(async (each) => (await manager.streams.info(subjects.logStream(each))).state.first_seq),
  );
}

/** Ends of the logs, as far as they are known. */
async function ends(): Promise<number[]> {
  const { partitions } = await cluster.overview();
  return partitions.map(({ last_sequence }: { last_sequence: number }) => last_sequence);
}

/** Asks for snapshots until each partition has one behind a sequence, taken by a member that is well. */
async function snapshotsBehind(sequences: readonly number[]): Promise<void> {
  await until(async () => {
    const { partitions } = await cluster.overview();
    const isThere = partitions.every(
      ({ snapshot }: { snapshot: { sequence: number } | null }, at: number) =>
        (snapshot?.sequence ?? 0) >= (sequences[at] as number),
    );
    if (!isThere) expectStatus(await cluster.admin('POST', '/api/management/cluster/snapshots', {}), 202);
    return isThere;
  }, 'there are newer snapshots');
}

/** Writes and takes snapshots until every log begins behind where it ended. */
async function cutBehindNow(): Promise<void> {
  const wanted = await ends();
  await until(async () => {
    const first = await beginnings();
    if (first.every((each, at) => each > (wanted[at] as number))) return true;
    await write();
    await snapshotsBehind(wanted);
    return false;
  }, 'the logs are cut');
}

async function until(isSo: () => Promise<boolean>, what: string): Promise<void> {
  const endMs = performance.now() + WAIT_MS_MAX;
  while (!(await isSo())) {
    if (performance.now() > endMs) throw new Error(`not so in ${WAIT_MS_MAX} ms: ${what}\n${cluster.logs()}`);
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
}

/** A member whose disk was lost. */
function empty(member: ClusterMember): void {
  rmSync(cluster.dataDirOf(member), { recursive: true, force: true });
}

/** Every node that was written is there, at every member that is up. */
async function expectAll(member: ClusterMember): Promise<void> {
  for (const repository of REPOSITORIES)
    for (const number of [1, written]) {
      const path = `/api/repository/${repository}/main/head/content/n${number}`;
      expectStatus(await cluster.adminAt(member, 'GET', path), 200);
    }
}

describe('the logs of a cluster', () => {
  it('are truncated behind snapshots as they grow, and the status reports both', async () => {
    await write();
    await cutBehindNow();
    const { partitions } = await cluster.overview();
    for (const { log_bytes, log_bytes_max, snapshot } of partitions) {
      expect(log_bytes).toBeGreaterThan(0);
      expect(log_bytes_max).toBe(268_435_456);
      expect(snapshot).toMatchObject({ member: expect.any(String), age_seconds: expect.any(Number) });
      expect(snapshot.bytes).toBeGreaterThan(100_000);
    }
  });
});

describe('a member with an empty folder', () => {
  it('has everything from snapshots and the log, also when it dies at any step of that [CLU-010]', async () => {
    const member = cluster.member(2);
    await member.drain();
    empty(member);
    await write();
    for (const point of ['mid-snapshot-restore:2', 'mid-snapshot-adopt:1', 'after-snapshot-adopt:1'])
      await member.dieWhileStarting(point);
    await member.start();
    expect(member.linesOf('partition restored from a snapshot').length).toBeGreaterThanOrEqual(1);
    await expectAll(member);
  });
});

describe('a member that was away for longer than the logs reach back', () => {
  it('begins with a snapshot, although an owner and a taker of snapshots died at every step', async () => {
    const late = cluster.member(2);
    await late.kill();
    for (const point of [
      'mid-snapshot-copy',
      'mid-snapshot-upload',
      'before-snapshot-publish',
      'after-log-cut',
    ]) {
      // Followers take snapshots, owners cut.
      const [partition] = (await cluster.overview()).partitions;
      const isDying = ({ id }: ClusterMember): boolean =>
        (id === partition.owner) === (point === 'after-log-cut');
      const dying = cluster.up.find(isDying) as ClusterMember;
      const staying = cluster.up.find((member) => member !== dying) as ClusterMember;
      await dying.arm(`${point}:1`);
      const died = dying.died();
      let isDead = false;
      void died.then(() => {
        isDead = true;
      });
      await until(async () => {
        if (isDead) return true;
        await write(staying);
        await cluster.adminAt(staying, 'POST', '/api/management/cluster/snapshots', {});
        return isDead;
      }, `${dying.id} dies at ${point}`);
      await dying.start();
    }
    await cutBehindNow();
    const before = late.linesOf('partition restored from a snapshot').length;
    await late.start();
    expect(late.linesOf('partition restored from a snapshot').length).toBeGreaterThan(before);
    await expectAll(late);
  });
});

describe('after all of that', () => {
  it('every member has the same rows, every index is whole, and no copy was left lying', async () => {
    await cluster.settled();
    await expectSameRows(cluster, REPOSITORIES, written);
  });
});
