import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { expectStatus } from '#test/support/content-client.ts';
import type { TestResponse } from '#test/support/http-client.ts';
import { type ClusterMember, MemberCluster, showLogsOfFailures } from '#test/support/member-cluster.ts';
import { sharedNatsCluster } from '#test/support/nats-cluster.ts';

/** Time within which members have to notice, and to mend, in milliseconds. */
const NOTICE_MS_MAX = 120_000;

const exportFile = join(import.meta.dirname, '../../server/export-log.ts');

const OPEN = { allowed_node_types: [], allowed_root_node_types: [] };
const BASE = '/api/repository/site/main/head/content';

const nats = sharedNatsCluster(3);
const clusters = new Map<string, MemberCluster>();
showLogsOfFailures(() => clusters.get('replica-disk'));
showLogsOfFailures(() => clusters.get('quorum'));

/** Names of acknowledged nodes, by class. */
const acknowledged = new Map<string, string[]>();

beforeAll(async () => {
  for (const [durability, members] of [
    ['replica-disk', 4],
    ['quorum', 2],
  ] as const) {
    const spare = durability === 'quorum' ? 0 : 1;
    const settings = [`durability = "${durability}"`, `name = "f3-${durability}"`];
    const cluster = await MemberCluster.start(nats(), { members, spare, partitions: 1, settings });
    clusters.set(durability, cluster);
    acknowledged.set(durability, []);
    expectStatus(await cluster.admin('POST', '/api/repositories', { repo_id: 'site' }), 201);
    expectStatus(await cluster.admin('PUT', '/api/workspaces/site/content', OPEN), 204);
  }
}, 120_000);

afterAll(async () => {
  await Promise.all([...clusters.values()].map((cluster) => cluster.close()));
});

/** Writes at all clusters at once, and notes what was acknowledged. */
async function write(prefix: string, count: number): Promise<void> {
  await Promise.all(
    [...clusters].map(async ([durability, cluster]) => {
      for (let number = 0; number < count; number += 1) {
        const name = `${prefix}${number}`;
        const node = { name, node_type: 'svc:Folder', properties: { title: name } };
        expectStatus(await cluster.admin('POST', `${BASE}/`, node), 201);
        acknowledged.get(durability)?.push(name);
      }
    }),
  );
}

/** A message as it was exported; only what is compared. */
interface ExportedMessage {
  readonly sequence: number;
  readonly bytes: string;
}

/** Runs `npm run export-log` on what the first member has. @throws {Error} with what it printed when it fails */
async function exportLog(
  cluster: MemberCluster,
): Promise<Record<'stream' | 'journal', readonly ExportedMessage[]>> {
  const to = mkdtempSync(join(tmpdir(), 'grove-export-'));
  const options = {
    'data-dir': cluster.dataDirOf(cluster.member(0)),
    to,
    nats: nats().urls.join(','),
    name: 'f3-replica-disk',
    partition: '0',
  };
  const args = Object.entries(options).flatMap(([name, value]) => [`--${name}`, value]);
  try {
    await promisify(execFile)(process.execPath, [exportFile, ...args]);
    const linesOf = (side: string): ExportedMessage[] =>
      readFileSync(join(to, `${side}.jsonl`), 'utf8')
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as ExportedMessage);
    return { stream: linesOf('stream'), journal: linesOf('journal') };
  } finally {
    rmSync(to, { recursive: true });
  }
}

/** Whether the newest voters that a member's flush journal names are without a change under way, and with a member. */
function isKeptBy(cluster: MemberCluster, member: ClusterMember): boolean {
  const folder = join(cluster.dataDirOf(member), 'partitions/000/flush-journal');
  const text = readdirSync(folder)
    .map((name) => readFileSync(join(folder, name), 'latin1'))
    .join('');
  const last = [...text.matchAll(/\{"keepers":(\{"old":[^}]*\})\}/g)].at(-1)?.[1] ?? '{}';
  const { old = [] } = JSON.parse(last) as { old?: string[] };
  return old.includes(member.id);
}

