import { writeSync } from 'node:fs';
import { systemClock } from '#runtime/base/time/clock.ts';
import { armCrashPoint, type CrashPointName, crashPointNames } from '#runtime/commit/crash-point.ts';

/*
 * Loaded into a member before its main file. After a first SIGUSR2 the process stops with all its threads at every pass of
 * every crash point, after it said which, until it is told to go on; a second SIGUSR2 says that the answer was heard,
 * where it stops as well. What is in its files meanwhile is what a kill would leave.
 */
const STANDARD_ERROR = 2;

/** Journal segments go at any time, in no order with the steps of a request: engine-crash.slow.test.ts strikes these. */
const unordered: readonly CrashPointName[] = ['before-segment-removal', 'after-segment-removal'];

/** How long it stood still, in milliseconds: nobody's deadline passes meanwhile. */
let stoodMs = 0;

systemClock.monotonicMs = () => performance.now() - stoodMs;

let isArmed = false;

process.on('SIGUSR2', () => {
  if (isArmed) {
    stop('answered:1');
    return;
  }
  isArmed = true;
  for (const name of crashPointNames) if (!unordered.includes(name)) stopAt(name, 1);
  writeSync(STANDARD_ERROR, 'armed\n');
});

function stopAt(name: CrashPointName, pass: number): void {
  armCrashPoint(name, 1, () => {
    stopAt(name, pass + 1);
    stop(`${name}:${pass}`);
  });
}

function stop(point: string): void {
  writeSync(STANDARD_ERROR, `at ${point}\n`);
  const beganMs = performance.now();
  // Delivered before kill returns to this thread. The others end what they are asking the system for.
  process.kill(process.pid, 'SIGSTOP');
  stoodMs += performance.now() - beganMs;
}
