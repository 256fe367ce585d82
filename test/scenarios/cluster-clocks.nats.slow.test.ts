import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ClockShifts, shiftedClock } from '#test/support/clock-shifts.ts';
import { compareRevisionTexts, expectStatus, revisionOf } from '#test/support/content-client.ts';
import { checkLockHistory } from '#test/support/lock-history.ts';
import { LockLoad } from '#test/support/lock-load.ts';
import { type ClusterMember, MemberCluster, showLogsOfFailures } from '#test/support/member-cluster.ts';
import { sharedNatsCluster } from '#test/support/nats-cluster.ts';
import { until } from '#test/support/until.ts';
import { tellReport, WriteLoad } from '#test/support/write-load.ts';

const HOUR_MS = 3_600_000;

/** How far a revision may be ahead of the right time, in milliseconds: what is believed, and the load of the machine. */
const AHEAD_MS_MAX = 65_000;

/** m1 is an hour behind, m2 is right, m3 is an hour ahead. Tokens are of m1: nobody takes one from the future. */
const shiftsMs = [-HOUR_MS, 0, HOUR_MS] as const;

const nats = sharedNatsCluster(3);
let clocks: ClockShifts;
let cluster: MemberCluster;
showLogsOfFailures(() => cluster);

beforeAll(async () => {
  clocks = new ClockShifts(shiftsMs);
  cluster = await MemberCluster.start(nats(), {
    members: 3,
    partitions: 6,
    preload: [shiftedClock],
    // The last one of three members goes on, so that each of them can be the owner.
    settings: ['durability = "quorum"'],
    env: (index) => clocks.env(index),
  });
  expectStatus(await cluster.admin('POST', '/api/repositories', { repo_id: 'red' }), 201);
  const open = { allowed_node_types: [], allowed_root_node_types: [] };
  expectStatus(await cluster.admin('PUT', '/api/workspaces/red/load', open), 204);
  await cluster.settled();
});

afterAll(async () => {
  await cluster?.close();
  clocks?.close();
});

/** Members that have the alarm, as one of them says. */
async function skewed(at: ClusterMember): Promise<string[]> {
  const { warnings } = await cluster.overview(at);
  return (warnings as { code: string; message: string; severity: string }[])
    .filter(({ code }) => code === 'clock-skew')
    .map(({ message, severity }) => `${severity} ${message.replace(/\d+ s/, 'N s')}`)
    .sort();
}

const alarms = [
  'alarm m1: its wall clock is N s behind the clocks of the NATS servers',
  'alarm m3: its wall clock is N s ahead of the clocks of the NATS servers',
];

let written = 0;
let newest = '0-0';

/** Creates nodes one after the other; each revision is above the one before and near the right time. */
async function write(count: number): Promise<void> {
  for (let n = 0; n < count; ) {
    written += 1;
    const node = { name: `r${written}`, node_type: 'svc:Folder', properties: {} };
    const answer = await cluster.admin('POST', '/api/repository/red/main/head/load/', node);
    if (answer.status >= 500) continue;
    expectStatus(answer, 201);
    const revision = revisionOf(answer);
    expect(compareRevisionTexts(revision, newest)).toBeGreaterThan(0);
    expect(Number(revision.split('-')[0])).toBeLessThan(Date.now() + AHEAD_MS_MAX);
    newest = revision;
    n += 1;
  }
}

describe('members whose wall clocks are an hour apart', () => {
  it('have an alarm in the status of every member, in the log and in the metrics; the one that is right has none', async () => {
    for (const member of cluster.members)
      await until(async () => (await skewed(member)).length === 2, `${member.id} shows the alarms`);
    for (const member of cluster.members) expect(await skewed(member)).toEqual(alarms);
    const logged = cluster.members.map(({ process }) =>
      process.stdout.includes('clock: the wall clock differs'),
    );
    expect(logged).toEqual([true, false, true]);
    const metric = async (member: ClusterMember): Promise<number> => {
      const { text } = await cluster.adminAt(member, 'GET', '/metrics');
      return Number(/^svc_clock_skew_seconds (\S+)$/m.exec(text)?.[1]);
    };
    expect(await metric(cluster.member(0))).toBeLessThan(-3_590);
    expect(Math.abs(await metric(cluster.member(1)))).toBeLessThan(5);
    expect(await metric(cluster.member(2))).toBeGreaterThan(3_590);
  });

  it('create increasing revisions, with any owner of the repository and after any change of it', async () => {
    const owners = new Set<ClusterMember>();
    const first = await cluster.ownerOf('red');
    owners.add(first);
    await write(20);
    await first.kill();
    await write(20);
    const second = await cluster.ownerOf('red');
    owners.add(second);
    await second.drain();
    await write(20);
    owners.add(await cluster.ownerOf('red'));
    expect(owners.size).toBe(3);
    await Promise.all([first.start(), second.start()]);
    await write(20);
  });

  it('cut no lease of a lock short, read nothing old and lose nothing, over a kill, a drain and a step of the clock', async () => {
    const writes = new WriteLoad(cluster, ['red'], 'clocks').start();
    const locks = new LockLoad(cluster, 'red').start();
    const both = async (): Promise<void> => {
      await writes.progress(15);
      await locks.progress(60);
    };
    await both();
    const victim = await cluster.ownerOf('red');
    await victim.kill();
    await both();
    const stepped = await cluster.ownerOf('red');
    const index = cluster.members.indexOf(stepped);
    for (const shiftMs of [2 * HOUR_MS, -HOUR_MS, shiftsMs[index] as number]) {
      clocks.step(index, shiftMs, stepped.process.pid);
      await both();
    }
    expect(await stepped.drain()).toBe(0);
    await both();
    const report = await writes.stop();
    await locks.stop();
    tellReport('clocks that are apart and step', report);
    expect(await writes.check()).toEqual([]);
    expect(checkLockHistory(locks.history.events)).toEqual([]);
    expect(await locks.checkUnits()).toEqual([]);
    await write(10);
  });
});
