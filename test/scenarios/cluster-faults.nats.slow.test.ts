import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Subjects } from '#cluster/nats/subjects.ts';
import { expectStatus } from '#test/support/content-client.ts';
import type { TestResponse } from '#test/support/http-client.ts';
import { type ClusterMember, MemberCluster, showLogsOfFailures } from '#test/support/member-cluster.ts';
import { type NatsCluster, type NatsServer, startNatsCluster } from '#test/support/nats-cluster.ts';
import { requiredProgram } from '#test/support/required-program.ts';
import { until } from '#test/support/until.ts';
import { tellReport, WriteLoad } from '#test/support/write-load.ts';

const PARTITIONS = 3;

/** Writes of a load before and after something happens. */
const WRITES = 15;

/** Of a whole suite; in milliseconds. */
const PATIENCE_MS = 30_000;

type Json = TestResponse['json'];

let nats: NatsCluster;
let cluster: MemberCluster;
showLogsOfFailures(() => cluster);

/** A repository of each member, by index. */
let repositories: readonly string[] = [];

beforeAll(async () => {
  nats = await startNatsCluster(3);
  cluster = await MemberCluster.start(nats, {
    members: 3,
    partitions: PARTITIONS,
  });
  await cluster.settled();
  repositories = await cluster.repositoryOfEach();
}, 180_000);

afterAll(async () => {
  await cluster?.close();
  await nats?.close();
});

const contentOf = (repository: string): string => `/api/repository/${repository}/main/head/load`;

describe('an owner', () => {
  it('whose disk accepts no more of its shards steps down: another one owns, nothing is lost, and it comes back', async () => {
    await cluster.settled();
    const repository = repositories[1] as string;
    const victim = await cluster.ownerOf(repository);
    const load = new WriteLoad(cluster, [repository], 'disk-error').start();
    await load.progress(WRITES);
    const limit = (bytes: string): void => {
      const prlimit = requiredProgram('prlimit');
      execFileSync(prlimit, [`--pid=${victim.process.pid}`, `--fsize=${bytes}`]);
    };
    limit('4096:unlimited');

    const owner = (): Promise<ClusterMember> => cluster.ownerOf(repository).catch(() => victim);
    await until(async () => (await owner()) !== victim, 'another one owns it', PATIENCE_MS);
    await load.progress(WRITES);
    limit('unlimited:unlimited');
    await cluster.settled();
    await load.progress(WRITES);
    const report = await load.stop();
    tellReport('an I/O error of an owner', report);
    expect(await load.check()).toEqual([]);
    expect(victim.log).toContain('its files on this member cannot be written');
  });
});

describe('a member with damaged files', () => {
  const count = 20;
  const text = (n: number): string => `marker-${n}-${'payload'.repeat(20)}`;

  /** Reads at a member, from its own copy, until all is there and right; throws for what is wrong. */
  async function readOwnCopy(member: ClusterMember, repository: string): Promise<void> {
    const headers = { 'X-Svc-Consistency': 'local' };
    for (let n = 0; n < count; n += 1) {
      const isRight = async (): Promise<boolean> => {
        const answer = await cluster.adminAt(
          member,
          'GET',
          `${contentOf(repository)}/m${n}`,
          undefined,
          headers,
        );
        if (answer.status === 200) expect(answer.json.properties.text).toBe(text(n));
        return answer.status === 200;
      };
      await until(isRight, `m${n} can be read at ${member.id}`, PATIENCE_MS);
    }
  }

  const thrownAway =
    'partition: its shards on this member are damaged; they are removed and rebuilt from the log';

  it('serves nothing wrong, throws them away, and has everything again: flipped bits', async () => {
    const repository = repositories[2] as string;
    for (let n = 0; n < count; n += 1) {
      const node = { name: `m${n}`, node_type: 'svc:Folder', properties: { text: text(n) } };
      expectStatus(await cluster.admin('POST', `${contentOf(repository)}/`, node), 201);
    }
    const victim = await cluster.ownerOf(repository);
    expect(await victim.drain()).toBe(0);
    const folder = cluster
      .branchFolders(repository)
      .find((each) => each.startsWith(cluster.dataDirOf(victim)));
    const file = join(folder as string, 'data.mdb');
    const bytes = readFileSync(file);
    let flipped = 0;
    for (let at = bytes.indexOf('marker-'); at >= 0; at = bytes.indexOf('marker-', at + 1)) {
      bytes[at + 3] = (bytes[at + 3] as number) ^ 0x10;
      flipped += 1;
    }
    expect(flipped).toBeGreaterThan(0);
    writeFileSync(file, bytes);
    await victim.start();
    await readOwnCopy(victim, repository);
    expect(victim.linesOf(thrownAway).length).toBeGreaterThan(0);
  });

  it('misses a branch whose folder is gone or whose file is an earlier copy, and has everything again', async () => {
    await cluster.settled();
    const repository = repositories[2] as string;
    const victim = await cluster.ownerOf(repository);
    const folder = cluster
      .branchFolders(repository)
      .find((each) => each.startsWith(cluster.dataDirOf(victim))) as string;
    expect(await victim.drain()).toBe(0);
    const earlier = readFileSync(join(folder, 'data.mdb'));
    const noticed = victim.linesOf(thrownAway).length;
    rmSync(folder, { recursive: true });
    await victim.start();
    // Nobody has asked for it.
    await until(() => victim.linesOf(thrownAway).length > noticed, 'the loss is noticed', PATIENCE_MS);
    await readOwnCopy(victim, repository);
    const path = `${contentOf(repository)}/`;
    const late = { name: 'late', node_type: 'svc:Folder', properties: { text: 'late' } };
    expectStatus(await cluster.admin('POST', path, late), 201);
    await cluster.settled();
    expect(await victim.drain()).toBe(0);
    writeFileSync(join(folder, 'data.mdb'), earlier);
    await victim.start();
    const headers = { 'X-Svc-Consistency': 'local' };
    // Refused until it is made anew, and never 404.
    const read = (): Promise<TestResponse> =>
      cluster.adminAt(victim, 'GET', `${path}late`, undefined, headers);
    const hasIt = async (): Promise<boolean> => {
      const { status } = await read();
      expect([200, 500, 503]).toContain(status);
      return status === 200;
    };
    await until(hasIt, 'the earlier copy is made anew', PATIENCE_MS);
    await readOwnCopy(victim, repository);
    expect(victim.linesOf(thrownAway).length).toBe(noticed + 2);
  });

  it('lives on when heads are overwritten and ends are cut off, and has everything again', async () => {
    await cluster.settled();
    const repository = repositories[2] as string;
    const victim = await cluster.ownerOf(repository);
    const before = victim.linesOf(thrownAway).length;
    expect(await victim.drain()).toBe(0);
    // Of one partition, all of which is thrown away when one is found: no test behind this meets another.
    const name = String(cluster.partitionOf(repository)).padStart(3, '0');
    const folder = join(cluster.dataDirOf(victim), 'partitions', name);
    const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((each) =>
      each.endsWith('data.mdb'),
    );
    expect(files.length).toBeGreaterThan(1);
    for (const [index, file] of files.entries()) {
      const bytes = readFileSync(join(folder, file));
      if (index % 2 === 0) bytes.fill(0xa5, 0, 8192);
      writeFileSync(join(folder, file), index % 2 === 0 ? bytes : bytes.subarray(0, 10_000));
    }
    await victim.start();
    await readOwnCopy(victim, repository);
    expect(victim.linesOf(thrownAway).length).toBeGreaterThan(before);
  });
});

