/** The longest delay of a timer, in milliseconds. */
const TIMER_MS_MAX = 2 ** 31 - 1;

/**
 * Keeps the process alive. Timers of the system clock do not, because background work must never delay an exit: a
 * program that waits only for such a timer would exit before it fires.
 *
 * A program calls this once at its start, and ends with `process.exit` or by releasing.
 *
 * @returns releases the process; idempotent
 */
export function holdProcess(): () => void {
  const handle = setInterval(() => undefined, TIMER_MS_MAX);
  return () => clearInterval(handle);
}
