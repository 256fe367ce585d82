import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { jetstreamManager } from '@nats-io/jetstream';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectToNats } from '#cluster/nats/connection.ts';
import { Subjects } from '#cluster/nats/subjects.ts';
import { expectStatus } from '#test/support/content-client.ts';
import type { TestResponse } from '#test/support/http-client.ts';
import { type ClusterMember, MemberCluster, showLogsOfFailures } from '#test/support/member-cluster.ts';
import { type NatsCluster, startNatsCluster } from '#test/support/nats-cluster.ts';
import { SmallVolume } from '#test/support/small-volume.ts';
import { until } from '#test/support/until.ts';
import { tellReport, WriteLoad } from '#test/support/write-load.ts';

const MEBIBYTE = 1024 * 1024;

/** Size of the volumes of the first member and of the NATS servers. */
const VOLUME_BYTES = 320 * MEBIBYTE;

/** Smallest size a log may have. */
const LOG_BYTES = 64 * MEBIBYTE;

const PARTITIONS = 3;

/** Writes of a load before and after something happens. */
const WRITES = 15;

/** Of a whole suite; in milliseconds. */
const PATIENCE_MS = 30_000;

/** How long a NATS server stays full at most, in milliseconds. */
const FULL_MS = 12_000;

/** How long two are, in milliseconds: after some writes nothing more is taken. */
const TWO_FULL_MS = 5_000;

type Json = TestResponse['json'];

let volumes: SmallVolume[] = [];
let nats: NatsCluster;
let cluster: MemberCluster;
showLogsOfFailures(() => cluster);

/** A repository of each member, by index. */
let repositories: readonly string[] = [];

beforeAll(async () => {
  volumes = Array.from({ length: 4 }, () => new SmallVolume(VOLUME_BYTES));
  nats = await startNatsCluster(3, { store: (index) => volumes[index + 1]?.path });
  cluster = await MemberCluster.start(nats, {
    members: 3,
    partitions: PARTITIONS,
    logBytesMax: LOG_BYTES,
    dataDir: (index) => (index === 0 ? join(volumes[0]?.path as string, 'm1') : undefined),
  });
  await cluster.settled();
  repositories = await cluster.repositoryOfEach();
}, 180_000);

afterAll(async () => {
  await cluster?.close();
  await nats?.close();
  for (const volume of volumes) volume.close();
});

const contentOf = (repository: string): string => `/api/repository/${repository}/main/head/load`;

function create(repository: string, name: string, properties: object = {}): Promise<TestResponse> {
  const node = { name, node_type: 'svc:Folder', properties };
  return cluster.admin('POST', `${contentOf(repository)}/`, node);
}

async function warnings(member: ClusterMember): Promise<string[]> {
  const { warnings: found } = await cluster.overview(member);
  return found.map(({ code, message }: Json) => `${code} ${message}`);
}

async function partitionOf(repository: string): Promise<number> {
  const owner = await cluster.ownerOf(repository);
  const folder = join(cluster.dataDirOf(owner), 'partitions');
  const found = readdirSync(folder).find((partition) => {
    const names = readdirSync(join(folder, partition, 'actors/default'), { withFileTypes: true });
    return names.some(({ name }) => name.startsWith(`${repository}~`));
  });
  return Number(found);
}

const someVolume = (index: number): SmallVolume => volumes[index] as SmallVolume;

