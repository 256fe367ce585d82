import { type Clock, sleep } from '#runtime/base/time/clock.ts';

/** Time that long reads have to finish before their shards are closed, in milliseconds. A new owner waits as long. */
export const READS_MS_MAX = 400;

/** Interval between two checks, in milliseconds. */
const READS_POLL_MS = 10;

/** An actor with long reads. */
interface Reading {
  readonly reads: number;
}

/**
 * Resolves when all long reads have finished or the time is over; remaining reads fail when their shards are closed.
 *
 * @param actors called again for each check, because actors may be added
 * @param ms time limit in milliseconds
 * @param signal ends the wait early
 */
export async function readsEnded(
  clock: Clock,
  actors: () => Iterable<Reading>,
  ms: number,
  signal?: AbortSignal,
): Promise<void> {
  const endMs = clock.monotonicMs() + ms;
  const areReading = (): boolean => [...actors()].some(({ reads }) => reads > 0);
  while (areReading() && clock.monotonicMs() < endMs && signal?.aborted !== true)
    await sleep(clock, READS_POLL_MS);
}
