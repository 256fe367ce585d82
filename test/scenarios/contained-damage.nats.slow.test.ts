import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { jetstreamManager } from '@nats-io/jetstream';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { connectToNats } from '#cluster/nats/connection.ts';
import { Subjects } from '#cluster/nats/subjects.ts';
import { expectStatus } from '#test/support/content-client.ts';
import { type ClusterMember, MemberCluster, showLogsOfFailures } from '#test/support/member-cluster.ts';
import { type NatsCluster, startNatsCluster } from '#test/support/nats-cluster.ts';
import { until } from '#test/support/until.ts';

/** In milliseconds. */
const PATIENCE_MS = 90_000;

const REPOSITORIES = ['first', 'second', 'third'];

let nats: NatsCluster;
let cluster: MemberCluster;
showLogsOfFailures(() => cluster);

beforeAll(async () => {
  nats = await startNatsCluster(3);
  // One of them has to be able to own the partition alone.
  const settings = ['durability = "quorum"'];
  cluster = await MemberCluster.start(nats, { members: 2, partitions: 1, settings });
  await cluster.settled();
}, 180_000);

afterAll(async () => {
  await cluster?.close();
  await nats?.close();
});

const content = (repository: string): string => `/api/repository/${repository}/main/head/load`;

/** Sequence of the newest record that a member has on its disk. */
function positionOf(member: ClusterMember): number {
  const path = join(cluster.dataDirOf(member), 'partitions/000/position.json');
  return JSON.parse(readFileSync(path, 'utf8')).sequence;
}

it('a damaged branch is refused alone where nothing has everything, and heals when another member is there [CLU-046]', async () => {
  for (const repository of REPOSITORIES) {
    expectStatus(await cluster.admin('POST', '/api/repositories', { repo_id: repository }), 201);
    const open = { allowed_node_types: [], allowed_root_node_types: [] };
    expectStatus(await cluster.admin('PUT', `/api/workspaces/${repository}/load`, open), 204);
    const node = { name: 'page', node_type: 'svc:Folder', properties: {} };
    expectStatus(await cluster.admin('POST', `${content(repository)}/`, node), 201);
  }
  await cluster.settled();
  const [lone, other] = cluster.members as [ClusterMember, ClusterMember];
  expect([await other.drain(), await lone.drain()]).toEqual([0, 0]);
  const connection = await connectToNats({ urls: nats.urls, name: 'cutter' });
  const manager = await jetstreamManager(connection);
  const seq = Math.min(positionOf(lone), positionOf(other));
  await manager.streams.purge(new Subjects().logStream(0), { seq });
  await connection.close();
  const folder = cluster
    .branchFolders('second')
    .find((each) => each.startsWith(cluster.dataDirOf(lone))) as string;
  rmSync(join(folder, 'data.mdb'));

  await lone.start();
  const read = (repository: string) => cluster.adminAt(lone, 'GET', `${content(repository)}/page`);
  await until(async () => (await read('first')).status === 200, 'the others are served', PATIENCE_MS);
  await until(async () => (await read('second')).status === 500, 'it is refused', PATIENCE_MS);
  expect((await read('second')).json.code).toBe('DATA_CORRUPTED');
  expectStatus(await read('third'), 200);
  const late = { name: 'late', node_type: 'svc:Folder', properties: {} };
  expectStatus(await cluster.adminAt(lone, 'POST', `${content('third')}/`, late), 201);
  const ready = await lone.request('GET', '/ready');
  expect([ready.status, ready.json.stopped_actors]).toEqual([200, 1]);
  const { warnings } = await cluster.overview(lone);
  const told = (code: string): string =>
    warnings.find((each: { code: string }) => each.code === code)?.message ?? '';
  expect(told('damage-contained')).toContain(join(folder, 'data.mdb'));
  expect(told('actor-stopped')).toContain(join(folder, 'data.mdb'));
  expect(lone.linesOf('partition: its shards on this member are damaged; they are removed')).toEqual([]);

  await other.start();
  const isHealed = async (): Promise<boolean> =>
    (await lone.request('GET', '/ready')).json.stopped_actors === 0 &&
    (
      await cluster.adminAt(lone, 'GET', `${content('second')}/page`, undefined, {
        'X-Svc-Consistency': 'local',
      })
    ).status === 200;
  await until(isHealed, 'it heals', PATIENCE_MS);
  for (const repository of REPOSITORIES) expectStatus(await read(repository), 200);
}, 300_000);
