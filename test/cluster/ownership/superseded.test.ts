import { beforeEach, expect, it } from 'vitest';
import { FlushJournal } from '#cluster/replica-durability/flush-journal.ts';
import { encodeVoters, noVoters } from '#cluster/replica-durability/voters.ts';
import { scanSegment } from '#cluster/replica-durability/segment-scan.ts';
import type { ReplicaStatus } from '#cluster/replica-durability/replica-status.ts';
import type { SupersededEnd } from '#cluster/replica-durability/superseded-end.ts';
import { FlushedReplica } from '#cluster/replica-durability/flushed-replica.ts';
import { ShardPositions } from '#cluster/replication/shard-positions.ts';
import { BatchDecoder } from '#cluster/replication/batch-decoder.ts';
import type { StoredMessage } from '#cluster/replication/log-stream.ts';
import { chainStart, encodeRecord, RecordKind } from '#cluster/replication/record-format.ts';
import { systemClock } from '#runtime/base/time/clock.ts';
import { systemRandom } from '#runtime/base/random.ts';
import { FaultyFileSystem } from '#test/support/faulty-file-system.ts';
import { MemoryShardFiles } from '#test/support/memory-shard-files.ts';
import { MemoryStream } from '#test/support/memory-stream.ts';
import {
  fillJournal,
  NAMES,
  openLog,
  PARTITION,
  silentFlush,
  statusIn,
} from '#test/support/superseded-log.ts';
import { TestClock } from '#test/support/test-clock.ts';

const FOLDER = '/partition';
const JOURNAL = `${FOLDER}/flush-journal`;

/** The opening and who keeps the log. */
const COMMON = 2;

/** What `m1` has besides. */
const OWN = 2;

let files: FaultyFileSystem;
let stream: MemoryStream;
/** What `m1` has in its journal. */
let own: StoredMessage[];

const status = (member: string, sequence?: number): ReplicaStatus => statusIn(stream, member, sequence);

async function replica(
  told: readonly ReplicaStatus[],
  folder = files,
  clock = new TestClock(),
): Promise<FlushedReplica> {
  const side = new FlushedReplica({
    partition: PARTITION,
    member: 'm1',
    folder: FOLDER,
    stream: stream.link(),
    files: folder,
    clock,
    shards: new ShardPositions(new MemoryShardFiles(), systemClock, systemRandom),
    random: systemRandom,
    report: () => {},
    onDiskFailure: () => {},
    statuses: {
      ask: async (_, hear) => {
        for (const each of told) hear(each);
      },
    },
    others: () => told.length,
    flush: silentFlush,
  });
  await side.open(undefined);
  return side;
}

async function judged(...told: ReplicaStatus[]): Promise<SupersededEnd | undefined> {
  const side = await replica(told);
  const end = await side.superseded();
  await side.close();
  return end;
}

/**
 * @param statement what the end of `m1` says
 * @param identity of the stream, as the journal of `m1` knows it
 */
async function begin(statement: Uint8Array, identity = 'memory'): Promise<void> {
  files = new FaultyFileSystem();
  stream = new MemoryStream();
  const log = await openLog(stream, 'm1');
  await log.state(encodeVoters({ old: NAMES, new: NAMES }));
  await log.barrier();
  await log.state(statement);
  await fillJournal(files, JOURNAL, stream, identity);
  own = [...stream.messages];
  // The servers lose what nobody else had, and another member opens the log.
  stream.messages.length = COMMON;
  const other = await openLog(stream, 'm2');
  for (let count = 0; count < 5; count += 1) await other.barrier();
}

beforeEach(() => begin(encodeVoters({ old: NAMES, new: NAMES })));

it('knows that its end was never acknowledged when a majority of the others has what the stream has', async () => {
  const first = COMMON + 1;
  expect(await judged(status('m2'), status('m3', first))).toEqual({
    first,
    last: COMMON + OWN,
    confirmedBy: ['m3', 'm2'],
  });
});

