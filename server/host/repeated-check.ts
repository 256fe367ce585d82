import type { Clock, Timer } from '#runtime/base/time/clock.ts';

/** Interval of the checks of files that should not change, in milliseconds. */
const CHECK_MS = 1_000;

/**
 * Runs a check periodically, one run after the other.
 *
 * @param check must not fail
 * @returns ends it; no run starts after that
 */
export function checkRepeatedly(clock: Clock, check: () => Promise<void> | void): () => void {
  let timer: Timer | undefined;
  let isStopped = false;
  const schedule = (): void => {
    if (isStopped) return;
    timer = clock.after(CHECK_MS, () => void Promise.resolve(check()).then(schedule));
  };
  schedule();
  return () => {
    isStopped = true;
    timer?.cancel();
  };
}
