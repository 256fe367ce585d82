import { assert } from '#runtime/base/assert.ts';
import { type Revision, revisionZero } from '#runtime/content/revision.ts';
import { logCorrupted, logTooNew } from './log-errors.ts';
import type { StoredMessage } from './log-stream.ts';
import {
  chainStart,
  decodeOpening,
  decodeRecord,
  type LogMessageRecord,
  type Opening,
  RecordKind,
} from './record-format.ts';

/** State of the log up to a message of the stream. */
export interface FoldState {
  /** The newest message that was processed. */
  readonly sequence: number;
  /** The newest valid record; 0 before the first. */
  readonly validSequence: number;
  readonly epoch: number;
  /** Chain of the newest valid record. */
  readonly chain: Buffer;
  /** Highest clock of all entries. */
  readonly clock: Revision;
  /** Opening of the epoch; undefined when the fold began within the epoch. */
  readonly owner: Opening | undefined;
  /** Whether the owner released the partition. */
  readonly isClosed: boolean;
  /** The first of the chunks whose manifest has not been read yet. */
  readonly firstChunk: number | undefined;
}

/** The state before the first message. */
export const foldStart: FoldState = {
  sequence: 0,
  validSequence: 0,
  epoch: 0,
  chain: chainStart,
  clock: revisionZero,
  owner: undefined,
  isClosed: false,
  firstChunk: undefined,
};

/** Description of a message without a seal of the cluster. */
const FORGED = 'no member signed it: its writer is not a member, or runs a version that does not sign';

/** Meaning of one message. */
export type FoldStep =
  /** It does not count, and every reader of the log comes to that result. */
  | { readonly kind: 'void'; readonly sequence: number; readonly reason: string }
  /** It counts. */
  | {
      readonly kind: 'record';
      readonly sequence: number;
      /** Sequence of the first record of its batch; lower when the batch has several. */
      readonly firstSequence: number;
      readonly record: LogMessageRecord;
      /** Content of an `open` record. */
      readonly opening: Opening | undefined;
    };

/** The fields of a record that decide whether it counts. */
export type JudgedRecord = Omit<LogMessageRecord, 'body'>;

/**
 * Decides which records count in a log. It is a function of the messages from the first one on and of nothing else,
 * so that every member comes to the same result.
 *
 * Invariants:
 * 1. The epoch never falls and rises by one with each `open` that counts; that one has the chain of the record
 *    before it.
 * 2. Any other record counts only in the current epoch, before its `close`, and with the chain of the valid record
 *    before it. Otherwise it is void, like the pending appends of a former owner that lost the partition.
 * 3. Records that cannot occur in a log with stream-level fencing, and bytes that do not verify, are errors.
 *
 * Enforcement: test/cluster/replication/log-fold.test.ts, partition-log.sim.test.ts.
 *
 * @see docs/partition-log.md#records-that-count
 */
export class LogFold {
  readonly #partition: number;
  #state: FoldState;

  /** @param start state to continue from; not in the middle of a batch's chunks */
  constructor(partition: number, start: FoldState = foldStart) {
    assert(start.firstChunk === undefined, 'a fold begins between batches');
    this.#partition = partition;
    this.#state = start;
  }

  get state(): FoldState {
    return this.#state;
  }

  /**
   * Processes the next message.
   *
   * @throws {ServiceError} `DATA_CORRUPTED`
   */
  take(message: StoredMessage): FoldStep {
    const { sequence } = message;
    assert(sequence === this.#state.sequence + 1, `message ${sequence} after ${this.#state.sequence}`);
    if (message.isForged === true) throw this.#corrupted(sequence, FORGED);
    const record = decodeRecord(message.bytes);
    if ('fault' in record)
      throw record.isNewer === true
        ? logTooNew(this.#partition, sequence, record.fault)
        : this.#corrupted(sequence, record.fault);
    const reason = this.#judge(sequence, record);
    if (reason !== undefined) {
      this.#state = { ...this.#state, sequence };
      return { kind: 'void', sequence, reason };
    }
    const firstSequence = this.#state.firstChunk ?? sequence;
    const opening = record.kind === RecordKind.open ? decodeOpening(record.body) : undefined;
    this.#advance(sequence, record, opening);
    return { kind: 'record', sequence, firstSequence, record, opening };
  }

  /** Processes a record of this member whose append was acknowledged, without reading it back. */
  own(sequence: number, record: JudgedRecord, opening?: Opening): void {
    assert(sequence === this.#state.sequence + 1, `own record ${sequence} after ${this.#state.sequence}`);
    const reason = this.#judge(sequence, record);
    assert(reason === undefined, `own record ${sequence} is void: ${reason}`);
    this.#advance(sequence, record, opening);
  }

  /** @returns why a record does not count; undefined for one that does */
  #judge(sequence: number, record: JudgedRecord): string | undefined {
    const { epoch, chain, isClosed } = this.#state;
    if (record.partition !== this.#partition)
      throw this.#corrupted(sequence, `it belongs to partition ${record.partition}`);
    const continues = record.previousChain.equals(chain);
    if (record.kind === RecordKind.open) {
      if (record.epoch <= epoch) return `it opens epoch ${record.epoch}, and ${epoch} is open`;
      if (record.epoch !== epoch + 1 || !continues)
        throw this.#corrupted(sequence, `it opens epoch ${record.epoch} over another log than this`);
      return undefined;
    }
    if (record.epoch > epoch)
      throw this.#corrupted(sequence, `it is of epoch ${record.epoch}, which was never opened`);
    if (record.epoch < epoch) return `it is of epoch ${record.epoch}, and ${epoch} is open`;
    if (isClosed) return `epoch ${epoch} was closed`;
    if (!continues) return 'it follows a record that does not count';
    return undefined;
  }

  #advance(sequence: number, record: JudgedRecord, opening: Opening | undefined): void {
    const { owner, firstChunk } = this.#state;
    const { kind, epoch, clock } = record;
    this.#state = {
      sequence,
      validSequence: sequence,
      epoch,
      // Copies: views would keep the whole message in memory.
      chain: Buffer.from(record.chain),
      clock,
      owner: opening === undefined ? owner : { member: opening.member, nonce: Buffer.from(opening.nonce) },
      isClosed: kind === RecordKind.close,
      firstChunk: kind === RecordKind.chunk ? (firstChunk ?? sequence) : undefined,
    };
  }

  #corrupted(sequence: number, what: string): Error {
    return logCorrupted(this.#partition, sequence, what);
  }
}
