import type { Clock, Timer } from '#runtime/base/clock.ts';

/** Between two looks at files that nobody should touch, in milliseconds. */
const LOOK_MS = 1_000;

/**
 * Looks at something again and again, one look after the other.
 *
 * @param look must not fail
 * @returns ends it; no look begins after that
 */
export function lookRepeatedly(clock: Clock, look: () => Promise<void> | void): () => void {
  let timer: Timer | undefined;
  let isStopped = false;
  const schedule = (): void => {
    if (isStopped) return;
    timer = clock.after(LOOK_MS, () => void Promise.resolve(look()).then(schedule));
  };
  schedule();
  return () => {
    isStopped = true;
    timer?.cancel();
  };
}