/** Mounts small volumes, which takes the rights of root. */
describe('a volume that fills up', () => {
  it('of a member: its repositories refuse writes, those of others do not, every member reports it, and it ends', async () => {
    const [mine, other] = [repositories[0] as string, repositories[1] as string];
    someVolume(0).fill(92);
    let tries = 0;
    const isRefused = async (): Promise<boolean> => {
      tries += 1;
      return (await create(mine, `full-${tries}`)).status === 507;
    };
    await until(isRefused, 'the owner refuses', PATIENCE_MS);
    expectStatus(await create(other, 'fits'), 201);
    const told = await warnings(cluster.member(1));
    expect(told.some((each) => /^space-exhausted m1: the volume of .* is 9\d % full/.test(each))).toBe(true);
    someVolume(0).free();
    await until(
      async () => (await create(mine, 'free')).status === 201,
      'the owner takes writes',
      PATIENCE_MS,
    );
    expect((await cluster.admin('GET', `${contentOf(mine)}/full-${tries}`)).status).toBe(404);
  });

  it('of the NATS server that leads a log: writes continue once it is stopped at the latest, and nothing is lost', async () => {
    const load = new WriteLoad(cluster, repositories, 'disk').start();
    await load.progress(WRITES);
    const server = nats.server(await cluster.logLeaderOf(repositories[0] as string, nats));
    const volume = someVolume(nats.servers.indexOf(server) + 1);
    volume.fill(100);
    // Servers of 2.9 may go on leading without storing anything: then nothing is written until somebody stops them.
    await Promise.race([load.progress(4 * WRITES), new Promise((resolve) => setTimeout(resolve, FULL_MS))]);
    expect(volume.usedPercent).toBeGreaterThan(99.9);
    await server.kill();
    volume.free();
    await load.progress(WRITES);
    server.start();
    await nats.ready();
    await load.progress(WRITES);
    const report = await load.stop();
    tellReport('a full disk of the NATS server that leads a log', report);
    expect(await load.check()).toEqual([]);
  });
});

describe('the volumes of two of three NATS servers', () => {
  it('full at the same time: nothing acknowledged is lost, and all is written again when there is room', async () => {
    const load = new WriteLoad(cluster, repositories, 'two-disks').start();
    await load.progress(WRITES);
    const full = nats.servers.slice(0, 2);
    const theirs = full.map((server) => someVolume(nats.servers.indexOf(server) + 1));
    for (const volume of theirs) volume.fill(100);
    for (const volume of theirs) expect(volume.usedPercent).toBeGreaterThan(99.9);
    // Servers of 2.9 acknowledge from memory for a while before they notice, or never do.
    await Promise.race([
      load.progress(8 * WRITES),
      new Promise((resolve) => setTimeout(resolve, TWO_FULL_MS)),
    ]);
    for (const volume of theirs) {
      // Servers take away what they have replaced meanwhile.
      expect(volume.usedPercent).toBeGreaterThan(90);
      volume.free();
    }
    // Whoever noticed has JetStream switched off until it is started again, and may never end when it is asked to.
    for (const server of full) await server.restart();
    await nats.ready();
    await load.progress(WRITES);
    const report = await load.stop();
    tellReport('full disks of two NATS servers', report);
    expect(await load.check()).toEqual([]);
  }, 90_000);
});

describe('a log that fills up', () => {
  it('refuses what grows before it is full, accepts deletes, and continues when it may grow', async () => {
    const [full, other] = [repositories[0] as string, repositories[1] as string];
    const partition = await partitionOf(full);
    const stream = new Subjects().logStream(partition);
    const connection = await connectToNats({ urls: nats.urls, name: 'test' });
    try {
      const manager = await jetstreamManager(connection);
      const used = async (): Promise<number> => (await manager.streams.info(stream)).state.bytes / LOG_BYTES;
      let written = 0;
      const write = async (kibibytes: number): Promise<TestResponse> => {
        written += 1;
        return create(full, `big-${written}`, { text: 'x'.repeat(kibibytes * 1024) });
      };
      while ((await used()) < 0.8) expectStatus(await write(600), 201);
      await until(
        async () =>
          (await warnings(cluster.member(2))).some((each) =>
            each.includes(`the log of partition ${partition}`),
          ),
        'the alarm',
        PATIENCE_MS,
      );
      // Slower than the marks are apart within a look.
      let answer = await write(300);
      while (answer.status === 201) {
        await new Promise((resolve) => setTimeout(resolve, 150));
        answer = await write(300);
      }
      expect([answer.status, answer.json.code]).toEqual([507, 'STORAGE_FULL']);
      expect(answer.json.message).toMatch(`The log of partition ${partition} is 9`);
      expect(await used()).toBeLessThan(0.97);
      expectStatus(await cluster.admin('DELETE', `${contentOf(full)}/big-1`), 200, 204);
      expectStatus(await create(other, 'elsewhere'), 201);
      const { config } = await manager.streams.info(stream);
      await manager.streams.update(stream, { ...config, max_bytes: 4 * LOG_BYTES });
      await until(async () => (await write(1)).status === 201, 'the log takes writes', PATIENCE_MS);
    } finally {
      await connection.close();
    }
  });
});
