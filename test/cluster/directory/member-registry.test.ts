import { describe, expect, it } from 'vitest';
import { ClusterDirectory } from '#cluster/directory/cluster-directory.ts';
import { type Heartbeat, HEARTBEAT_FORMAT } from '#cluster/directory/heartbeat.ts';
import { memberFindings } from '#server/status/member-findings.ts';
import { MEMBERS_MAX, MemberRegistry, registryTimes } from '#cluster/directory/member-registry.ts';
import { systemRandom } from '#runtime/base/random.ts';
import { HeardMembers } from '#test/support/heard-members.ts';
import { TestClock } from '#test/support/test-clock.ts';

const ids = Array.from({ length: MEMBERS_MAX }, (_, index) => `m${index}`);

describe('more members than there may be', () => {
  it('are reported by all members, and the last one to join knows that it is the surplus one', () => {
    const heard = new HeardMembers(4, ...ids);
    heard.pass(12);
    for (const id of ids) expect(heard.registry(id).surplus).toBeUndefined();
    // A name that sorts before the others: who came last is not a matter of names.
    heard.add('a-late-one');
    heard.pass(2);
    for (const id of [...ids, 'a-late-one']) expect(heard.registry(id).surplus).toBe('a-late-one');
    for (const id of ids) expect(heard.directory(id).members()).toHaveLength(MEMBERS_MAX);
  });

  it('are no more when it is gone, and a silent member makes room', () => {
    const heard = new HeardMembers(4, ...ids);
    heard.pass(12);
    heard.add('late');
    heard.pass(2);
    heard.cut('late');
    heard.pass(62);
    expect(heard.registry('m0').surplus).toBeUndefined();
    heard.cut('m1');
    heard.pass(6);
    heard.add('another');
    heard.pass(2);
    for (const id of ['m0', 'another']) expect(heard.registry(id).surplus).toBeUndefined();
    expect(
      heard
        .directory('m0')
        .members()
        .map(({ id }) => id),
    ).toContain('another');
  });
});

/** What `other` says: that it owns partition 1 under epoch 3. */
const said: Heartbeat = {
  format: HEARTBEAT_FORMAT,
  member: 'other',
  incarnation: 'first',
  beat: 5,
  url: 'http://other:8080',
  version: '1.2.3',
  formats: { records: 1, calls: 1 },
  load: { requestsInFlight: 0, openActors: 0, pendingBytes: 0 },
  owned: [[1, 3]],
  handovers: [],
  warm: [],
  resting: [],
  isDraining: false,
  isLeaving: false,
};

/** A member that hears what a test says. */
function listening(clock = new TestClock(), key?: string) {
  const sent: Heartbeat[] = [];
  const lost: string[] = [];
  let hear: (heartbeat: Heartbeat) => void = () => {};
  const registry = new MemberRegistry({
    member: { id: 'self', url: 'http://self:8080' },
    version: '1.2.3',
    formats: { records: 1, calls: 1 },
    ...(key === undefined ? {} : { key }),
    partitions: 4,
    load: () => said.load,
    channel: {
      send: (heartbeat) => void sent.push(heartbeat),
      listen(ear) {
        hear = ear;
        return () => {};
      },
    },
    clock,
    random: systemRandom,
    observer: {
      joined: () => {},
      lost: (member) => void lost.push(member),
      duplicate: () => {},
      surplus: () => {},
    },
  });
  registry.start();
  const told = (changed: Partial<Heartbeat>): void => hear({ ...said, ...changed });
  const owner = () => registry.owners.get(1);
  return { lost, owner, registry, sent, told };
}

