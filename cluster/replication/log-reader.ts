import { Retries } from '#runtime/base/time/backoff.ts';
import type { Clock } from '#runtime/base/time/clock.ts';
import type { Random } from '#runtime/base/random.ts';
import { BatchDecoder, type LogStep } from './batch-decoder.ts';
import { isUnavailable } from './log-errors.ts';
import type { LogReport } from './log-events.ts';
import type { FoldState } from './log-fold.ts';
import { positionOf, type ReceivedPosition, stateAt } from './log-position.ts';
import type { LogStream, StoredMessage } from './log-stream.ts';
import { messagesUpTo, stateReaching } from './stream-checks.ts';

/** Delays before following starts again, in milliseconds. */
const RETRY = { firstMs: 200, factor: 1.5, mostMs: 1_000 };

/** A record that counts; kind `other` needs no action, but has been read. */
export type LogNews = Exclude<LogStep, { kind: 'void' }>;

/** Options for following a log. */
export interface LogReaderOptions {
  readonly stream: LogStream;
  readonly partition: number;
  /** Position that the reader has reached; undefined for the beginning. */
  readonly position: ReceivedPosition | undefined;
  /**
   * Whether the servers may lose the end of the stream when they lose power. Then it is unknown what was stored and
   * acknowledged while the stream was not followed, so `receivedMs` is the start of the last uninterrupted following at
   * the earliest. Default false.
   */
  readonly isForgetful?: boolean;
  readonly clock: Clock;
  readonly random: Random;
  readonly report: LogReport;
  /** Called for every message, before its meaning is reported. @param state of the log up to and including it */
  readonly stored?: (identity: string, message: StoredMessage, state: FoldState) => void;
  /** Called once, when everything was reported that the stream contained when it was first reached. */
  readonly atEnd?: () => void;
}

/**
 * Reads a partition's log as it grows, for a member that does not write it. Only records that count are reported, in
 * order, once, without a gap; a message that live reading skipped is fetched from the leader.
 *
 * @see docs/partition-log.md#followers
 */
export class LogReader {
  readonly #options: LogReaderOptions;
  #decoder: BatchDecoder;
  #identity = '';
  /** Undefined while it is unknown. */
  #receivedMs: number | undefined;
  /** End of the stream when it was first reached; undefined before that. */
  #end: number | undefined;
  #isEndReported = false;

  constructor(options: LogReaderOptions) {
    this.#options = options;
    this.#decoder = new BatchDecoder(options.partition);
  }

  /**
   * Position after everything reported so far, with the time when its newest message was received, for opening the
   * partition. Undefined before the first message, and in the middle of a batch.
   */
  get position(): ReceivedPosition | undefined {
    const { state } = this.#decoder.fold;
    if (state.validSequence === 0 || state.firstChunk !== undefined) return undefined;
    const position = positionOf(this.#identity, state);
    return this.#receivedMs === undefined ? position : { ...position, receivedMs: this.#receivedMs };
  }

  /** Newest message read, whether it counts or not: the basis of the lag. */
  get sequence(): number {
    return this.#decoder.fold.state.sequence;
  }

  /**
   * Reads until the signal is aborted. While the servers cannot be reached it waits and retries. To be called once.
   *
   * @throws {ServiceError} `DATA_CORRUPTED` when the log cannot be trusted; `NOT_FOUND` when it begins after the
   *   position: start from a snapshot
   */
  async *read(signal: AbortSignal): AsyncGenerator<LogNews, void, void> {
    const { stream, partition, position, clock, random, isForgetful = false } = this.#options;
    const retries = new Retries(clock, random, RETRY);
    let isBegun = false;
    while (!signal.aborted) {
      try {
        if (!isBegun) {
          const { fold, identity } = await stateAt(stream, partition, position, clock);
          this.#decoder = new BatchDecoder(partition, fold);
          this.#identity = identity;
          this.#receivedMs = position?.receivedMs;
          isBegun = true;
        }
        for await (const news of this.#follow(signal)) {
          retries.reset();
          yield news;
        }
      } catch (error) {
        if (!isUnavailable(error)) throw error;
      }
      if (signal.aborted) return;
      if (isForgetful) this.#receivedMs = undefined;
      await retries.wait();
    }
  }

  async *#follow(signal: AbortSignal): AsyncGenerator<LogNews, void, void> {
    const { stream, partition, clock } = this.#options;
    const { sequence } = this.#decoder.fold.state;
    // Another stream of this name may have the same sequences.
    const known = { identity: this.#identity, sequence };
    const { lastSequence } = await stateReaching(stream, partition, known, clock);
    this.#end ??= lastSequence;
    this.#reportEnd();
    // The record does not show when others may have received it: the member that appended it may have a lease.
    this.#receivedMs ??= clock.monotonicMs();
    for await (const message of stream.follow(sequence + 1, signal)) {
      if (signal.aborted) return;
      const next = this.#decoder.fold.state.sequence + 1;
      if (message.sequence < next) continue;
      const known = { identity: this.#identity, sequence: message.sequence - 1 };
      for await (const skipped of messagesUpTo(stream, partition, next, known, clock))
        yield* this.#take(skipped);
      yield* this.#takeLive(message);
      this.#reportEnd();
    }
  }

  #reportEnd(): void {
    if (this.#isEndReported || this.#end === undefined || this.sequence < this.#end) return;
    this.#isEndReported = true;
    this.#options.atEnd?.();
  }

  /** A consumer reads its own server's copy: a message that does not verify there may be intact at the leader. */
  async *#takeLive(message: StoredMessage): AsyncGenerator<LogNews, void, void> {
    const { sequence } = this.#decoder.fold.state;
    try {
      yield* this.#take(message);
    } catch (error) {
      if (this.#decoder.fold.state.sequence !== sequence) throw error;
      const again = await this.#options.stream.fetch(message.sequence);
      if (again === undefined) throw error;
      yield* this.#take(again);
    }
  }

  *#take(message: StoredMessage): Generator<LogNews, void, void> {
    this.#receivedMs = this.#options.clock.monotonicMs();
    const step = this.#decoder.take(message);
    this.#options.stored?.(this.#identity, message, this.#decoder.fold.state);
    if (step.kind === 'void') this.#options.report({ ...step, kind: 'void-record' });
    else yield step;
  }
}
