import type { SlicedWork } from './slice-scheduler.ts';

/** Runs work to its end; it rests where it yields and its slice is over. */
export async function inSlices<T>(work: SlicedWork, steps: Generator<undefined, T>): Promise<T> {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
    const wait = work.pause();
    if (wait !== undefined) await wait;
  }
}
