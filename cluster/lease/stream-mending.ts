import { type Clock, sleep } from '#runtime/base/clock.ts';
import type { LogPosition } from '#cluster/replication/log-position.ts';
import type { FlushedReplica } from './flushed-replica.ts';

/** Between two attempts, in milliseconds. */
const RETRY_MS = 1000;

/** What a stream is mended with. */
export interface StreamMendingOptions {
  readonly flushed: FlushedReplica;
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
    for (;;) {
      await sleep(clock, RETRY_MS);
      if (signal.aborted) return;
      try {
        const trouble = await flushed.mend(position());
        hear(trouble);
        if (trouble === undefined) break;
      } catch (cause) {
        if (!signal.aborted) onFailure(cause);
        return;
      }
    }
    onWhole(signal);
  }
}