describe('the master key of the members', () => {
  it('is the same when each says so, also a silent one until it is forgotten', () => {
    const clock = new TestClock();
    const { registry, sent, told } = listening(clock, 'new');
    expect([registry.isKeyShared, sent[0]?.key]).toEqual([true, 'new']);
    // A member of an older version names none.
    told({});
    expect(registry.isKeyShared).toBe(false);
    told({ beat: 9, key: 'old' });
    expect(registry.isKeyShared).toBe(false);
    told({ incarnation: 'second', beat: 1, key: 'new' });
    expect(registry.isKeyShared).toBe(true);
    told({ member: 'third', incarnation: 'third', key: 'old' });
    clock.advance(60_000);
    expect(registry.isKeyShared).toBe(false);
    told({ member: 'third', incarnation: 'third', beat: 99, key: 'old', isLeaving: true });
    expect(registry.isKeyShared).toBe(true);
    expect(listening(new TestClock()).registry.isKeyShared).toBe(false);
  });
});

describe('a name that two processes have', () => {
  const url = 'http://twin:8080';

  it('is reported once the older process continues, until it is silent for a minute', () => {
    const clock = new TestClock();
    const { registry, told } = listening(clock);
    told({ url });
    told({ incarnation: 'second', beat: 1 });
    for (const beat of [6, 7]) {
      told({ url, beat });
      expect(registry.duplicates).toEqual([]);
      clock.advance(1_000);
    }
    told({ url, beat: 8 });
    expect(memberFindings(registry)).toEqual([
      { code: 'duplicate-member', message: expect.stringContaining(`other, and the one at ${url}`) },
    ]);
    clock.advance(60_000);
    expect(registry.duplicates).toEqual([{ member: 'other', url }]);
    clock.advance(1);
    expect(registry.duplicates).toEqual([]);
  });

  it('is not reported after a restart because of late or repeated heartbeats of the previous process', () => {
    const clock = new TestClock();
    const { registry, told } = listening(clock);
    told({ url });
    told({ incarnation: 'second', beat: 1 });
    told({ url, beat: 6 });
    clock.advance(2_000);
    told({ url, beat: 6 });
    expect(registry.duplicates).toEqual([]);
  });

  it('is no longer reported once one of the processes leaves', () => {
    const clock = new TestClock();
    const { registry, told } = listening(clock);
    told({ url });
    told({ incarnation: 'second', beat: 1 });
    told({ url, beat: 6 });
    clock.advance(1_500);
    told({ url, beat: 7 });
    expect(registry.duplicates).toHaveLength(1);
    told({ url, beat: 8, isLeaving: true });
    expect(registry.duplicates).toEqual([]);
  });

  it('is reported once, also when it is the name of the reporting member', () => {
    const clock = new TestClock();
    const { registry, told } = listening(clock);
    for (const beat of [1, 3]) {
      for (const incarnation of ['twin', 'third']) told({ member: 'self', url, incarnation, beat });
      clock.advance(1_500);
    }
    expect(registry.duplicates).toEqual([{ member: 'self', url }]);
  });

  it('is reported for as many processes as are tracked at once', () => {
    const clock = new TestClock();
    const { registry, told } = listening(clock);
    const lives = Array.from({ length: 257 }, (_, index) => `life ${index}`);
    for (const incarnation of lives) told({ member: 'self', url, incarnation, beat: 1 });
    clock.advance(1_500);
    told({ member: 'self', url, incarnation: 'life 0', beat: 2 });
    expect(registry.duplicates).toEqual([]);
    clock.advance(1_500);
    told({ member: 'self', url, incarnation: 'life 0', beat: 3 });
    expect(registry.duplicates).toHaveLength(1);
  });

  it('is reported by both of two members that started at the same moment, and by the other members [CLU-048]', () => {
    const heard = new HeardMembers(4, 'm1', 'm2');
    heard.add('m3');
    heard.pass(2);
    expect(heard.registry('m2').duplicates).toEqual([]);
    heard.addTwin('m1');
    heard.pass(4);
    for (const id of ['m1', 'm2', 'm3'])
      expect(heard.registry(id).duplicates).toEqual([{ member: 'm1', url: 'http://m1:8080' }]);
  });
});

