import { expect, it } from 'vitest';
import type { FlushChannel, FlushConfirmation } from '#cluster/flush-journal/flush-channel.ts';
import { FlushJournal } from '#cluster/flush-journal/flush-journal.ts';
import { FlushQuorum } from '#cluster/flush-journal/flush-quorum.ts';
import { BatchDecoder } from '#cluster/replication/batch-decoder.ts';
import { foldStart } from '#cluster/replication/log-fold.ts';
import { openPartition } from '#cluster/replication/partition-log.ts';
import {
  chainStart,
  encodeOpening,
  encodeRecord,
  NONCE_BYTES,
  RecordKind,
} from '#cluster/replication/record-format.ts';
import { systemRandom } from '#runtime/base/random.ts';
import { FaultyFileSystem } from '#test/support/faulty-file-system.ts';
import { MemoryStream } from '#test/support/memory-stream.ts';
import { settle, TestClock } from '#test/support/test-clock.ts';

const PARTITION = 1;

const silent: FlushChannel = {
  tell: () => {},
  ask: () => {},
  onTold: () => () => {},
  onAsked: () => () => {},
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
    wanted: () => KEEPERS.new,
    learned: () => KEEPERS,
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
const KEEPERS = { old: ['m1', 'm2'], new: ['m1', 'm2'] };

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
    onTold: (_partition, listener) => {
      tell = listener;
      return () => {};
    },
    onAsked: () => () => {},
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
    wanted: () => KEEPERS.new,
    learned: () => KEEPERS,
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
