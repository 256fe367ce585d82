import { beforeEach, describe, expect, it, vi } from 'vitest';
import { BatchDecoder } from '#cluster/replication/batch-decoder.ts';
import type { DurabilityGate, ReplicaPosition } from '#cluster/replication/durability-gate.ts';
import type { AppendOutcome, StreamState } from '#cluster/replication/log-stream.ts';
import type { LogEvent } from '#cluster/replication/log-events.ts';
import { keptOf, positionOf, type ReceivedPosition } from '#cluster/replication/log-position.ts';
import { openPartition, type PartitionLog } from '#cluster/replication/partition-log.ts';
import type { OpeningOptions } from '#cluster/replication/partition-opening.ts';
import { encodeRecord, RecordKind } from '#cluster/replication/record-format.ts';
import { systemRandom } from '#runtime/base/random.ts';
import { numberedEntry } from '#test/support/log-entries.ts';
import { MemoryLink, MemoryStream } from '#test/support/memory-stream.ts';
import { settle, TestClock } from '#test/support/test-clock.ts';

const PARTITION = 1;
const LEASE_MS = 4000;

/** How many messages the log has in the beginning: its opening and two entries. */
const LENGTH = 3;

/** A stream that something happens to when an append arrives, before it is stored. */
class DisturbedLink extends MemoryLink {
  beforeAppend: () => void = () => {};
  /** Which server leads, as the next look says. */
  leader: () => string = () => 's1';
  /** Which stream of this name it is. */
  identity = 'memory';

  override async state(): Promise<StreamState> {
    return { ...(await super.state()), leader: this.leader(), identity: this.identity };
  }

  override async append(expected: number, bytes: Buffer): Promise<AppendOutcome> {
    this.beforeAppend();
    this.beforeAppend = () => {};
    return super.append(expected, bytes);
  }
}

let clock: TestClock;
let stream: MemoryStream;
let link: DisturbedLink;
let log: PartitionLog;

function open(member: string, options: Partial<OpeningOptions> = {}): Promise<PartitionLog> {
  return openPartition({
    stream: link,
    partition: PARTITION,
    member,
    position: undefined,
    leaseMs: LEASE_MS,
    clock,
    random: systemRandom,
    report: () => {},
    ...options,
  });
}

async function pass(ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 250) {
    clock.advance(250);
    await settle();
  }
}

/** The servers lose the newest message, and another one is written in its place. */
function replaceEnd(): void {
  stream.messages.pop();
  appendStrange();
}

/** A record of the present epoch that its owner did not write. */
function appendStrange(): void {
  const decoder = new BatchDecoder(PARTITION);
  for (const message of stream.messages) decoder.take(message);
  const { chain: previousChain, epoch } = decoder.fold.state;
  const fields = { kind: RecordKind.noop, partition: PARTITION, entries: 0, epoch, batch: 99, previousChain };
  const { bytes } = encodeRecord({ ...fields, clock: { ms: 0, counter: 0 } }, Buffer.alloc(0));
  stream.append(stream.messages.length, bytes);
}

/** What the members that keep a log are waited for: nothing. */
const gate: DurabilityGate = {
  stored: () => {},
  confirmed: Number.POSITIVE_INFINITY,
  refusal: () => undefined,
  stalled: () => undefined,
  listen: () => {},
};

beforeEach(async () => {
  clock = new TestClock();
  stream = new MemoryStream();
  link = new DisturbedLink(stream);
  log = await open('m1');
  for (const number of [1, 2]) await log.append(numberedEntry('a', number));
  expect(stream.messages).toHaveLength(LENGTH);
});

describe('a stream that lost its end and has grown to its former length', () => {
  it('gets no further epoch from an owner that resolves the outcome of an append', async () => {
    link.beforeAppend = () => {
      link.isConnected = false;
    };
    const refused = expect(log.barrier()).rejects.toMatchObject({ code: 'WRITES_STOPPED' });
    await settle();
    replaceEnd();
    link.isConnected = true;
    await pass(1000);
    await refused;
    expect(stream.messages).toHaveLength(LENGTH);
  });

  it('gets no opening of a candidate that read it before', async () => {
    const refused = expect(open('m2')).rejects.toMatchObject({ code: 'DATA_CORRUPTED' });
    await pass(LEASE_MS / 2);
    replaceEnd();
    await pass(LEASE_MS);
    await refused;
    expect(stream.messages).toHaveLength(LENGTH);
  });

  it('is opened by no member, even when that happens at the last moment', async () => {
    link.beforeAppend = replaceEnd;
    const refused = expect(open('m2')).rejects.toMatchObject({ code: 'DATA_CORRUPTED' });
    await pass(2 * LEASE_MS);
    await refused;
  });
});