describe('the state that a member announces', () => {
  it('is not reverted by an older heartbeat that arrives late', () => {
    const { owner, told } = listening();
    told({});
    told({ beat: 4, owned: [] });
    expect(owner()).toMatchObject({ id: 'other', epoch: 3 });
    told({ beat: 6, owned: [] });
    expect(owner()).toBeUndefined();
  });

  it('is no longer affected by late heartbeats of an earlier process', () => {
    const { owner, told } = listening();
    told({});
    told({ incarnation: 'second', beat: 1, owned: [] });
    told({ beat: 6 });
    expect(owner()).toBeUndefined();
  });

  it('has no effect once the member has left, even if older heartbeats arrive late', () => {
    const { owner, registry, told } = listening();
    told({});
    told({ beat: 7, owned: [], isLeaving: true });
    told({ beat: 6 });
    expect([owner(), registry.isPresent('other')]).toEqual([undefined, false]);
  });

  it('is a sign of life and nothing more in a newer format', () => {
    const { owner, registry, told } = listening();
    told({ format: HEARTBEAT_FORMAT + 1, handovers: [[2, 'self']] });
    expect([owner(), registry.successors.size, registry.isPresent('other')]).toEqual([undefined, 0, true]);
  });

  it('names no successor once the member is silent', () => {
    const clock = new TestClock();
    const { lost, registry, told } = listening(clock);
    told({ owned: [], handovers: [[2, 'self']] });
    expect(registry.successors.get(2)).toBe('self');
    for (let beat = 0; beat < 5; beat += 1) clock.advance(registryTimes.heartbeatMs);
    expect([lost, registry.successors.size]).toEqual([['other'], 0]);
  });

  it('is not that it owns what the log shows to be of a newer epoch', () => {
    const clock = new TestClock();
    const { registry, sent } = listening(clock);
    registry.claim(1, 3);
    registry.observe(1, 4);
    clock.advance(registryTimes.heartbeatMs);
    expect(sent.at(-1)?.owned).toEqual([]);
  });

  it('is not believed of what the log shows to be of a newer epoch', () => {
    const { registry, told } = listening();
    told({});
    expect(registry.owners.get(1)).toMatchObject({ id: 'other', epoch: 3 });
    registry.observe(1, 4);
    // What a log showed before does not count.
    registry.observe(1, 2);
    expect(registry.owners.has(1)).toBe(false);
  });
});

it('a member hands over only what the other follows closely by its own word', () => {
  const clock = new TestClock();
  const { registry, told } = listening(clock);
  const directory = new ClusterDirectory(registry, 'self', 4);
  for (const partition of [0, 1, 2, 3]) registry.claim(partition, 1);
  let beat = 0;
  const hear = (warm: number[]): void => {
    for (let passed = 0; passed < 60; passed += 1) {
      clock.advance(registryTimes.heartbeatMs);
      beat += 1;
      told({ beat, owned: [], warm });
    }
  };
  hear([]);
  expect(directory.placement.moves).toHaveLength(2);
  expect(directory.handovers).toEqual([]);
  hear([0, 1, 2, 3]);
  expect(directory.handovers).toHaveLength(2);
});

describe('a member that does not hear others', () => {
  it('suspects no member for a time in which it was paused itself', () => {
    const clock = new TestClock();
    const { lost, told } = listening(clock);
    told({});
    clock.advance(15_000);
    expect(lost).toEqual([]);
    for (let beat = 0; beat < 5; beat += 1) clock.advance(registryTimes.heartbeatMs);
    expect(lost).toEqual(['other']);
  });

  it('opens only what it is the successor of until it must have heard everybody', () => {
    const clock = new TestClock();
    const { registry, told } = listening(clock);
    const directory = new ClusterDirectory(registry, 'self', 4);
    expect(directory.vacancies).toEqual([]);
    told({ owned: [], handovers: [[2, 'self']] });
    expect(directory.vacancies).toEqual([2]);
    clock.advance(registryTimes.suspectMs);
    expect(directory.vacancies.length).toBeGreaterThan(1);
  });
});
