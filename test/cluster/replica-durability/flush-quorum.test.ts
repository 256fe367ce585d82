import { beforeEach, describe, expect, it } from 'vitest';
import type { FlushChannel, FlushConfirmation } from '#cluster/replica-durability/flush-channel.ts';
import { FlushJournal } from '#cluster/replica-durability/flush-journal.ts';
import { FlushQuorum } from '#cluster/replica-durability/flush-quorum.ts';
import { noVoters, type Voters, votersIn } from '#cluster/replica-durability/voters.ts';
import { BatchDecoder } from '#cluster/replication/batch-decoder.ts';
import { foldStart } from '#cluster/replication/log-fold.ts';
import { openPartition, type PartitionLog } from '#cluster/replication/partition-log.ts';
import {
  CHAIN_BYTES,
  chainStart,
  encodeOpening,
  encodeRecord,
  NONCE_BYTES,
  RecordKind,
} from '#cluster/replication/record-format.ts';
import { systemRandom } from '#runtime/base/random.ts';
import { numberedEntry } from '#test/support/log-entries.ts';
import { FaultyFileSystem } from '#test/support/faulty-file-system.ts';
import { MemoryStream } from '#test/support/memory-stream.ts';
import { settle, TestClock } from '#test/support/test-clock.ts';

const PARTITION = 1;

const silent: FlushChannel = {
  tell: () => {},
  ask: () => {},
  onConfirmation: () => () => {},
  onRequest: () => () => {},
};

it('refuses new writes while its journal holds more than it may, of which nothing is old enough to go', async () => {
  const clock = new TestClock();
  const window = { keepMs: 60_000, keepBytesMin: 0, keepBytesMax: 0 };
  const journal = await FlushJournal.open({
    files: new FaultyFileSystem(),
    folder: '/owner',
    clock,
    random: systemRandom,
    window,
  });
  const quorum = new FlushQuorum({
    partition: PARTITION,
    member: 'm1',
    journal,
    channel: silent,
    clock,
    stallMs: 1000,
    wanted: () => VOTERS.new,
    learned: () => VOTERS,
  });
  expect(quorum.refusal()).toBeUndefined();
  const { bytes, chain } = encodeRecord(
    {
      kind: RecordKind.open,
      partition: PARTITION,
      entries: 0,
      epoch: 1,
      batch: 0,
      clock: { ms: 0, counter: 0 },
      previousChain: chainStart,
    },
    encodeOpening({ member: 'm1', nonce: Buffer.alloc(NONCE_BYTES) }),
  );
  quorum.stored(
    'memory',
    { sequence: 1, bytes },
    { ...foldStart, sequence: 1, validSequence: 1, epoch: 1, chain },
  );
  for (let turn = 0; turn < 100 && quorum.refusal() === undefined; turn += 1) await settle();
  expect(quorum.refusal()).toMatchObject({ code: 'STORAGE_FULL' });
  quorum.close();
  await journal.close();
});
const LEASE_MS = 4000;
const VOTERS = { old: ['m1', 'm2'], new: ['m1', 'm2'] };

it('counts what a follower has on its disk before the owner hears that it is stored', async () => {
  const clock = new TestClock();
  const stream = new MemoryStream();
  const opening = { position: undefined, leaseMs: 1, clock, random: systemRandom, report: () => {} };
  await openPartition({ ...opening, stream: stream.link(), partition: PARTITION, member: 'm1' });
  const [message] = stream.messages as [(typeof stream.messages)[0]];
  const decoder = new BatchDecoder(PARTITION);
  decoder.take(message);
  const { state } = decoder.fold;
  let tell: (confirmation: FlushConfirmation) => void = () => {};
  let asked = 0;
  const channel: FlushChannel = {
    tell: () => {},
    ask: () => {
      asked += 1;
    },
    onConfirmation: (_partition, listener) => {
      tell = listener;
      return () => {};
    },
    onRequest: () => () => {},
  };
  const journal = await FlushJournal.open({
    files: new FaultyFileSystem(),
    folder: '/owner',
    clock,
    random: systemRandom,
    onFlush: () => quorum.flushed(),
    onFailure: (cause) => {
      throw cause;
    },
  });
  const quorum: FlushQuorum = new FlushQuorum({
    partition: PARTITION,
    member: 'm1',
    journal,
    channel,
    clock,
    stallMs: 1000,
    wanted: () => VOTERS.new,
    learned: () => VOTERS,
  });
  const { chain, epoch } = state;
  tell({ member: 'm2', epoch, sequence: 1, chain });
  tell({ member: 'm3', epoch, sequence: 1, chain: Buffer.alloc(chain.length) });
  expect(quorum.confirmed).toBe(0);
  quorum.stored('memory', message, state);
  for (let turn = 0; turn < 100 && quorum.confirmed === 0; turn += 1) await settle();
  expect([quorum.confirmed, asked]).toEqual([1, 0]);
  quorum.close();
  await journal.close();
});

