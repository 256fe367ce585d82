import type { Clock } from '../time/clock.ts';
import { type SlicedWork, TURN_MS } from './slice-scheduler.ts';

/** Runs work to its end; at a yield it waits for its next slice when the present one is over. */
export async function runInSlices<T>(
  work: Pick<SlicedWork, 'pause'>,
  steps: Generator<undefined, T>,
): Promise<T> {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
    const wait = work.pause();
    if (wait !== undefined) await wait;
  }
}

/**
 * Runs start-up work, which shares the process with nothing else, to its end; yields to the event loop at intervals.
 */
export async function runInTurns<T>(clock: Clock, steps: Generator<undefined, T>): Promise<T> {
  let since = clock.monotonicMs();
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
    if (clock.monotonicMs() - since < TURN_MS) continue;
    await new Promise<void>((resolve) => clock.soon(resolve));
    since = clock.monotonicMs();
  }
}
