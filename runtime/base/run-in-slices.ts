import type { Clock } from './clock.ts';
import { type SlicedWork, TURN_MS } from './slice-scheduler.ts';

/** Runs work to its end; it rests where it yields and its slice is over. */
export async function runInSlices<T>(work: SlicedWork, steps: Generator<undefined, T>): Promise<T> {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
    const wait = work.pause();
    if (wait !== undefined) await wait;
  }
}

/** Runs work of a start to its end, which nobody has to share with: it makes way for a turn of the event loop now and then. */
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
