import { crc32 } from 'node:zlib';
import { assert, InvariantError } from '#runtime/base/assert.ts';
import { decodeEntries } from '#runtime/log/entry-codec.ts';
import { ENTRY_BYTES_MAX, type LogEntry, type RecordMark } from '#runtime/log/log-entry.ts';
import { logCorrupted } from './log-errors.ts';
import { type FoldState, type FoldStep, LogFold } from './log-fold.ts';
import type { StoredMessage } from './log-stream.ts';
import { decodeManifest, type Opening, RecordKind } from './record-format.ts';

/** A batch in the log. */
export interface LogBatch {
  /** Sequence of the record that completes it. */
  readonly sequence: number;
  /** Sequence of its first record; lower when it has several. */
  readonly firstSequence: number;
  /** Mark of the record that completes it. */
  readonly mark: RecordMark;
  /** Its entries; their values are views of one buffer. */
  readonly entries: readonly LogEntry[];
}

/** Meaning of one message for a reader of the log. */
export type LogStep =
  | Extract<FoldStep, { kind: 'void' }>
  | { readonly kind: 'batch'; readonly batch: LogBatch }
  | { readonly kind: 'opened'; readonly sequence: number; readonly opening: Opening }
  | { readonly kind: 'closed'; readonly sequence: number }
  /** No action is needed. */
  | { readonly kind: 'other'; readonly sequence: number };

/** Decodes messages into batches: a fold, with the contents of the records that count. */
export class BatchDecoder {
  readonly fold: LogFold;
  readonly #partition: number;
  #chunks: Buffer[] = [];
  #chunkBytes = 0;

  /** @param start state to continue from; between two batches */
  constructor(partition: number, start?: FoldState) {
    this.#partition = partition;
    this.fold = new LogFold(partition, start);
  }

  /**
   * Decodes the next message.
   *
   * @throws {ServiceError} `DATA_CORRUPTED`
   */
  take(message: StoredMessage): LogStep {
    const step = this.fold.take(message);
    if (step.kind === 'void') return step;
    try {
      return this.#decode(step);
    } catch (error) {
      // Intact bytes with invalid content were written by another program.
      if (error instanceof InvariantError) throw logCorrupted(this.#partition, step.sequence, error.message);
      throw error;
    }
  }

  #decode({ sequence, firstSequence, record, opening }: Extract<FoldStep, { kind: 'record' }>): LogStep {
    const { chain, kind, body, epoch } = record;
    if (kind === RecordKind.chunk) {
      this.#chunks.push(body);
      this.#chunkBytes += body.length;
      assert(this.#chunkBytes <= ENTRY_BYTES_MAX, 'a batch of chunks above every bound');
      return { kind: 'other', sequence };
    }
    // Chunks without a manifest after them belong to a batch that was given up.
    const chunks = this.#chunks;
    this.#chunks = [];
    this.#chunkBytes = 0;
    if (opening !== undefined) return { kind: 'opened', sequence, opening };
    if (kind === RecordKind.close) return { kind: 'closed', sequence };
    if (kind === RecordKind.noop) return { kind: 'other', sequence };
    const whole = kind === RecordKind.manifest ? joined(chunks, body) : body;
    return {
      kind: 'batch',
      batch: {
        sequence,
        firstSequence,
        // A copy: a view would keep the whole message in memory.
        mark: { epoch, chain: Buffer.from(chain) },
        entries: decodeEntries(whole, record.entries),
      },
    };
  }
}

function joined(chunks: readonly Buffer[], body: Buffer): Buffer {
  const { bytes, crc } = decodeManifest(body);
  const whole = Buffer.concat(chunks);
  assert(whole.length === bytes && crc32(whole) === crc, 'a manifest that is not of the chunks before it');
  return whole;
}
