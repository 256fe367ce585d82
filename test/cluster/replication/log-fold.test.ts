import { describe, expect, it } from 'vitest';
import { BatchDecoder, type LogStep } from '#cluster/replication/batch-decoder.ts';
import { EntryBatch } from '#cluster/replication/entry-batch.ts';
import type { FoldState } from '#cluster/replication/log-fold.ts';
import {
  encodeOpening,
  encodeRecord,
  type RecordFields,
  RecordKind,
} from '#cluster/replication/record-format.ts';
import { entrySize } from '#runtime/log/entry-codec.ts';
import { numberedEntry, numberOf } from '#test/support/log-entries.ts';

const PARTITION = 3;

/** Writes a log by hand. */
class Writer {
  readonly decoder = new BatchDecoder(PARTITION);
  #batch = 0;

  get state(): FoldState {
    return this.decoder.fold.state;
  }

  /** A record that goes on from the last valid one, unless `fields` say otherwise. */
  record(kind: RecordKind, body: Uint8Array = Buffer.alloc(0), fields: Partial<RecordFields> = {}): Buffer {
    const { epoch, chain, clock } = this.state;
    this.#batch += 1;
    const all = {
      kind,
      partition: PARTITION,
      entries: 0,
      epoch,
      batch: this.#batch,
      clock,
      previousChain: chain,
    };
    return encodeRecord({ ...all, ...fields }, body).bytes;
  }

  opening(epoch: number, member = 'm1', fields: Partial<RecordFields> = {}): Buffer {
    return this.record(RecordKind.open, encodeOpening({ member, nonce: Buffer.alloc(16, epoch) }), {
      epoch,
      ...fields,
    });
  }

  take(bytes: Buffer): LogStep {
    return this.decoder.take({ sequence: this.state.sequence + 1, bytes, storedMs: 0 });
  }

  /** Takes what a batch of numbered entries makes. */
  batch(numbers: readonly number[], bodyBytesMax = 10_000, fields: Partial<RecordFields> = {}): LogStep[] {
    const batch = new EntryBatch(bodyBytesMax);
    for (const number of numbers) {
      const entry = numberedEntry('a', number);
      void batch.add(entry, entrySize(entry));
    }
    return [...batch.parts()].map(({ kind, entries, body }) =>
      this.take(this.record(kind, body, { entries, clock: batch.clock, ...fields })),
    );
  }
}

function numbersOf(steps: readonly LogStep[]): number[] {
  return steps.flatMap((step) => (step.kind === 'batch' ? step.batch.entries.map(numberOf) : []));
}

function opened(): Writer {
  const writer = new Writer();
  writer.take(writer.opening(1));
  return writer;
}

