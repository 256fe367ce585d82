import { type Clock, sleep } from '#runtime/base/time/clock.ts';
import type { SupersededEnd } from '#cluster/replica-durability/superseded-end.ts';
import type { FlushedReplica } from '#cluster/replica-durability/flushed-replica.ts';
import { mayPass } from './passing-failure.ts';

/** Interval of the checks, in milliseconds: each compares many messages. */
const CHECK_MS = 10_000;

/** Dependencies of the watch. */
export interface SupersededWatchOptions {
  readonly flushed: Pick<FlushedReplica, 'superseded'>;
  readonly clock: Clock;
  /** Called when the end of the copy was overwritten. @param signal aborts when the result is no longer needed */
  readonly onSuperseded: (end: SupersededEnd, signal: AbortSignal) => void;
  /** Called with the first of several failures of the disk in a row: the checks go on. */
  readonly onPassing: (cause: unknown) => void;
  /** Called when an operator must decide. */
  readonly onFailure: (cause: unknown) => void;
}

/**
 * Checks repeatedly, while a partition is in quarantine because its copy and the stream have other records, whether
 * the end of the copy is known never to have been acknowledged. The first check is delayed: the members that confirm
 * the stream's records may be about to lose them with the stream.
 *
 * @see docs/partition-log.md#a-log-that-lost-its-end
 */
export class SupersededWatch {
  readonly #options: SupersededWatchOptions;
  #controller: AbortController | undefined;

  constructor(options: SupersededWatchOptions) {
    this.#options = options;
  }

  /** Starts, unless it is running. */
  begin(): void {
    if (this.#controller?.signal.aborted === false) return;
    this.#controller = new AbortController();
    void this.#run(this.#controller.signal);
  }

  /** Cancels it. */
  stop(): void {
    this.#controller?.abort();
  }

  /** Never rejects. */
  async #run(signal: AbortSignal): Promise<void> {
    const { clock, flushed, onFailure, onPassing, onSuperseded } = this.#options;
    for (let hasFailed = false; ; ) {
      await sleep(clock, CHECK_MS);
      if (signal.aborted) return;
      try {
        const end = await flushed.superseded();
        if (signal.aborted) return;
        hasFailed = false;
        if (end !== undefined) {
          onSuperseded(end, signal);
          return;
        }
      } catch (cause) {
        if (signal.aborted) return;
        if (mayPass(cause)) {
          if (!hasFailed) onPassing(cause);
          hasFailed = true;
          continue;
        }
        // Before that is told: whoever hears of it may start it again.
        this.stop();
        onFailure(cause);
        return;
      }
    }
  }
}
