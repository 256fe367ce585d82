import { beforeEach, expect, it } from 'vitest';
import { FlushJournal, flushWindow } from '#cluster/replica-durability/flush-journal.ts';
import { encodeVoters } from '#cluster/replica-durability/voters.ts';
import type { ReplicaStatus } from '#cluster/replica-durability/replica-status.ts';
import { FlushedReplica } from '#cluster/replica-durability/flushed-replica.ts';
import { PositionKeeper } from '#cluster/ownership/position-keeper.ts';
import { ShardPositions } from '#cluster/replication/shard-positions.ts';
import { BatchDecoder } from '#cluster/replication/batch-decoder.ts';
import { positionOf } from '#cluster/replication/log-position.ts';
import type { StoredMessage } from '#cluster/replication/log-stream.ts';
import { openPartition, type PartitionLog } from '#cluster/replication/partition-log.ts';
import { encodeRecord, RecordKind } from '#cluster/replication/record-format.ts';
import { systemClock } from '#runtime/base/time/clock.ts';
import { systemRandom } from '#runtime/base/random.ts';
import { FaultyFileSystem } from '#test/support/faulty-file-system.ts';
import { MemoryShardFiles } from '#test/support/memory-shard-files.ts';
import { MemoryLink, MemoryStream } from '#test/support/memory-stream.ts';
import { settle, TestClock } from '#test/support/test-clock.ts';

const PARTITION = 1;
const FOLDER = '/partition';
const VOTERS = { old: ['m1', 'm2', 'm3'], new: ['m1', 'm2', 'm3'] };

let files: FaultyFileSystem;
let shards: MemoryShardFiles;
let stream: MemoryStream;
let log: PartitionLog;
let clock: TestClock;
/** Kinds of what was reported. */
let told: string[];

/**
 * Keeps what the stream has in the flush journal of class `replica-disk`.
 *
 * @param identity of the stream, as the journal knows it
 * @param first the journal begins with this message
 */
async function keep(identity = 'memory', first = 1): Promise<void> {
  const folder = `${FOLDER}/flush-journal`;
  const journal = await FlushJournal.open({ files, folder, clock: systemClock, random: systemRandom });
  const decoder = new BatchDecoder(PARTITION);
  for (const message of stream.messages) {
    decoder.take(message);
    if (message.sequence >= first) journal.add(identity, message, decoder.fold.state);
  }
  await journal.close();
}

function replica(
  others: readonly ReplicaStatus[] = [],
  durability = 'quorum',
  link = stream.link(),
): FlushedReplica {
  return new FlushedReplica({
    partition: PARTITION,
    member: 'm1',
    folder: FOLDER,
    shards: new ShardPositions(shards, systemClock, systemRandom),
    stream: link,
    files,
    clock,
    random: systemRandom,
    report: ({ kind }) => told.push(kind),
    onDiskFailure: () => {},
    statuses: {
      ask: async (_, hear) => {
        for (const status of others) hear(status);
      },
    },
    others: () => others.length,
    flush:
      durability === 'quorum'
        ? undefined
        : {
            channel: {
              tell: () => {},
              ask: () => {},
              onConfirmation: () => () => {},
              onRequest: () => () => {},
            },
            votersWanted: () => ['m1'],
          },
  });
}

function end() {
  const decoder = new BatchDecoder(PARTITION);
  for (const message of stream.messages) decoder.take(message);
  return positionOf('memory', decoder.fold.state);
}

beforeEach(async () => {
  files = new FaultyFileSystem();
  shards = new MemoryShardFiles();
  stream = new MemoryStream();
  clock = new TestClock();
  told = [];
  const opening = { position: undefined, leaseMs: 1, clock: systemClock, random: systemRandom };
  const link = { stream: stream.link(), partition: PARTITION, member: 'm1', report: () => {} };
  log = await openPartition({ ...opening, ...link });
  await log.state(encodeVoters(VOTERS));
  await log.barrier();
});

it('keeps the flush journal of another class until the servers have flushed what it has, then removes it', async () => {
  await keep();
  const folder = `${FOLDER}/flush-journal`;
  const side = replica();
  await side.open(undefined);
  await side.requireStream(undefined, new AbortController().signal);
  const position = end();
  await side.beforePosition(position);
  clock.advance(flushWindow.keepMs - 1);
  await side.beforePosition(position);
  expect(await files.readdir(folder)).toHaveLength(1);
  clock.advance(1);
  await side.beforePosition({ ...position, sequence: position.sequence - 1 });
  expect(await files.readdir(folder)).toHaveLength(1);
  await side.beforePosition(position);
  expect(await files.readdir(folder)).toEqual([]);
  await side.close();
});

