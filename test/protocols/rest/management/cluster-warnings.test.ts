import { describe, expect, it } from 'vitest';
import { clusterWarnings, RECORDS_BEHIND_MAX } from '#protocols/rest/management/cluster-warnings.ts';
import type { ClusterOverview, SeenMember, SeenNatsServer, SeenPartition } from '#protocols/rest/ports.ts';

const member = (id: string, facts: Partial<SeenMember> = {}): SeenMember => ({
  id,
  url: `http://${id}:8080`,
  version: '1.0.0',
  state: 'ready',
  isSelf: id === 'a',
  load: { requestsInFlight: 0, openActors: 0, pendingBytes: 0 },
  ...facts,
});

const partition = (number: number, facts: Partial<SeenPartition> = {}): SeenPartition => ({
  partition: number,
  owner: { member: 'a', epoch: 3 },
  lastSequence: 100,
  followers: [
    { member: 'b', isWarm: true, recordsBehind: 0 },
    { member: 'c', isWarm: true, recordsBehind: 2 },
  ],
  quarantine: undefined,
  log: undefined,
  ...facts,
});

const server = (name: string, facts: Partial<SeenNatsServer> = {}): SeenNatsServer => ({
  name,
  version: '2.12.12',
  isReachable: true,
  syncsAlways: true,
  ...facts,
});

/** A cluster that is well. */
const well: ClusterOverview = {
  mode: 'cluster',
  durability: 'quorum-disk',
  durabilityReason: 'every NATS server flushes before it answers',
  followersWanted: 2,
  members: [member('a'), member('b'), member('c')],
  partitions: [partition(0), partition(1)],
  natsServers: [server('n1'), server('n2'), server('n3')],
  natsRemarks: [],
  findings: [],
};

const told = (overview: Partial<ClusterOverview>) =>
  clusterWarnings({ ...well, ...overview }).map(({ code, severity }) => `${severity} ${code}`);

const message = (overview: Partial<ClusterOverview>) =>
  clusterWarnings({ ...well, ...overview })
    .map((warning) => warning.message)
    .join('\n');

describe('the warnings of a cluster', () => {
  it('are none when everything is well', () => {
    expect(clusterWarnings(well)).toEqual([]);
  });

  it('name partitions without an owner, the first few by number', () => {
    const partitions = Array.from({ length: 12 }, (_, number) => partition(number, { owner: undefined }));
    expect(told({ partitions })).toEqual(['alarm partition-without-owner']);
    expect(message({ partitions })).toContain('12 partitions (0, 1, 2, 3, 4, 5, 6, 7, …) without an owner');
    expect(message({ partitions: partitions.slice(4, 5) })).toContain('1 partition (4) without an owner');
  });

  it('name a partition in quarantine with its reason, and not also as one without an owner', () => {
    const partitions = [partition(0, { owner: undefined, quarantine: 'record 7 fails its checksum' })];
    expect(told({ partitions })).toEqual(['alarm partition-quarantined']);
    expect(message({ partitions })).toContain('record 7 fails its checksum');
  });

  it('report a partition that another member has in quarantine, and once one that is in quarantine here', () => {
    const partitions = [partition(0, { quarantine: 'record 7 fails its checksum' }), partition(1)];
    const code = 'partition-quarantined';
    const findings = [
      { member: 'a', code, message: 'partition 0 takes no writes: record 7 fails its checksum' },
      { member: 'b', code, message: 'partition 1 takes no writes: record 9 fails its checksum' },
    ] as const;
    expect(told({ partitions, findings })).toEqual([`alarm ${code}`, `alarm ${code}`]);
    expect(message({ partitions, findings })).toContain('b: partition 1 takes no writes: record 9');
  });

  it('distinguish a partition that no member could take over from one with a follower less', () => {
    const cold = { member: 'b', isWarm: false, recordsBehind: undefined };
    const bare = partition(0, { followers: [cold] });
    const short = partition(1, { followers: [cold, { member: 'c', isWarm: true, recordsBehind: 0 }] });
    expect(told({ partitions: [bare, short] })).toEqual([
      'alarm partition-unprotected',
      'notice partition-short-of-followers',
    ]);
    expect(message({ partitions: [short], members: [member('a'), member('b')] })).toContain('only 2 members');
    expect(message({ partitions: [short] })).toContain('catching up');
  });

  it('report a follower that falls behind, and not one whose position is unknown', () => {
    const behind = (recordsBehind: number | undefined) => ({
      partitions: [
        partition(0, {
          followers: [
            { member: 'b', isWarm: true, recordsBehind },
            { member: 'c', isWarm: true, recordsBehind: 0 },
          ],
        }),
      ],
    });
    expect(told(behind(RECORDS_BEHIND_MAX))).toEqual([]);
    expect(told(behind(undefined))).toEqual([]);
    expect(told(behind(RECORDS_BEHIND_MAX + 1))).toEqual(['alarm follower-behind']);
  });

  it('report a log that approaches its limit and cannot be truncated, with the reason', () => {
    const log = (kept: string | undefined) => ({
      partitions: [partition(4, { log: { bytes: 80, bytesMax: 100, kept, snapshot: undefined } })],
    });
    expect(told(log(undefined))).toEqual([]);
    expect(told(log('b has stored up to record 7'))).toEqual(['alarm log-cannot-be-cut']);
    expect(message(log('b has stored up to record 7'))).toContain('partition 4 has 80 % of its size');
    expect(message(log('b has stored up to record 7'))).toContain('b has stored up to record 7');
  });

  it('report members that are silent or run another version', () => {
    const members = [member('a'), member('b', { state: 'suspect' }), member('c', { version: '1.1.0' })];
    expect(told({ members })).toEqual(['alarm member-silent', 'notice member-versions-differ']);
    expect(message({ members })).toContain('nothing is heard of b (http://b:8080)');
    expect(told({ members: [member('a'), member('b', { version: '' })] })).toEqual([]);
  });

  it('report NATS servers that do not answer, and problems of their settings', () => {
    const natsServers = [server('n1'), server('n2', { isReachable: false, version: '' })];
    expect(told({ natsServers, natsRemarks: ['set sync_interval'] })).toEqual([
      'alarm nats-unreachable',
      'notice nats-settings',
    ]);
    expect(message({ natsServers })).toContain('n2 does not answer');
  });

  it('report what the weaker durability classes do not survive', () => {
    for (const durability of ['relaxed', 'quorum'])
      expect(told({ durability })).toEqual(['notice durability-weak']);
    for (const durability of ['local', 'quorum-disk', 'replica-disk'])
      expect(told({ durability })).toEqual([]);
  });

  it('do not ask a single member for followers', () => {
    const partitions = [partition(0, { followers: [] })];
    expect(told({ mode: 'embedded', followersWanted: 0, partitions, members: [member('a')] })).toEqual([]);
  });
});