it('a record without entries keeps the clock of the log, which later revisions are behind', async () => {
  const { lastClock } = log;
  expect(lastClock).toEqual(numberedEntry('a', 2).clock);
  await log.barrier();
  expect(log.lastClock).toEqual(lastClock);
  await log.close();
  expect((await open('m2')).lastClock).toEqual(lastClock);
});

it('a log takes nothing more behind an append that was not answered for as long as a lease', async () => {
  link.answers = false;
  const first = expect(log.append(numberedEntry('a', 3))).resolves.toBeGreaterThan(LENGTH);
  await pass(LEASE_MS + 500);
  const second = Promise.race([log.append(numberedEntry('a', 4)), settle()]);
  await expect(second).rejects.toMatchObject({ code: 'LOG_UNAVAILABLE' });
  link.answers = true;
  await pass(2 * LEASE_MS);
  await first;
  await expect(log.append(numberedEntry('a', 5))).resolves.toBeGreaterThan(LENGTH);
});

it('a log is opened by no member while another replica has more of it', async () => {
  const more: ReplicaPosition = { member: 'm3', identity: 'memory', epoch: 1, sequence: LENGTH + 1 };
  const replicas = { ask: () => Promise.resolve([more]) };
  const refused = expect(open('m2', { replicas })).rejects.toThrow('m3 has 4');
  await pass(LEASE_MS + 15_000);
  await refused;
  expect(stream.messages).toHaveLength(LENGTH);
});

it('a log is opened by no member while another replica knows it as another stream', async () => {
  const replicas = { ask: async () => [{ member: 'm3', identity: 'another', epoch: 1, sequence: 1 }] };
  const opening = expect(open('m2', { replicas })).rejects.toThrow(/m3 knows it as 'another'/);
  await settle();
  await pass(LEASE_MS + 1_000);
  await opening;
  expect(stream.messages).toHaveLength(LENGTH);
});

it('a log that another replica was ahead of for a moment, time and again, is not one that lost its end', async () => {
  let isAhead = true;
  const ask = async (): Promise<readonly ReplicaPosition[]> =>
    isAhead ? [{ member: 'm3', identity: 'memory', epoch: 1, sequence: stream.messages.length + 1 }] : [];
  const opening = open('m2', { replicas: { ask } });
  await pass(LEASE_MS + 4_000);
  // The owner still writes: what the replica had is there now.
  await log.append(numberedEntry('a', 3));
  await pass(LEASE_MS + 8_000);
  isAhead = false;
  await pass(LEASE_MS);
  expect((await opening).epoch).toBe(2);
});

it('an empty log that is deleted and recreated at the last moment is opened by no member', async () => {
  stream = new MemoryStream();
  link = new DisturbedLink(stream);
  link.beforeAppend = () => {
    link.identity = 'made anew';
  };
  const refused = expect(open('m2')).rejects.toThrow(/its stream is 'made anew'/);
  await pass(15_000);
  await refused;
});