describe('a follower that is slow', () => {
  it('delays no writes, costs the owner little memory, and catches up', async () => {
    await cluster.settled();
    const repository = repositories[1] as string;
    const owner = await cluster.ownerOf(repository);
    const slow = cluster.members.find((member) => member !== owner) as ClusterMember;
    const memory = (): number =>
      Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${owner.process.pid}/status`, 'utf8'))?.[1]);
    const before = memory();
    const load = new WriteLoad(cluster, [repository], 'slow').start();
    // It runs for a tenth of the time. Clients do not ask it.
    for (let round = 0; round < 12; round += 1) {
      slow.pause();
      await new Promise((resolve) => setTimeout(resolve, 450));
      slow.resume();
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    await load.progress(WRITES);
    expect(await cluster.ownerOf(repository)).toBe(owner);
    const report = await load.stop();
    tellReport('a slow follower', report);
    expect((memory() - before) / 1024).toBeLessThan(200);
    await until(
      async () => {
        const { partitions } = await cluster.overview(owner);
        return partitions.every(({ followers }: Json) =>
          followers.every((each: Json) => each.records_behind === 0),
        );
      },
      'it has caught up',
      PATIENCE_MS,
    );
    expect(await load.check()).toEqual([]);
  });
});

describe('the files of a NATS server', () => {
  /** Flips bits in the middle of each block of a log. */
  function damage(server: NatsServer, repository: string): void {
    const stream = new Subjects().logStream(cluster.partitionOf(repository));
    const blocks = join(server.store, 'jetstream/GROVE/streams', stream, 'msgs');
    const names = readdirSync(blocks).filter((name) => name.endsWith('.blk'));
    let damaged = 0;
    for (const name of names) {
      const bytes = readFileSync(join(blocks, name));
      const [from, to] = [Math.floor(bytes.length / 3), Math.floor((bytes.length * 2) / 3)];
      for (let at = from; at < to; at += 4096) {
        bytes[at] = (bytes[at] as number) ^ 0x10;
        damaged += 1;
      }
      writeFileSync(join(blocks, name), bytes);
    }
    expect(damaged).toBeGreaterThan(0);
  }

  /** A server that does not lead the log of a repository. */
  async function follower(repository: string): Promise<NatsServer> {
    const leader = await cluster.logLeaderOf(repository, nats);
    return nats.servers.find(({ name }) => name !== leader) as NatsServer;
  }

  it('that does not lead, with flipped bits in its blocks: nothing wrong is served', async () => {
    const repository = repositories[0] as string;
    const server = await follower(repository);
    const load = new WriteLoad(cluster, [repository], 'flipped').start();
    await load.progress(10 * WRITES);
    await server.stop();
    damage(server, repository);
    await load.progress(WRITES);
    server.start();
    await nats.ready();
    await load.progress(WRITES);
    const owner = await cluster.ownerOf(repository);
    const fresh = cluster.members.find((member) => member !== owner) as ClusterMember;
    expect(await fresh.drain()).toBe(0);
    rmSync(join(cluster.dataDirOf(fresh), 'partitions'), { recursive: true });
    await fresh.start();
    await load.progress(WRITES);
    const report = await load.stop();
    tellReport('damaged blocks of a NATS server', report);
    expect(await load.check()).toEqual([]);
  });
});