describe('a write in class replica-disk', () => {
  let clock: TestClock;
  let stream: MemoryStream;
  let tell: (member: string, sequence: number, chain?: Buffer) => void;
  /** While set, nothing comes to the disk of the owner. */
  let disk: Promise<void>;
  /** Holds back what the owner writes from now on. */
  let hold: (until: Promise<void>) => void;
  let log: PartitionLog;

  /** Opens the log for `m1` with some voters. */
  async function open(voters: Voters, wanted = () => voters.new): Promise<FlushQuorum> {
    let disks = Promise.resolve();
    let hear: (confirmation: FlushConfirmation) => void = () => {};
    const journal = await FlushJournal.open({
      files: new FaultyFileSystem(() => disks),
      folder: '/owner',
      clock,
      random: systemRandom,
      onFlush: () => quorum.flushed(),
    });
    const quorum: FlushQuorum = new FlushQuorum({
      partition: PARTITION,
      member: 'm1',
      journal,
      channel: {
        ...silent,
        onConfirmation: (_, listener) => {
          hear = listener;
          return () => {};
        },
      },
      clock,
      stallMs: LEASE_MS,
      wanted,
      learned: () => voters,
    });
    tell = (member, sequence, chain) => {
      const decoder = new BatchDecoder(PARTITION);
      for (const message of stream.messages.slice(0, sequence)) decoder.take(message);
      const { state } = decoder.fold;
      hear({ member, epoch: state.epoch, sequence, chain: chain ?? state.chain });
    };
    disks = disk;
    hold = (until) => {
      disks = until;
    };
    log = await openPartition({
      position: undefined,
      leaseMs: LEASE_MS,
      clock,
      random: systemRandom,
      report: () => {},
      stream: stream.link(),
      partition: PARTITION,
      member: 'm1',
      gate: quorum,
    });
    return quorum;
  }

  /** Time in which everything that is not held back happens. */
  async function calm(): Promise<void> {
    for (let turn = 0; turn < 20; turn += 1) await settle();
  }

  beforeEach(() => {
    clock = new TestClock();
    stream = new MemoryStream();
    disk = Promise.resolve();
  });

  it('needs a majority of the old voters and one of the new while they change', async () => {
    const quorum = await open({ old: ['m1', 'm2', 'm3'], new: ['m1', 'm4', 'm5'] });
    tell('m4', 1);
    await calm();
    expect(quorum.confirmed).toBe(0);
    tell('m2', 1);
    await calm();
    expect(quorum.confirmed).toBe(1);
  });

  it('needs a majority of the voters, however many others have it', async () => {
    const quorum = await open({ old: [], new: ['m1', 'm2', 'm3'] });
    for (const stranger of ['m4', 'm5', 'm6']) tell(stranger, 1);
    await calm();
    expect(quorum.confirmed).toBe(0);
    tell('m3', 1);
    await calm();
    expect(quorum.confirmed).toBe(1);
  });

  it('needs a follower when the owner is the only voter', async () => {
    const quorum = await open({ old: ['m1'], new: ['m1'] });
    // Whoever tells all members is heard by itself.
    tell('m1', 1);
    await calm();
    expect(quorum.confirmed).toBe(0);
    tell('m2', 1);
    await calm();
    expect(quorum.confirmed).toBe(1);
  });

  it('needs the disk of the owner, where all the others have it', async () => {
    const held = Promise.withResolvers<void>();
    disk = held.promise;
    const quorum = await open({ old: [], new: ['m1', 'm2', 'm3'] });
    for (const member of ['m2', 'm3']) tell(member, 1);
    await calm();
    expect(quorum.confirmed).toBe(0);
    held.resolve();
    await calm();
    expect(quorum.confirmed).toBe(1);
  });

  it('is not confirmed by a member that has another record at its position', async () => {
    const quorum = await open({ old: [], new: ['m1', 'm2', 'm3'] });
    tell('m2', 1, Buffer.alloc(CHAIN_BYTES, 7));
    await calm();
    expect(quorum.confirmed).toBe(0);
  });

  it('is not confirmed before the record that opens a further epoch behind it', async () => {
    const quorum = await open({ old: [], new: ['m1', 'm2', 'm3'] });
    tell('m2', 1);
    await calm();
    const held = Promise.withResolvers<void>();
    hold(held.promise);
    void log.barrier();
    await calm();
    tell('m2', 2);
    const decoder = new BatchDecoder(PARTITION);
    for (const message of stream.messages) decoder.take(message);
    const { chain, clock: logClock, epoch, sequence } = decoder.fold.state;
    const fields = { kind: RecordKind.open, partition: PARTITION, entries: 0, batch: 2, clock: logClock };
    const opening = encodeOpening({ member: 'm1', nonce: Buffer.alloc(NONCE_BYTES) });
    const { bytes } = encodeRecord({ ...fields, epoch: epoch + 1, previousChain: chain }, opening);
    stream.messages.push({ sequence: sequence + 1, bytes, storedMs: 0 });
    decoder.take(stream.messages.at(-1) as (typeof stream.messages)[0]);
    quorum.stored('memory', { sequence: sequence + 1, bytes }, decoder.fold.state);
    held.resolve();
    await calm();
    // A member that has the opening and not the record behind which it stands for another would be ahead of both.
    expect(quorum.confirmed).toBe(1);
    tell('m2', 3);
    await calm();
    expect(quorum.confirmed).toBe(3);
  });

  it('is not awaited when it does not count', async () => {
    const quorum = await open({ old: [], new: ['m1', 'm2', 'm3'] });
    tell('m2', 1);
    await calm();
    const decoder = new BatchDecoder(PARTITION);
    decoder.take(stream.messages[0] as (typeof stream.messages)[0]);
    const { clock: logClock, epoch, sequence } = decoder.fold.state;
    const fields = { kind: RecordKind.noop, partition: PARTITION, entries: 0, batch: 2, clock: logClock };
    // Of an owner that had not read the end of the log.
    const { bytes } = encodeRecord({ ...fields, epoch, previousChain: chainStart }, Buffer.alloc(0));
    decoder.take({ sequence: sequence + 1, bytes, storedMs: 0 });
    expect(decoder.fold.state.validSequence).toBe(sequence);
    quorum.stored('memory', { sequence: sequence + 1, bytes }, decoder.fold.state);
    await calm();
    clock.advance(LEASE_MS + 1);
    expect([quorum.waitedMs, quorum.refusal()]).toEqual([0, undefined]);
  });

  it('makes no member the owner if its opening is cancelled before it is confirmed or stored', async () => {
    const quorum = await open({ old: [], new: ['m1', 'm2', 'm3'] });
    const cancelled = new AbortController();
    const opened = new Map<string, boolean>();
    const opens = async (when: string, gate: FlushQuorum): Promise<void> => {
      opened.set(when, await gate.opens(log, cancelled.signal));
    };
    void opens('while it waits', quorum);
    await calm();
    expect(opened.size).toBe(0);
    cancelled.abort();
    await calm();
    stream = new MemoryStream();
    void opens('before', await open({ old: [], new: ['m1', 'm2', 'm3'] }));
    await calm();
    expect([...opened]).toEqual([
      ['while it waits', false],
      ['before', false],
    ]);
  });

  it('is not confirmed before voters are named, who are at least two', async () => {
    let wanted = ['m1'];
    const quorum = await open(noVoters, () => wanted);
    const named = () => stream.messages.flatMap(({ bytes }) => votersIn(bytes) ?? []);
    const look = async (): Promise<void> => {
      clock.advance(1_000);
      await calm();
    };
    quorum.begin(log);
    tell('m2', 1);
    await look();
    expect([quorum.confirmed, named()]).toEqual([0, []]);
    wanted = ['m1', 'm2'];
    await look();
    expect(named()).toEqual([{ old: [], new: wanted }]);
    tell('m2', 2);
    await calm();
    expect(quorum.confirmed).toBe(2);
    quorum.close();
  });

  it('renews the read lease, as barriers do, when the voters have it and not before', async () => {
    await open({ old: [], new: ['m1', 'm2', 'm3'] });
    expect(log.lease.isValid()).toBe(false);
    tell('m2', 1);
    await calm();
    expect(log.lease.isValid()).toBe(true);
    clock.advance(LEASE_MS);
    let isPassed = false;
    const passed = log.barrier().then(() => {
      isPassed = true;
    });
    await calm();
    expect(stream.messages).toHaveLength(2);
    expect([isPassed, log.lease.isValid()]).toEqual([false, false]);
    tell('m2', 2);
    await passed;
    expect(log.lease.isValid()).toBe(true);
    await log.close();
  });

  it('is not in the released part of the log until the voters have it, even when the log has ended', async () => {
    await open({ old: [], new: ['m1', 'm2', 'm3'] });
    tell('m2', 1);
    await calm();
    const written = [1, 2].map((number) => log.append(numberedEntry('a', number)));
    const settled = Promise.allSettled(written);
    await calm();
    expect(stream.messages).toHaveLength(2);
    // No shard has them: who went on behind them would miss them.
    expect(log.releasedPosition.sequence).toBeLessThan(2);
    log.abandon();
    expect(await settled).toMatchObject(written.map(() => ({ reason: { code: 'WRITES_STOPPED' } })));
    expect(log.releasedPosition.sequence).toBeLessThan(2);
  });

  it('is refused, as barriers are, while no second member confirms what was stored', async () => {
    await open({ old: [], new: ['m1', 'm2', 'm3'] });
    tell('m2', 1);
    await calm();
    const passed = log.barrier();
    await calm();
    clock.advance(LEASE_MS + 1);
    for (const refused of [log.append(numberedEntry('a', 1)), log.barrier()])
      await expect(Promise.race([refused, settle()])).rejects.toMatchObject({ code: 'LOG_UNAVAILABLE' });
    tell('m2', 2);
    await passed;
  });

  it('waits, as barriers do, behind as many records as may be without a confirmation', async () => {
    await open({ old: [], new: ['m1', 'm2', 'm3'] });
    tell('m2', 1);
    await calm();
    const barriers: Promise<number>[] = [];
    for (let count = 0; count < 1100; count += 1) {
      barriers.push(log.barrier());
      await settle();
    }
    const stored = stream.messages.length;
    expect(stored).toBe(1025);
    tell('m2', stored);
    await calm();
    expect(stream.messages.length).toBeGreaterThan(stored);
    tell('m2', stream.messages.length);
    await Promise.all(barriers);
  });

  it('is kept by others only when a record with both sets is kept by both, one change at a time', async () => {
    const [pair, three, four] = [
      ['m1', 'm2'],
      ['m1', 'm2', 'm3'],
      ['m1', 'm2', 'm3', 'm4'],
    ];
    let wanted = three;
    const named = () => stream.messages.flatMap(({ bytes }) => votersIn(bytes) ?? []);
    const look = async (): Promise<void> => {
      clock.advance(1_000);
      await calm();
    };
    const quorum = await open({ old: pair, new: pair }, () => wanted);
    quorum.begin(log);
    await look();
    // Nothing is changed before the opening is durable; who keeps it is said anew.
    const said = [{ old: pair, new: pair }];
    expect(named()).toEqual(said);
    tell('m2', 2);
    await look();
    said.push({ old: pair, new: three });
    expect(named()).toEqual(said);
    wanted = four;
    await look();
    expect(named()).toEqual(said);
    tell('m2', 3);
    await look();
    // The new ones stand alone in a record of its own, and the next change is one from those to others.
    said.push({ old: three, new: three }, { old: three, new: four });
    expect(named()).toEqual(said);
    wanted = pair;
    tell('m2', 5);
    tell('m3', 5);
    await look();
    // A member that is away is no reason for fewer.
    said.push({ old: four, new: four });
    expect(named()).toEqual(said);
    quorum.close();
  });
});