describe('a candidate', () => {
  it('sends nothing while the owner writes', async () => {
    const candidate = new DisturbedLink(stream);
    let sent = 0;
    candidate.beforeAppend = () => {
      sent += 1;
    };
    const opening = open('m2', { stream: candidate });
    for (let number = 3; number < 15; number += 1) {
      await pass(LEASE_MS / 4);
      await log.append(numberedEntry('a', number));
    }
    expect(sent).toBe(0);
    await pass(2 * LEASE_MS);
    expect((await opening).epoch).toBe(2);
  });

  it('waits again when the servers were away, which may have lost what renewed a lease', async () => {
    const { length } = stream.messages;
    // When the lease was waited out, right before the opening goes out.
    const ask = async (): Promise<readonly ReplicaPosition[]> => {
      link.isConnected = false;
      return [];
    };
    const replicas = {
      ask: vi
        .fn(ask)
        .mockImplementation(async () => [])
        .mockImplementationOnce(ask),
    };
    const opening = open('m2', { gate, replicas });
    await pass(LEASE_MS + 500);
    expect(replicas.ask).toHaveBeenCalledTimes(1);
    link.isConnected = true;
    await pass(LEASE_MS - 1000);
    expect(stream.messages).toHaveLength(length);
    await pass(LEASE_MS);
    expect((await opening).epoch).toBe(2);
  });

  /** Where the log is, received a lease ago. */
  async function longKnown(): Promise<ReceivedPosition> {
    const decoder = new BatchDecoder(PARTITION);
    for (const message of stream.messages) decoder.take(message);
    const position = { ...positionOf('memory', decoder.fold.state), receivedMs: clock.monotonicMs() };
    await pass(LEASE_MS);
    return position;
  }

  it('waits for no lease again that is over since a member received the end', async () => {
    const opening = open('m2', { gate, position: await longKnown() });
    await pass(1_000);
    expect((await opening).epoch).toBe(2);
  });

  it('waits for a whole lease when the time at which the end was received is unknown', async () => {
    const opening = open('m2', { position: keptOf(await longKnown()) });
    await pass(LEASE_MS - 500);
    expect(stream.messages).toHaveLength(LENGTH);
    await pass(LEASE_MS);
    expect((await opening).epoch).toBe(2);
  });

  it.each<[string, number]>([
    ['at first', 0],
    ['while it waits', LEASE_MS - 1_000],
  ])('waits again when the log was shorter %s, which may have lost what renewed a lease', async (_, ms) => {
    const position = ms === 0 ? await longKnown() : undefined;
    const lose = (): (() => void) => {
      const end = stream.messages.splice(LENGTH - 1);
      return () => void stream.messages.push(...end);
    };
    let giveBack = ms === 0 ? lose() : () => {};
    const opening = open('m2', { gate, ...(position === undefined ? {} : { position }) });
    await pass(ms);
    if (ms > 0) giveBack = lose();
    await pass(1_000);
    giveBack();
    await pass(LEASE_MS - 1_000);
    expect(stream.messages).toHaveLength(LENGTH);
    await pass(2 * LEASE_MS);
    expect((await opening).epoch).toBe(2);
  });

  it('waits again when the log was shorter at the last moment', async () => {
    let giveBack = (): void => {};
    const ask = vi
      .fn(async (): Promise<readonly ReplicaPosition[]> => [])
      .mockImplementationOnce(async () => {
        const end = stream.messages.splice(LENGTH - 1);
        giveBack = () => void stream.messages.push(...end);
        return [];
      });
    const opening = open('m2', { gate, replicas: { ask } });
    await pass(LEASE_MS + 500);
    expect(ask).toHaveBeenCalledTimes(1);
    giveBack();
    await pass(LEASE_MS - 1_000);
    expect(stream.messages).toHaveLength(LENGTH);
    await pass(2 * LEASE_MS);
    expect((await opening).epoch).toBe(2);
  });

  it('owns a log that has its opening, also when the answer was lost', async () => {
    const append = link.append.bind(link);
    let lost = 0;
    link.append = async (expected, bytes) => {
      const outcome = await append(expected, bytes);
      lost += 1;
      return lost === 1 ? { kind: 'unknown', reason: 'no answer' } : outcome;
    };
    const opening = open('m2');
    await pass(2 * LEASE_MS);
    expect((await opening).epoch).toBe(2);
    expect(stream.messages).toHaveLength(LENGTH + 1);
  });

  it('abandons a log that is full', async () => {
    let sent = 0;
    link.append = async () => {
      sent += 1;
      if (sent > 1) throw new Error('it is sent again');
      return { kind: 'full', reason: 'the stream has all bytes it may have' };
    };
    const refused = expect(open('m2')).rejects.toMatchObject({ code: 'STORAGE_FULL' });
    await pass(2 * LEASE_MS);
    await refused;
  });

  it('does not count a time in which another server became leader, when no owner could renew a lease', async () => {
    link.leader = () => `s${clock.monotonicMs()}`;
    const opening = open('m2');
    await pass(3 * LEASE_MS);
    expect(stream.messages).toHaveLength(LENGTH);
    link.leader = () => 's1';
    await pass(2 * LEASE_MS);
    expect((await opening).epoch).toBe(2);
  });
});

