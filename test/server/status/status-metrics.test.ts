import { expect, it } from 'vitest';
import type { ClusterOverview } from '#protocols/rest/ports.ts';
import { clusterWarningSeverities } from '#protocols/rest/management/cluster-warnings.ts';
import { Metrics } from '#runtime/telemetry/metrics.ts';
import { StatusMetrics } from '#server/status/status-metrics.ts';
import { TestClock } from '#test/support/test-clock.ts';
import { until } from '#test/support/until.ts';

const load = { requestsInFlight: 0, openActors: 0, pendingBytes: 0 };
const member = (id: string, isSelf: boolean, state: 'ready' | 'suspect') => ({
  id,
  url: `http://${id}`,
  version: '1',
  state,
  isSelf,
  load,
});

/** This member is `a`; it is 12 records behind in partition 1, and `b` is silent. */
const overview: ClusterOverview = {
  mode: 'cluster',
  durability: 'quorum-disk',
  durabilityReason: '',
  followersWanted: 1,
  members: [member('a', true, 'ready'), member('b', false, 'suspect')],
  partitions: [0, 1, 2].map((partition) => ({
    partition,
    owner: { member: partition === 1 ? 'c' : 'a', epoch: 1 },
    lastSequence: 100,
    followers: [
      { member: 'a', isWarm: true, recordsBehind: partition === 1 ? 12 : undefined },
      { member: 'b', isWarm: true, recordsBehind: 40_000 },
    ],
    quarantine: undefined,
    log: undefined,
  })),
  natsServers: [],
  natsRemarks: [],
  findings: [],
};

async function samplesOf(metrics: Metrics, prefix: string): Promise<Record<string, number>> {
  const lines = (await metrics.text()).split('\n').filter((line) => line.startsWith(prefix));
  return Object.fromEntries(lines.map((line) => [line.split(' ')[0] as string, Number(line.split(' ')[1])]));
}

it('the status is exported by code, with every code, and for the partitions this member follows', async () => {
  const metrics = new Metrics();
  const clock = new TestClock();
  let reads = 0;
  const read = (): Promise<ClusterOverview> => {
    reads += 1;
    return Promise.resolve(overview);
  };
  const status = new StatusMetrics(metrics, { clock, mode: 'cluster', read });
  // Whoever asks first has the status read, and does not wait for it.
  expect(await samplesOf(metrics, 'svc_warnings')).toEqual({});
  await until(async () => Object.keys(await samplesOf(metrics, 'svc_warnings')).length > 0, 'it was read');
  const warnings = await samplesOf(metrics, 'svc_warnings');
  expect(Object.keys(warnings)).toEqual(
    Object.entries(clusterWarningSeverities).map(
      ([code, severity]) => `svc_warnings{code="${code}",severity="${severity}"}`,
    ),
  );
  expect(Object.entries(warnings).filter(([, value]) => value > 0)).toEqual([
    ['svc_warnings{code="follower-behind",severity="alarm"}', 3],
    ['svc_warnings{code="member-silent",severity="alarm"}', 1],
  ]);
  expect(await samplesOf(metrics, 'svc_follower_records_behind')).toEqual({
    'svc_follower_records_behind{partition="1"}': 12,
  });
  expect(reads).toBe(1);
  clock.advance(9_999);
  await metrics.text();
  expect(reads).toBe(1);
  clock.advance(1);
  await metrics.text();
  expect(reads).toBe(2);
  status.stop();
  clock.advance(60_000);
  await metrics.text();
  expect(reads).toBe(2);
});

it('a status that cannot be read is no status, until it can be read again', async () => {
  const metrics = new Metrics();
  const clock = new TestClock();
  let isStarting = true;
  const status = new StatusMetrics(metrics, {
    clock,
    mode: 'embedded',
    read() {
      // As the engine of a member that starts.
      if (isStarting) throw new Error('starting');
      return Promise.resolve({ ...overview, mode: 'embedded' });
    },
  });
  await status.refresh();
  expect(await samplesOf(metrics, 'svc_warnings')).toEqual({});
  isStarting = false;
  await status.refresh();
  expect(Object.keys(await samplesOf(metrics, 'svc_warnings'))).not.toEqual([]);
  isStarting = true;
  await status.refresh();
  expect(await samplesOf(metrics, 'svc_warnings')).toEqual({});
  expect(await metrics.text()).not.toContain('svc_follower_records_behind');
});
