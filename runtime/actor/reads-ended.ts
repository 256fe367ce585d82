import { type Clock, sleep } from '#runtime/base/clock.ts';

/** Time long answers have to end before their shards are closed, in milliseconds: a new owner waits as long. */
export const READS_MS_MAX = 400;

/** Between two looks whether they have, in milliseconds. */
const READS_POLL_MS = 10;

/** Whoever has long answers under way. */
interface Reading {
  readonly reads: number;
}

/**
 * Resolves when all long answers have ended, or have had their time: what still runs is cut off with its shard.
 *
 * @param actors looked through again each time: more may come
 * @param ms how long they have, in milliseconds
 * @param signal cuts them short
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