describe('an owner that cannot trust the state of the stream', () => {
  it('stops when a record of its epoch is there that it did not write', async () => {
    link.beforeAppend = () => {
      link.isConnected = false;
    };
    const refused = expect(log.barrier()).rejects.toMatchObject({ code: 'WRITES_STOPPED' });
    await settle();
    appendStrange();
    link.isConnected = true;
    await pass(1000);
    await refused;
    expect(stream.messages).toHaveLength(LENGTH + 1);
  });

  it('stops when a record is said to be stored elsewhere than behind the one before it', async () => {
    const reports: LogEvent[] = [];
    await log.close();
    log = await open('m1', { report: (event) => reports.push(event) });
    link.append = async (expected) => ({ kind: 'stored', sequence: expected + 2 });
    void log.barrier().catch(() => undefined);
    await settle();
    expect(log.ended).toMatchObject({ code: 'WRITES_STOPPED' });
    expect(reports.at(-1)).toMatchObject({ kind: 'quarantined', cause: { code: 'DATA_CORRUPTED' } });
  });
});

describe('an owner that finds out what became of an append', () => {
  it('opens one further epoch, also when the answer to that was lost', async () => {
    const append = link.append.bind(link);
    let sent = 0;
    link.append = async (expected, bytes) => {
      sent += 1;
      // What was to be found out, then the opening.
      if (sent === 1) return { kind: 'unknown', reason: 'no answer' };
      const outcome = await append(expected, bytes);
      return sent === 2 ? { kind: 'unknown', reason: 'no answer' } : outcome;
    };
    const passed = log.barrier();
    await pass(2_000);
    // The opening, and behind it the barrier again.
    expect(await passed).toBe(LENGTH + 2);
    expect(log.epoch).toBe(2);
  });

  it('ends when others continued and the beginning of their records is gone', async () => {
    link.beforeAppend = () => {
      link.isConnected = false;
    };
    const refused = expect(log.barrier()).rejects.toMatchObject({ code: 'WRITES_STOPPED' });
    const opening = open('m2', { stream: stream.link() });
    await pass(2 * LEASE_MS);
    await (await opening).append(numberedEntry('a', 3));
    stream.firstSequence = stream.messages.length;
    link.isConnected = true;
    await pass(2_000);
    expect(log.ended).toBeDefined();
    await refused;
  });
});

it('a log that ended has no lease', () => {
  expect(log.lease.isValid()).toBe(true);
  log.abandon();
  expect(log.lease.isValid()).toBe(false);
});

describe('an owner whose log other members keep on their disks', () => {
  /** Where the others are. */
  let others: ReplicaPosition[];

  beforeEach(async () => {
    await log.close();
    others = [];
    log = await open('m1', { gate, replicas: { ask: async () => others } });
    await log.append(numberedEntry('a', 3));
  });

  /** The servers lose what is appended next before they answer. */
  function loseNext(): Promise<PromiseSettledResult<unknown>[]> {
    link.beforeAppend = () => {
      link.isConnected = false;
    };
    return Promise.allSettled([log.barrier()]);
  }

  it('appends the very record again that the servers may have lost before they answered', async () => {
    const { length } = stream.messages;
    let lost: Buffer | undefined;
    const append = link.append.bind(link);
    link.append = (expected, bytes) => {
      lost ??= Buffer.from(bytes);
      return append(expected, bytes);
    };
    const written = loseNext();
    await settle();
    others = [{ member: 'm2', identity: 'memory', epoch: log.epoch, sequence: length + 1 }];
    link.isConnected = true;
    await pass(1000);
    expect(await written).toMatchObject([{ status: 'fulfilled' }]);
    expect(stream.messages).toHaveLength(length + 1);
    expect(stream.messages.at(-1)?.bytes).toEqual(lost);
  });

  it('writes nothing while a member has a later epoch, which the stream has lost', async () => {
    const { length } = stream.messages;
    const written = loseNext();
    await settle();
    others = [{ member: 'm3', identity: 'memory', epoch: log.epoch + 1, sequence: length + 1 }];
    link.isConnected = true;
    await pass(15_000);
    expect(await written).toMatchObject([{ status: 'rejected', reason: { code: 'WRITES_STOPPED' } }]);
    expect(stream.messages).toHaveLength(length);
  });
});
