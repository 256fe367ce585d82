import { systemClock } from '#runtime/base/time/clock.ts';
import { describe, expect, it } from 'vitest';
import { type ClusterStatusSources, MemberClusterStatus } from '#server/status/member-cluster-status.ts';
import { clusterJson } from '#protocols/rest/management/cluster.ts';
import { HeardMembers } from '#test/support/heard-members.ts';

const PARTITIONS = 3;

function threeMembers() {
  const members = new HeardMembers(PARTITIONS, 'a', 'b', 'c');
  for (const [partition, id] of ['a', 'b', 'c'].entries())
    members.registry(id).claim(partition, 4 + partition);
  members.registry('b').setWarm([0, 2]);
  members.registry('c').setWarm([0, 1]);
  members.registry('a').setWarm([1, 2]);
  members.pass(15);
  return members;
}

async function read(members: HeardMembers, facts: Partial<ClusterStatusSources> = {}) {
  const status = new MemberClusterStatus({
    clock: systemClock,
    mode: 'cluster',
    directory: members.directory('a'),
    state: () => 'ready',
    durability: 'replica-disk',
    durabilityReason: 'the NATS servers cannot flush',
    followersWanted: 2,
    findings: () => [],
    progress: () =>
      Promise.resolve({
        positions: new Map([
          [
            'a',
            new Map([
              [0, 100],
              [1, 99],
              [2, 102],
            ]),
          ],
          [
            'b',
            new Map([
              [0, 100],
              [1, 101],
              [2, 40],
            ]),
          ],
        ]),
        findings: new Map(),
        quarantine: () => undefined,
      }),
    nats: () =>
      Promise.resolve({
        servers: [{ name: 'n1', version: '2.9.10', isReachable: true, syncsAlways: false }],
        remarks: [],
      }),
    ...facts,
  });
  return clusterJson(await status.read());
}

describe('the status of a cluster', () => {
  it('reports what this member knows of every member, partition, owner and follower', async () => {
    const answer = await read(threeMembers());
    expect(
      answer.members.map(({ id, address, version, state, is_self }) => [
        id,
        address,
        version,
        state,
        is_self,
      ]),
    ).toEqual([
      ['a', 'http://a:8080', '1.2.3', 'ready', true],
      ['b', 'http://b:8080', '1.2.3', 'ready', false],
      ['c', 'http://c:8080', '1.2.3', 'ready', false],
    ]);
    expect(answer.members[1]?.load).toEqual({ requests_in_flight: 1, open_actors: 2, pending_bytes: 3 });
    expect(
      answer.partitions.map(({ owner, epoch, last_sequence, state }) => [owner, epoch, last_sequence, state]),
    ).toEqual([
      ['a', 4, 100, 'owned'],
      ['b', 5, 101, 'owned'],
      ['c', 6, 102, 'owned'],
    ]);
    const followers = answer.partitions[1]?.followers ?? [];
    expect([...followers].sort((x, y) => (x.member < y.member ? -1 : 1))).toEqual([
      { member: 'a', is_warm: true, records_behind: 2 },
      { member: 'c', is_warm: true, records_behind: null },
    ]);
    expect(answer.nats_servers).toEqual([
      { name: 'n1', version: '2.9.10', state: 'reachable', syncs_always: false },
    ]);
    expect(answer.warnings).toEqual([]);
  });

  it('reports a member that fell silent, and the partition it leaves', async () => {
    const members = threeMembers();
    members.cut('c');
    members.pass(4);
    const answer = await read(members);
    const codes = answer.warnings.map(({ code }) => code);
    expect(codes.slice(0, 2)).toEqual(['partition-without-owner', 'member-silent']);
    expect(answer.members.map(({ state }) => state)).toEqual(['ready', 'ready', 'suspect']);
    expect(answer.partitions[2]).toMatchObject({ owner: null, epoch: null, state: 'unowned' });
  });

  it('reports a member that drains, this one included', async () => {
    const members = threeMembers();
    members.registry('b').drain();
    members.pass(1);
    const answer = await read(members, { state: () => 'draining' });
    expect(answer.members.map(({ state }) => state)).toEqual(['draining', 'draining', 'ready']);
  });

  it('reports the findings of members about themselves, its own without a request', async () => {
    const low = { code: 'space-low', message: 'the volume of /data is 81 % full' } as const;
    const skew = { code: 'clock-skew', message: 'its wall clock is 9 s behind' } as const;
    const answer = await read(threeMembers(), {
      findings: () => [skew],
      progress: () =>
        Promise.resolve({
          positions: new Map(),
          findings: new Map([
            ['c', [low]],
            // What it said a moment ago.
            ['a', [low]],
          ]),
          quarantine: () => undefined,
        }),
    });
    expect(answer.warnings.slice(0, 2)).toEqual([
      { code: 'clock-skew', severity: 'alarm', message: `a: ${skew.message}` },
      { code: 'space-low', severity: 'alarm', message: `c: ${low.message}` },
    ]);
  });

  it('reports a partition in quarantine', async () => {
    const quarantine = (partition: number) => (partition === 1 ? 'record 5 is torn' : undefined);
    const answer = await read(threeMembers(), {
      progress: () => Promise.resolve({ positions: new Map(), findings: new Map(), quarantine }),
    });
    expect(answer.partitions[1]).toMatchObject({ state: 'quarantined', last_sequence: null });
    expect(answer.warnings[0]).toMatchObject({ code: 'partition-quarantined', severity: 'alarm' });
  });
});