it('does not assume one while one of the members does not confirm it', async () => {
  const [all, before] = [status('m3'), status('m3', COMMON)];
  expect(await judged(status('m2'))).toBeUndefined();
  expect(await judged(status('m2'), before)).toBeUndefined();
  // It may have what this member has.
  expect(await judged(status('m2'), { ...all, chain: before.chain })).toBeUndefined();
  expect(await judged(status('m2'), { ...all, identity: 'another' })).toBeUndefined();
  // Nobody whose word counts.
  expect(await judged(status('m2'), { ...all, member: 'm4' })).toBeUndefined();
});

it('asks the voters from before its end named others', async () => {
  // In the end of this member m1, m4 and m5 are to keep it; nobody of the others ever had that.
  const named = encodeVoters({ old: NAMES, new: ['m1', 'm4', 'm5'] });
  await begin(named);
  const first = COMMON + 1;
  expect(await judged(status('m2'), status('m3'))).toMatchObject({ first });
  expect(await judged(status('m2'), status('m4'), status('m5'))).toBeUndefined();
});

it('does not assume one for an end without named voters', async () => {
  // Then the servers alone acknowledge.
  await begin(encodeVoters(noVoters));
  expect(await judged(status('m2'), status('m3'))).toBeUndefined();
});

/** Somebody writes who has not read the end of the log: that counts for nobody. */
function appendVoid(): void {
  const late = { kind: RecordKind.noop, partition: PARTITION, entries: 0, epoch: 1, batch: 9 };
  const clock = { ms: 0, counter: 0 };
  const { bytes } = encodeRecord({ ...late, clock, previousChain: chainStart }, Buffer.alloc(0));
  stream.append(stream.messages.length, bytes);
}

it('compares from the last record that counts, also when one follows that does not', async () => {
  files = new FaultyFileSystem();
  stream = new MemoryStream();
  const log = await openLog(stream, 'm1');
  await log.state(encodeVoters({ old: NAMES, new: NAMES }));
  appendVoid();
  const common = [...stream.messages];
  // What m1 writes behind it, which the servers lose.
  await log.barrier();
  await fillJournal(files, JOURNAL, stream);
  expect(stream.messages.length).toBeGreaterThan(common.length);
  stream.messages.length = common.length;
  const other = await openLog(stream, 'm2');
  for (let count = 0; count < 5; count += 1) await other.barrier();
  expect(await judged(status('m2'), status('m3'))).toMatchObject({ first: common.length + 1 });
});

it('believes no server that shows another message in one place', async () => {
  const told = [status('m2'), status('m3')];
  const strange = stream.messages.splice(0, stream.messages.length, ...own);
  const whole = [status('m2'), status('m3')];
  stream.messages[COMMON] = strange[COMMON] as StoredMessage;
  expect(await judged(...whole)).toBeUndefined();
  expect(await judged(...told)).toBeUndefined();
});

it('learns nothing from a damaged message in the place of its own', async () => {
  const told = [status('m2'), status('m3')];
  const { bytes } = stream.messages[COMMON] as StoredMessage;
  bytes[bytes.length - 1] = (bytes.at(-1) as number) ^ 1;
  expect(await judged(...told)).toBeUndefined();
});

it('learns nothing from another stream of the same name', async () => {
  await begin(encodeVoters({ old: NAMES, new: NAMES }), 'earlier');
  const told = [status('m2'), status('m3')].map((each) => ({ ...each, identity: 'earlier' }));
  expect(await judged(...told)).toBeUndefined();
});

it('keeps a copy of the end that it removes and of what precedes it', async () => {
  const side = await replica([status('m2'), status('m3')]);
  const end = (await side.superseded()) as SupersededEnd;
  let atForgetting: readonly string[] = [];
  const path = await side.setAside(end, async () => {
    // A crash at this moment loses nothing of it.
    atForgetting = await files.crash('drop-unsynced').readdir(`${FOLDER}/superseded`);
  });
  expect(atForgetting).toEqual([path.slice(path.lastIndexOf('/') + 1)]);
  const file = await files.open(path, 'read');
  const bytes = Buffer.alloc(await file.size());
  await file.read(bytes, 0, bytes.length, 0);
  await file.close();
  const kept = scanSegment(bytes, path).messages;
  expect(kept.map((message) => message.bytes)).toEqual(own.slice(COMMON).map((message) => message.bytes));
  expect(side.journal?.flushed?.sequence).toBe(COMMON);
  expect(await side.superseded()).toBeUndefined();
  await side.close();
});

