import { readFileSync } from 'node:fs';

/** Processor time of the main thread so far, in milliseconds: what others take of the machine does not count. */
export function workedMs(): number {
  return Number(readFileSync('/proc/self/schedstat', 'utf8').split(' ', 1)[0]) / 1e6;
}
