import { type Clock, sleep } from '#runtime/base/clock.ts';
import type { SupersededEnd } from '#cluster/flush-journal/superseded-end.ts';
import type { FlushedReplica } from './flushed-replica.ts';

/** Between two looks, in milliseconds: each compares many messages. */
const LOOK_MS = 10_000;

/** What a copy in quarantine is watched with. */
export interface SupersededWatchOptions {
  readonly flushed: Pick<FlushedReplica, 'superseded'>;
  readonly clock: Clock;
  /** Told when others wrote over the end of the copy. @param signal says that nobody wants to know any more */
  readonly onSuperseded: (end: SupersededEnd, signal: AbortSignal) => void;
  /** Told when only an operator can decide. */
  readonly onFailure: (cause: unknown) => void;
}

/**
 * Looks again and again whether the end of a copy that holds something else than the stream is known never to have been
 * acknowledged, as long as its partition is in quarantine for that. Never straight away: the members that confirm what
 * the stream has may be about to lose it with the stream.
 *
 * @see Reliability: R9
 */
export class SupersededWatch {
  readonly #options: SupersededWatchOptions;
  #controller: AbortController | undefined;

  constructor(options: SupersededWatchOptions) {
    this.#options = options;
  }

  /** Begins, unless it has begun. */
  begin(): void {
    if (this.#controller?.signal.aborted === false) return;
    this.#controller = new AbortController();
    void this.#run(this.#controller.signal);
  }

  /** Gives it up. */
  stop(): void {
    this.#controller?.abort();
  }

  /** Never rejects. */
  async #run(signal: AbortSignal): Promise<void> {
    const { clock, flushed, onFailure, onSuperseded } = this.#options;
    for (;;) {
      await sleep(clock, LOOK_MS);
      if (signal.aborted) return;
      try {
        const end = await flushed.superseded();
        if (signal.aborted) return;
        if (end !== undefined) {
          onSuperseded(end, signal);
          return;
        }
      } catch (cause) {
        if (!signal.aborted) onFailure(cause);
        return;
      }
    }
  }
}