it('reports the journal of another class to the other members, and restores the end of a stream', async () => {
  await keep();
  const mark = end();
  stream.messages.pop();
  const behind = { member: 'm2', identity: 'memory', epoch: 1, sequence: 1, chain: '', voters: undefined };
  const side = replica([behind, { ...behind, member: 'm3' }]);
  const position = { ...mark, sequence: 1 };
  expect(await side.status(position)).toMatchObject({ sequence: mark.sequence, voters: VOTERS });
  expect(await side.mend(position)).toBeUndefined();
  expect(end()).toEqual(mark);
  await side.close();
  expect(await replica([]).mend(position)).toBeUndefined();
});

it('ignores the voters of its journal when the log went on without it', async () => {
  await keep();
  const before = end();
  for (const voters of [before, undefined]) {
    const side = replica([], 'replica-disk');
    expect((await side.status(voters)).voters).toEqual(VOTERS);
    await side.close();
  }
  await log.barrier();
  const side = replica([], 'replica-disk');
  const status = await side.status(end());
  expect([status.sequence, status.voters]).toEqual([before.sequence + 1, undefined]);
  await side.requireStream(end(), new AbortController().signal);
  await side.close();
});

it('has another server lead when the one that does lacks what this member has, and only then', async () => {
  const position = end();
  const [lost] = stream.messages.splice(-1);
  stream.leads.push(
    () => {},
    () => stream.messages.push(lost as StoredMessage),
  );
  const side = replica();
  for (let left = 1; left >= 0; left -= 1) {
    expect(await side.mend(position)).toMatch(/only the servers can restore/);
    await side.requestOtherLeader(position);
    expect(stream.leads.length).toBe(left);
  }
  expect(await side.mend(position)).toBeUndefined();
  stream.leads.push(() => {});
  await side.requestOtherLeader(position);
  expect(stream.leads.length).toBe(1);
  expect(told).toEqual(['leader-doubted', 'leader-doubted']);
  await side.close();
});

it('names the members that class replica-disk lacks, and none in another class or when enough answer', async () => {
  const position = { epoch: 0, sequence: 0 };
  const alone = replica([], 'replica-disk');
  expect(alone.missingVoters).toBeUndefined();
  await alone.survey.once(position);
  expect(alone.missingVoters).toMatch(/durability replica-disk .* no other member answers$/);
  const weak = replica([]);
  await weak.survey.once(position);
  expect(weak.missingVoters).toBeUndefined();
  await keep();
  const other = { member: 'm4', identity: 'memory', epoch: 1, sequence: 1, chain: '', voters: undefined };
  const many = replica([other], 'replica-disk');
  await many.open(undefined);
  await many.survey.once(position);
  expect(many.missingVoters).toMatch(/\(m1, m2, m3\), and these others did: m4$/);
  const enough = replica([other, { ...other, member: 'm2' }], 'replica-disk');
  await enough.open(undefined);
  await enough.survey.once(position);
  expect(enough.missingVoters).toBeUndefined();
  for (const each of [many, enough]) await each.close();
});

it('names no voters in a class without journals, even if some are known', async () => {
  await keep();
  const side = replica();
  await side.open(undefined);
  const before = stream.messages.length;
  side.releaseVoters(log);
  await log.barrier();
  expect(stream.messages.length).toBeGreaterThan(before);
  await keep();
  await side.close();
  const after = replica([], 'replica-disk');
  expect((await after.status(undefined)).voters).toEqual({ old: [], new: [] });
  await after.close();
});

it('leaves voters named in class replica-disk, whose journals have what was acknowledged', async () => {
  await keep();
  const side = replica([behind], 'replica-disk');
  await side.open(undefined);
  await side.survey.once({ epoch: 0, sequence: 0 });
  expect(side.survey.learned).toEqual(VOTERS);
  const before = stream.messages.length;
  side.releaseVoters(log);
  await log.barrier();
  // The barrier alone.
  expect(stream.messages.length).toBe(before + 1);
  await side.close();
});

