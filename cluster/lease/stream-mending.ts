import { type Clock, sleep } from '#runtime/base/clock.ts';
import { isOtherRecord } from '#cluster/replication/log-errors.ts';
import type { LogPosition } from '#cluster/replication/log-position.ts';
import type { FlushedReplica } from './flushed-replica.ts';

/** Between two attempts, in milliseconds. */
const RETRY_MS = 1000;

/** Before the next attempt when the stream held something else, in milliseconds: each look compares many messages. */
const OTHER_RECORD_RETRY_MS = 10_000;

/** After so long, and each time again, another server is to lead the stream, in milliseconds. */
const LEADER_MS = 15_000;

/** How often that is asked for: three servers have a copy. */
const LEADERS_DOUBTED_MAX = 3;

/** What a stream is mended with. */
export interface StreamMendingOptions {
  readonly flushed: Pick<FlushedReplica, 'mend' | 'doubtLeader'>;
  readonly clock: Clock;
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
 * Where that does not help it has other servers lead, some of which may have the end. A stream that holds something
 * else is left alone, and looked at: it goes on when it is what it was.
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
    const startedMs = clock.monotonicMs();
    let hasFailed = false;
    let doubted = 0;
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
      if (doubted >= LEADERS_DOUBTED_MAX || clock.monotonicMs() - startedMs < LEADER_MS * (doubted + 1))
        continue;
      doubted += 1;
      await flushed.doubtLeader(position()).catch(onFailure);
    }
    onWhole(signal);
  }
}