/** How far a member knows its shards to be, as its disk says. */
function storedSequence(cluster: MemberCluster, member: ClusterMember): number {
  const file = join(cluster.dataDirOf(member), 'partitions/000/position.json');
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as { sequence: number }).sequence : 0;
}

async function until(isSo: () => Promise<boolean>, what: string): Promise<void> {
  const endMs = performance.now() + NOTICE_MS_MAX;
  while (!(await isSo())) {
    if (performance.now() > endMs) throw new Error(`not so in ${NOTICE_MS_MAX} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

describe('a cluster whose machines and servers all lose their power, and whose servers had not flushed', () => {
  it('has everything acknowledged with replica-disk, and knows of the loss with quorum [CLU-008]', async () => {
    const safe = clusters.get('replica-disk') as MemberCluster;
    const weak = clusters.get('quorum') as MemberCluster;
    const voters = safe.up;
    for (const [durability, cluster] of clusters) {
      const { json } = await cluster.member(0).request('GET', '/ready');
      expect(json.durability).toBe(durability);
    }
    await write('early', 10);
    await nats().saveStores();
    await write('late', 15);

    // Without a flush journal a member knows of itself what it stored, a second later at most.
    const { last_sequence: written } = (await weak.overview()).partitions[0];
    await until(
      () => Promise.resolve(weak.members.every((member) => storedSequence(weak, member) >= written)),
      'positions are stored',
    );
    const members = [...voters, ...weak.members];
    await Promise.all(members.map((member) => member.kill()));
    await Promise.all(nats().servers.map((server) => server.kill()));
    nats().restoreStores();
    for (const server of nats().servers) server.start();
    await nats().ready();
    const { journal, stream } = await exportLog(safe);
    expect(stream.length).toBeGreaterThan(10);
    expect(journal.length).toBeGreaterThanOrEqual(stream.length + 15);
    expect(journal.slice(0, stream.length)).toEqual(stream);
    await Promise.all([
      ...weak.members.map((member) => member.startUnready()),
      // Given back by a member that has them: every one is there, at every member.
      ...voters.map((member) => member.start()),
    ]);
    await expect(exportLog(safe)).rejects.toThrow('is in use');
    for (const member of voters)
      for (const name of acknowledged.get('replica-disk') ?? [])
        expectStatus(await safe.adminAt(member, 'GET', `${BASE}/${name}`), 200);
    expectStatus(
      await safe.admin('POST', `${BASE}/`, { name: 'after', node_type: 'svc:Folder', properties: {} }),
      201,
    );
    expect(safe.logs()).toContain('end of the stream was lost and has been restored');

    // Nobody has them but the shards: nobody opens the partition any more, and each member says why.
    await until(
      () => Promise.resolve(weak.members.every(({ log }) => log.includes('"role":"quarantined"'))),
      'the loss is known',
    );
    for (const { log } of weak.members) expect(log).toMatch(/partition 0 has regressed: it ends at record/);
  }, 300_000);
});

describe('the members that keep a partition', () => {
  it('change when one leaves for good and another joins: then the new one counts', async () => {
    const safe = clusters.get('replica-disk') as MemberCluster;
    const joining = safe.member(3);
    const gone = safe.member(2);
    expect(await gone.drain()).toBe(0);
    rmSync(safe.dataDirOf(gone), { recursive: true });
    await joining.start();
    const isFollowed = async (): Promise<boolean> => {
      const { followers, owner } = (await safe.overview(joining)).partitions[0];
      return owner !== null && followers.filter((each: { is_warm: boolean }) => each.is_warm).length === 2;
    };
    await until(isFollowed, 'the new member follows');
    const owner = await safe.ownerOf('site');
    const other = safe.up.find((member) => member !== joining && member !== owner) ?? owner;
    const create = (name: string): Promise<TestResponse> =>
      safe.adminAt(joining, 'POST', `${BASE}/`, { name, node_type: 'svc:Folder', properties: {} });
    // Voters are looked at each second; of the first three two are gone then, so that without the new one no write
    // would be durable.
    await until(() => Promise.resolve(isKeptBy(safe, joining)), 'the new member keeps the partition');
    await other.kill();
    expectStatus(await create('kept'), 201);
  }, 120_000);
});