/** Another record at a place of the stream than was there, which goes on from the one before. */
function replace(sequence: number): void {
  const decoder = new BatchDecoder(PARTITION);
  for (const message of stream.messages.slice(0, sequence - 1)) decoder.take(message);
  const { chain: previousChain, epoch } = decoder.fold.state;
  const fields = { kind: RecordKind.noop, partition: PARTITION, entries: 0, epoch, batch: 99, previousChain };
  const { bytes } = encodeRecord({ ...fields, clock: { ms: 0, counter: 0 } }, Buffer.alloc(0));
  stream.messages[sequence - 1] = { sequence, bytes, storedMs: 0 };
}

const behind = { member: 'm2', identity: 'memory', epoch: 1, sequence: 1, chain: '', voters: undefined };

it('restores nothing while another member has more, too few have reported, or the stream differs', async () => {
  await keep();
  const mark = end();
  stream.messages.pop();
  const ahead = { ...behind, member: 'm3', sequence: mark.sequence + 1 };
  expect(await replica([behind, ahead]).mend(undefined)).toMatch(/m3 has more/);
  const alone = replica([{ ...behind, member: 'stranger' }]);
  for (let time = 0; time < 2; time += 1) {
    expect(await alone.mend(undefined)).toMatch(/too few/);
    // By then not all voters are waited for any more, only most of them.
    clock.advance(11_000);
  }
  replace(2);
  const all = replica([behind, { ...behind, member: 'm3' }]);
  await expect(all.mend(undefined)).rejects.toThrow(/record 2 differs/);
  expect(stream.messages).toHaveLength(mark.sequence - 1);
});

/** A stream whose leader does not show one message at present. */
class HidingLink extends MemoryLink {
  override async fetch(sequence: number): Promise<StoredMessage | undefined> {
    return sequence === 2 ? undefined : super.fetch(sequence);
  }
}

it('gives nothing back behind a message that it cannot compare at present', async () => {
  await keep();
  stream.messages.pop();
  replace(2);
  const { length } = stream.messages;
  const told = [behind, { ...behind, member: 'm3' }];
  expect(await replica(told, 'quorum', new HidingLink(stream)).mend(undefined)).toMatch(/cannot be reached/);
  expect(stream.messages).toHaveLength(length);
});

it('gives nothing back to another stream of the same name, though all that it has is the same', async () => {
  await keep('earlier');
  stream.messages.pop();
  const { length } = stream.messages;
  const told = ['m2', 'm3'].map((member) => ({ ...behind, member, identity: 'earlier' }));
  await expect(replica(told).mend(undefined)).rejects.toThrow(/this member knows it as 'earlier'/);
  expect(stream.messages).toHaveLength(length);
});

it('waits for others where its journal begins behind the end of the stream', async () => {
  await keep('memory', 3);
  stream.messages.length = 1;
  const side = replica([behind, { ...behind, member: 'm3' }]);
  expect(await side.mend(undefined)).toMatch(/ends at 1, and the flush journal begins at 3/);
  expect(stream.messages).toHaveLength(1);
  await side.close();
});

it('believes no stream that has another record than its journal', async () => {
  await keep();
  replace(end().sequence);
  for (const durability of ['quorum', 'replica-disk']) {
    const side = replica([], durability);
    await side.open(undefined);
    await expect(side.requireStream(undefined, new AbortController().signal)).rejects.toThrow(/differs/);
    await side.close();
  }
});

/** A stream whose messages are told to the end only the second time. */
class BrokenRange extends MemoryLink {
  #isBroken = true;

  override async *range(first: number, last: number): AsyncGenerator<StoredMessage> {
    const told = this.#isBroken ? last - 1 : last;
    this.#isBroken = false;
    yield* super.range(first, told);
  }
}

it('believes no stream of which it has not seen all that its journal has', async () => {
  await keep();
  replace(end().sequence);
  const side = replica([], 'replica-disk', new BrokenRange(stream));
  await side.open(undefined);
  const looked = side.requireStream(undefined, new AbortController().signal);
  let outcome: unknown;
  looked.then(
    (isWhole) => (outcome = isWhole),
    (cause: unknown) => (outcome = cause),
  );
  while (outcome === undefined) {
    clock.advance(500);
    await settle();
  }
  expect(String(outcome)).toMatch(/differs/);
  await side.close();
});