describe('what counts in a log', () => {
  it('is not what no member signed, however right it is', () => {
    const writer = opened();
    const bytes = writer.record(RecordKind.noop);
    const { sequence } = writer.state;
    const message = { sequence: sequence + 1, bytes, storedMs: 0 };
    expect(() => writer.decoder.take({ ...message, isForged: true })).toThrow(/no member signed it/);
    expect(writer.state.sequence).toBe(sequence);
    writer.decoder.take(message);
  });

  it('begins with an opening and continues along the chain', () => {
    const writer = new Writer();
    expect(writer.take(writer.opening(1))).toMatchObject({ kind: 'opened', opening: { member: 'm1' } });
    expect(numbersOf(writer.batch([1, 2]))).toEqual([1, 2]);
    expect(numbersOf(writer.batch([3]))).toEqual([3]);
    expect(writer.state).toMatchObject({ sequence: 3, validSequence: 3, epoch: 1, clock: { ms: 1003 } });
  });

  it('is not what a former owner had under way, however well it fits the slot', () => {
    const writer = opened();
    const late = writer.record(RecordKind.noop);
    writer.take(writer.opening(2, 'm2'));
    expect(writer.take(late)).toMatchObject({ kind: 'void', reason: expect.stringContaining('epoch 1') });
    expect(writer.state).toMatchObject({ sequence: 3, validSequence: 2, epoch: 2 });
    expect(numbersOf(writer.batch([5]))).toEqual([5]);
  });

  it('is not what follows a record that does not count, in the same epoch', () => {
    const writer = opened();
    const { chain } = writer.state;
    writer.batch([1]);
    const orphan = writer.record(RecordKind.noop, Buffer.alloc(0), { previousChain: chain });
    expect(writer.take(orphan)).toMatchObject({ kind: 'void' });
  });

  it('is not an opening of an epoch that is open or over', () => {
    const writer = opened();
    writer.take(writer.opening(2));
    for (const epoch of [1, 2]) expect(writer.take(writer.opening(epoch))).toMatchObject({ kind: 'void' });
    expect(writer.state.epoch).toBe(2);
  });

  it('is nothing of an epoch after it was closed, until the next one', () => {
    const writer = opened();
    expect(writer.take(writer.record(RecordKind.close))).toMatchObject({ kind: 'closed' });
    expect(writer.state.isClosed).toBe(true);
    expect(writer.take(writer.record(RecordKind.noop))).toMatchObject({ kind: 'void' });
    writer.take(writer.opening(2));
    expect(writer.state.isClosed).toBe(false);
    expect(writer.take(writer.record(RecordKind.noop))).toMatchObject({ kind: 'other' });
  });

  it('is a batch in several records, as soon as the last one is there, with the place of its first', () => {
    const writer = opened();
    const steps = writer.batch([1, 2, 3], 50);
    expect(steps.length).toBeGreaterThan(3);
    expect(numbersOf(steps.slice(0, -1))).toEqual([]);
    expect(numbersOf(steps)).toEqual([1, 2, 3]);
    expect(steps.at(-1)).toMatchObject({ batch: { firstSequence: 2, sequence: 1 + steps.length } });
  });

  it('is no part of a batch that an opening came between', () => {
    const writer = opened();
    writer.take(writer.record(RecordKind.chunk, Buffer.from('lost')));
    expect(writer.state.firstChunk).toBe(2);
    writer.take(writer.opening(2));
    expect(writer.state.firstChunk).toBeUndefined();
    const steps = writer.batch([1, 2, 3], 50);
    expect(numbersOf(steps)).toEqual([1, 2, 3]);
    expect(steps.at(-1)).toMatchObject({ batch: { firstSequence: 4 } });
  });

  it('follows from the log alone: a reader that begins in the middle gets the same result', () => {
    const writer = opened();
    writer.batch([1]);
    const middle = writer.state;
    const late = writer.record(RecordKind.noop);
    const opening = writer.opening(2);
    writer.take(opening);
    writer.take(late);
    const other = new BatchDecoder(PARTITION, middle);
    for (const [index, bytes] of [opening, late].entries())
      other.take({ sequence: middle.sequence + 1 + index, bytes, storedMs: 0 });
    expect(other.fold.state).toEqual(writer.state);
  });
});

describe('what no log holds', () => {
  it.each<[string, (writer: Writer) => Buffer, RegExp]>([
    [
      'a damaged record',
      (writer) => {
        const bytes = writer.record(RecordKind.noop);
        bytes[20] = (bytes[20] as number) ^ 1;
        return bytes;
      },
      /checksum/,
    ],
    ['something else', () => Buffer.from('hello'), /too short/],
    [
      'a record of another partition',
      (writer) => writer.record(RecordKind.noop, undefined, { partition: 4 }),
      /partition 4/,
    ],
    [
      'a record of an epoch to come',
      (writer) => writer.record(RecordKind.noop, undefined, { epoch: 2 }),
      /never opened/,
    ],
    ['an opening that leaves an epoch out', (writer) => writer.opening(3), /another log/],
    [
      'an opening over another chain',
      (writer) => writer.opening(2, 'm2', { previousChain: Buffer.alloc(16, 9) }),
      /another log/,
    ],
    [
      'a manifest without its chunks',
      (writer) => writer.record(RecordKind.manifest, Buffer.alloc(8, 1)),
      /manifest/,
    ],
    [
      'entries that are none',
      (writer) => writer.record(RecordKind.entries, Buffer.from('x'), { entries: 1 }),
      /cut short/,
    ],
  ])('is %s: the partition goes into quarantine, it is never skipped', (_, make, what) => {
    const writer = opened();
    expect(() => writer.take(make(writer))).toThrow(
      expect.objectContaining({ code: 'DATA_CORRUPTED', message: expect.stringMatching(what) }),
    );
  });
});
