import { type Backoff, backoffMs } from '#runtime/base/backoff.ts';
import { type Clock, sleep } from '#runtime/base/clock.ts';
import type { Random } from '#runtime/base/random.ts';
import { isOtherRecord } from '#cluster/replication/log-errors.ts';
import type { LogPosition } from '#cluster/replication/log-position.ts';
import type { FlushedReplica } from './flushed-replica.ts';

/** Between two attempts, in milliseconds. */
const RETRY_MS = 1000;

/** Before the next attempt when the stream held something else, in milliseconds: each look compares many messages. */
const OTHER_RECORD_RETRY_MS = 10_000;

/**
 * Time before another server is asked to lead the stream, for the first time and again. A server that was asked may
 * lead on: one of 2.9 that names its successor stays when that one does not take over.
 */
const LEADER: Backoff = { firstMs: 15_000, factor: 1.5, mostMs: 600_000 };

/** What a stream is mended with. */
export interface StreamMendingOptions {
  readonly flushed: Pick<FlushedReplica, 'mend' | 'doubtLeader'>;
  readonly clock: Clock;
  readonly random: Random;
  /** Of the shards. */
  readonly position: () => LogPosition | undefined;
  /** Told after each attempt why it cannot be gone on with, for people; undefined when it can. */
  readonly hear: (trouble: string | undefined) => void;
  /** Told when the stream is whole. @param signal says that nobody wants to know any more */
  readonly onWhole: (signal: AbortSignal) => void;
  /** Told when only an operator can decide. */
  readonly onFailure: (cause: unknown) => void;
}

/**
 * Tries to have a stream that lost its end go on, again and again, as long as its partition is in quarantine for that.
 * Where that does not help it has other servers lead, some of which may have the end, until each server with a copy has
 * led it and was found to lack the end. A stream that holds something else is left alone, and looked at: it goes on when
 * it is what it was.
 *
 * @see Reliability: R9
 */
export class StreamMending {
  readonly #options: StreamMendingOptions;
  #controller: AbortController | undefined;

  constructor(options: StreamMendingOptions) {
    this.#options = options;
  }

  /** Begins, anew where it has begun. */
  begin(): void {
    this.stop();
    this.#controller = new AbortController();
    void this.#run(this.#controller.signal);
  }

  /** Gives it up. */
  stop(): void {
    this.#controller?.abort();
  }

  /** Never rejects. */
  async #run(signal: AbortSignal): Promise<void> {
    const { clock, flushed, hear, onFailure, onWhole, position } = this.#options;
    const leaders = new LeaderDoubts(this.#options);
    let hasFailed = false;
    for (let retryMs = RETRY_MS; ; ) {
      await sleep(clock, retryMs);
      if (signal.aborted) return;
      try {
        const trouble = await flushed.mend(position());
        hear(trouble);
        if (trouble === undefined) break;
        hasFailed = false;
        retryMs = RETRY_MS;
      } catch (cause) {
        if (signal.aborted) return;
        if (!hasFailed) onFailure(cause);
        if (!isOtherRecord(cause)) return;
        hasFailed = true;
        retryMs = OTHER_RECORD_RETRY_MS;
      }
      if (!signal.aborted) await leaders.doubt().catch(onFailure);
    }
    onWhole(signal);
  }
}

/** Has one server after another lead a stream. What could not be asked is asked at the next look. */
class LeaderDoubts {
  readonly #options: StreamMendingOptions;
  /** The servers that led, lacked the end, and were asked to leave the lead to another. */
  readonly #asked = new Set<string>();
  #retries = 0;
  #nextMs: number;
  #isOver = false;

  constructor(options: StreamMendingOptions) {
    this.#options = options;
    this.#nextMs = options.clock.monotonicMs() + backoffMs(LEADER, 0, options.random);
  }

  async doubt(): Promise<void> {
    const { clock, flushed, position, random } = this.#options;
    if (this.#isOver || clock.monotonicMs() < this.#nextMs) return;
    const doubted = await flushed.doubtLeader(position());
    if (doubted === undefined) return;
    this.#asked.add(doubted.leader);
    this.#isOver = doubted.servers.every((server) => this.#asked.has(server));
    this.#retries += 1;
    this.#nextMs = clock.monotonicMs() + backoffMs(LEADER, this.#retries, random);
  }
}
