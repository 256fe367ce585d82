import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { expectStatus } from '#test/support/content-client.ts';
import { type ClusterMember, MemberCluster, showLogsOfFailures } from '#test/support/member-cluster.ts';
import { sharedNatsCluster } from '#test/support/nats-cluster.ts';
import { until } from '#test/support/until.ts';

/** Time within which members notice, or come to rest, in milliseconds. */
const NOTICE_MS_MAX = 120_000;

const exportFile = join(import.meta.dirname, '../../server/export-log.ts');

const OPEN = { allowed_node_types: [], allowed_root_node_types: [] };
const BASE = '/api/repository/site/main/head/content';
const NAME = 'name = "split"';

const nats = sharedNatsCluster(3);
let cluster: MemberCluster;
showLogsOfFailures(() => cluster);

beforeAll(async () => {
  const settings = ['durability = "replica-disk"', NAME];
  cluster = await MemberCluster.start(nats(), { members: 4, spare: 1, partitions: 1, settings });
  expectStatus(await cluster.admin('POST', '/api/repositories', { repo_id: 'site' }), 201);
  expectStatus(await cluster.admin('PUT', '/api/workspaces/site/content', OPEN), 204);
}, 120_000);

afterAll(async () => {
  await cluster.close();
});

async function create(name: string): Promise<void> {
  const node = { name, node_type: 'svc:Folder', properties: {} };
  expectStatus(await cluster.admin('POST', `${BASE}/`, node), 201);
}

/** How the page for operators finds what only a journal has, in the folder of an export. */
const COMPARE = "diff stream.jsonl journal.jsonl | grep '^>' | cut -c 1-120";

/** What the journal of a member that is stopped has, and the log has not, as the page for operators finds it. */
async function onlyInJournal(member: ClusterMember): Promise<string> {
  const to = mkdtempSync(join(tmpdir(), 'grove-export-'));
  try {
    const args = ['--data-dir', cluster.dataDirOf(member), '--to', to, '--nats', nats().urls.join(',')];
    await promisify(execFile)(process.execPath, [exportFile, ...args, '--name', 'split', '--partition', '0']);
    return (await promisify(execFile)('sh', ['-c', COMPARE], { cwd: to })).stdout;
  } finally {
    rmSync(to, { recursive: true });
  }
}

/** Waits until the partition has an owner and two followers that are up to date. */
async function kept(): Promise<void> {
  await until(
    async () => {
      const { followers, owner } = (await cluster.overview()).partitions[0];
      return owner !== null && followers.filter(({ is_warm }: { is_warm: boolean }) => is_warm).length === 2;
    },
    'an owner and two followers',
    NOTICE_MS_MAX,
  );
}

it('a partition in quarantine on every member is restored as the page for operators describes', async () => {
  const members = cluster.up;
  const stranger = cluster.member(3);
  await create('early');
  await nats().saveStores();
  for (let number = 0; number < 5; number += 1) await create(`late${number}`);
  await Promise.all([...members, ...nats().servers].map((each) => each.kill()));
  // The servers lose what all members have, and somebody writes over it who has nothing.
  nats().restoreStores();
  for (const server of nats().servers) server.start();
  await nats().ready();
  cluster.configure(['durability = "quorum"', NAME]);
  await stranger.start();
  await create('other');
  expect(await stranger.drain()).toBe(0);

  cluster.configure(['durability = "replica-disk"', NAME]);
  await Promise.all(members.map((member) => member.startUnready()));
  await until(
    () =>
      members.every(({ log }) => log.includes('differs from the one in the flush journal of this member')),
    'every member is in quarantine',
    NOTICE_MS_MAX,
  );

  // 1: what only the journals have.
  await Promise.all(members.map((member) => member.drain()));
  for (const member of members) expect(await onlyInJournal(member)).toMatch(/^> .*"sequence":/m);
  // 2 and 3: two of three may have had them acknowledged; without stores from before, each gives them up.
  for (const member of members)
    rmSync(join(cluster.dataDirOf(member), 'partitions/000'), { recursive: true });
  // 4: in the class that does not ask who kept it, then in the other.
  cluster.configure(['durability = "quorum"', NAME]);
  await Promise.all(members.map((member) => member.start()));
  await kept();
  cluster.configure(['durability = "replica-disk"', NAME]);
  for (const member of members) {
    await member.drain();
    await member.start();
    await kept();
  }
  await create('after');
  for (const member of members) {
    for (const name of ['early', 'other', 'after'])
      expectStatus(await cluster.adminAt(member, 'GET', `${BASE}/${name}`), 200);
    expectStatus(await cluster.adminAt(member, 'GET', `${BASE}/late0`), 404);
  }
}, 400_000);
