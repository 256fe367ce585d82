import type { Clock } from './clock.ts';

/**
 * Waits for a promise, but at most `ms`. The work itself continues.
 *
 * @returns whether it ended in time
 * @throws the error `work` rejects with in time
 */
export async function within(clock: Clock, ms: number, work: Promise<unknown>): Promise<boolean> {
  let cancel = (): void => undefined;
  const late = new Promise<false>((resolve) => {
    const timer = clock.after(ms, () => resolve(false));
    cancel = () => timer.cancel();
  });
  try {
    return await Promise.race([work.then(() => true), late]);
  } finally {
    cancel();
  }
}

/**
 * The result of a promise, if it arrives in time.
 *
 * @returns undefined when it takes longer than `ms`, or fails
 */
export async function inTime<T>(clock: Clock, ms: number, asked: Promise<T>): Promise<T | undefined> {
  let answer: T | undefined;
  await within(
    clock,
    ms,
    asked.then(
      (given) => {
        answer = given;
      },
      () => undefined,
    ),
  );
  return answer;
}
