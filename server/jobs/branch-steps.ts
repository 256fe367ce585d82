import { type Clock, sleep } from '#runtime/base/time/clock.ts';
import { crashPoint } from '#runtime/commit/crash-point.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';

/**
 * Repeats the small step of a job of a branch, with a pause of the same length after each for the writers of the branch.
 *
 * @param step returns whether the job is done
 * @throws what the step throws
 */
export async function runBranchSteps(clock: Clock, step: () => Promise<boolean>): Promise<void> {
  for (;;) {
    const startedMs = clock.monotonicMs();
    if (await step()) return;
    crashPoint('mid-job');
    await sleep(clock, clock.monotonicMs() - startedMs);
  }
}

/** Does work on a branch that may be deleted meanwhile: then nothing is left to be done. @throws what the work throws */
export async function unlessDeleted(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code !== 'NOT_FOUND') throw error;
  }
}