it('does not open its journal for callers while the end is removed', async () => {
  files = new FaultyFileSystem();
  const side = await replica([status('m2'), status('m3')]);
  const decoder = new BatchDecoder(PARTITION);
  for (const message of own) {
    decoder.take(message);
    side.stored('memory', message, decoder.fold.state);
  }
  await side.journal?.whenFlushed(own.length);
  const asked: Promise<ReplicaStatus>[] = [];
  await side.setAside((await side.superseded()) as SupersededEnd, async () => {
    const ask = async (): Promise<void> => {
      for (let turn = 0; turn < 20; turn += 1) {
        asked.push(side.status(undefined));
        await new Promise((resolve) => setImmediate(resolve));
      }
    };
    void ask();
  });
  expect(side.journal?.flushed?.sequence).toBe(COMMON);
  expect((await Promise.all(asked)).at(-1)?.sequence).toBe(COMMON);
  await side.close();
});

it('has what it took after the truncation when it is reopened', async () => {
  const side = await replica([status('m2'), status('m3')]);
  await side.setAside((await side.superseded()) as SupersededEnd, async () => {});
  const decoder = new BatchDecoder(PARTITION);
  for (const message of stream.messages) {
    decoder.take(message);
    side.stored('memory', message, decoder.fold.state);
  }
  await side.close();
  await side.open(undefined);
  expect(side.journal?.flushed?.sequence).toBe(stream.messages.length);
  await side.close();
});

it('gives a stream nothing back while a majority of the others has, or may have, other records in its place', async () => {
  // This member has the later epoch, as a candidate whose opening arrived when the servers had lost what was acknowledged.
  const candidate = new FaultyFileSystem();
  const journal = await FlushJournal.open({
    files: candidate,
    folder: JOURNAL,
    clock: systemClock,
    random: systemRandom,
  });
  const decoder = new BatchDecoder(PARTITION);
  for (const message of stream.messages) {
    decoder.take(message);
    journal.add('memory', message, decoder.fold.state);
  }
  await journal.close();
  stream.messages.splice(0, stream.messages.length, ...own);
  const acknowledged = status('m2');
  stream.messages.length = COMMON;
  const mend = async (...told: ReplicaStatus[]): Promise<string | undefined> => {
    const side = await replica(told, candidate);
    const trouble = await side.mend(undefined);
    await side.close();
    return trouble;
  };
  expect(await mend(acknowledged, { ...acknowledged, member: 'm3' })).toMatch(/m2 and m3 has other records/);
  expect(stream.messages).toHaveLength(COMMON);
  // One that does not answer may have what one has that does.
  const waiting = new TestClock();
  const side = await replica([acknowledged], candidate, waiting);
  expect(await side.mend(undefined)).toMatch(/not all replicas have answered yet: m3/);
  waiting.advance(60_000);
  expect(await side.mend(undefined)).toMatch(/m2 has other records/);
  await side.close();
  expect(stream.messages).toHaveLength(COMMON);
  // One alone is none, nor is one that has what this member has.
  expect(await mend(acknowledged, status('m3', COMMON))).toBeUndefined();
  expect(stream.messages.length).toBeGreaterThan(COMMON);
});

it('gives a stream back what the others have as well, also when its last record does not count', async () => {
  files = new FaultyFileSystem();
  stream = new MemoryStream();
  const log = await openLog(stream, 'm1');
  await log.state(encodeVoters({ old: NAMES, new: NAMES }));
  await log.barrier();
  appendVoid();
  await fillJournal(files, JOURNAL, stream);
  const all = [...stream.messages];
  const side = await replica([status('m2'), status('m3')]);
  stream.messages.length = COMMON;
  expect(await side.mend(undefined)).toBeUndefined();
  expect(stream.messages.map(({ bytes }) => bytes)).toEqual(all.map(({ bytes }) => bytes));
  await side.close();
});