it('believes no stream that has another record than one of its shards has', async () => {
  const first = replica();
  await first.open(undefined);
  await first.beforeShards(end().sequence, end, 'actor');
  await first.close();
  const { chain, epoch, sequence } = end();
  shards = shards.crash();
  shards.heads.set('actor', { sequence, mark: { epoch, chain } });
  const decoder = new BatchDecoder(PARTITION);
  decoder.take(stream.messages[0] as StoredMessage);
  const stored = positionOf('memory', decoder.fold.state);
  replace(end().sequence);
  const side = replica();
  await side.open(stored);
  await expect(side.requireStream(stored, new AbortController().signal)).rejects.toThrow(/differs/);
  await side.close();
});

it('reports in a class without journals how far its shards reach, and follows no stream that ends before', async () => {
  const first = replica();
  await first.open(undefined);
  await first.beforeShards(end().sequence, end, 'actor');
  await first.close();
  const { chain, epoch, sequence } = end();
  shards = shards.crash();
  shards.heads.set('actor', { sequence, mark: { epoch, chain } });
  const lost = stream.messages.pop() as StoredMessage;
  // What is stored says less than the shards have.
  const stored = end();
  const side = replica([behind]);
  expect(await side.status(stored)).toMatchObject({ sequence, epoch, chain: chain.toString('hex') });
  expect(await side.mend(stored)).toMatch(/only the servers can restore/);
  stream.leads.push(() => stream.messages.push(lost));
  await side.requestOtherLeader(stored);
  expect(stream.messages.length).toBe(sequence);
  expect(await side.mend(stored)).toBeUndefined();
  await side.close();
});

it('lets shards have only what its journal has on the disk', async () => {
  const held = Promise.withResolvers<void>();
  let disk = Promise.resolve();
  files = new FaultyFileSystem(() => disk);
  const side = replica([], 'replica-disk');
  await side.open(undefined);
  const applied: number[] = [];
  const flushGate = side.openGate(async ({ sequence }: { sequence: number }) => {
    applied.push(sequence);
  });
  disk = held.promise;
  const decoder = new BatchDecoder(PARTITION);
  for (const message of stream.messages) {
    decoder.take(message);
    side.stored('memory', message, decoder.fold.state);
    await flushGate?.take(message);
  }
  for (let turn = 0; turn < 20; turn += 1) await settle();
  expect(applied).toEqual([]);
  held.resolve();
  await flushGate?.drain();
  expect(applied).toEqual(stream.messages.map(({ sequence }) => sequence));
  await side.close();
});

it('gives a stream nothing back where its shards have more than its journal', async () => {
  await keep();
  // The member went on in a class without journals, and the servers lost that and the end of the journal.
  await log.barrier();
  const position = end();
  stream.messages.length = 1;
  const side = replica([behind, { ...behind, member: 'm3' }]);
  expect(await side.mend(position)).toMatch(/shards are ahead of the flush journal/);
  expect(stream.messages).toHaveLength(1);
  await side.close();
});

/** Gives a side what the stream has, from a message on. */
function give(side: FlushedReplica, first = 1): void {
  const decoder = new BatchDecoder(PARTITION);
  for (const message of stream.messages) {
    decoder.take(message);
    if (message.sequence >= first) side.stored('memory', message, decoder.fold.state);
  }
}

/** A side whose disk has failed to flush the newest message, and shows it all the same. */
async function failed(): Promise<FlushedReplica> {
  const side = replica([], 'replica-disk');
  await side.open(undefined);
  give(side);
  await side.journal?.whenFlushed(end().sequence);
  await log.barrier();
  // What is taken ahead behind it is on the disk, too.
  await settle();
  files.fail('datasync', 'EIO');
  give(side, end().sequence);
  await expect(side.journal?.whenFlushed(end().sequence)).rejects.toMatchObject({ code: 'EIO' });
  return side;
}

it('believes nothing of its journal that the disk failed to flush', async () => {
  const side = await failed();
  await side.open(undefined);
  expect([side.journal?.failure, side.journal?.flushed?.sequence]).toEqual([undefined, end().sequence - 1]);
  await side.close();
});

it('lets no position be stored that its journal does not have on the disk', async () => {
  const side = await failed();
  const positions = new PositionKeeper({
    files,
    folder: FOLDER,
    clock,
    flushed: side,
    shards: new ShardPositions(shards, systemClock, systemRandom),
  });
  await expect(positions.store(end())).rejects.toMatchObject({ code: 'EIO' });
  expect([positions.current, files.paths().includes(`${FOLDER}/position.json`)]).toEqual([undefined, false]);
  await side.close();
});
