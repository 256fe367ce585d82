import { beforeEach, describe, expect, it, vi } from 'vitest';
import { BatchDecoder } from '#cluster/replication/batch-decoder.ts';
import type { DurabilityGate, ReplicaPosition } from '#cluster/replication/durability-gate.ts';
import type { AppendOutcome, StreamState } from '#cluster/replication/log-stream.ts';
import type { LogEvent } from '#cluster/replication/log-events.ts';
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

  override async state(): Promise<StreamState> {
    return { ...(await super.state()), leader: this.leader() };
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

describe('a stream that lost its end and has grown again to where it was', () => {
  it('gets no further epoch of an owner who finds out what became of an append', async () => {
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

  it('is opened by nobody, even when that happens at the last moment', async () => {
    link.beforeAppend = replaceEnd;
    const refused = expect(open('m2')).rejects.toMatchObject({ code: 'DATA_CORRUPTED' });
    await pass(2 * LEASE_MS);
    await refused;
  });
});

it('a log is opened by nobody while another replica has more of it', async () => {
  const more: ReplicaPosition = { member: 'm3', identity: 'memory', epoch: 1, sequence: LENGTH + 1 };
  const replicas = { ask: () => Promise.resolve([more]) };
  const refused = expect(open('m2', { replicas })).rejects.toThrow('m3 has 4');
  await pass(LEASE_MS + 15_000);
  await refused;
  expect(stream.messages).toHaveLength(LENGTH);
});

it('a log is opened by nobody while another replica knows it as another stream', async () => {
  const replicas = { ask: async () => [{ member: 'm3', identity: 'another', epoch: 1, sequence: 1 }] };
  const opening = expect(open('m2', { replicas })).rejects.toThrow(/m3 knows it as 'another'/);
  await settle();
  await pass(LEASE_MS + 1_000);
  await opening;
  expect(stream.messages).toHaveLength(LENGTH);
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

  it('waits anew when the servers were away, which may have lost what renewed a lease', async () => {
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

  it('counts no time in which another server came to lead, for nobody could renew a lease', async () => {
    link.leader = () => `s${clock.monotonicMs()}`;
    const opening = open('m2');
    await pass(3 * LEASE_MS);
    expect(stream.messages).toHaveLength(LENGTH);
    link.leader = () => 's1';
    await pass(2 * LEASE_MS);
    expect((await opening).epoch).toBe(2);
  });
});

describe('an owner that cannot trust what the stream says', () => {
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
