import { readFileSync } from 'node:fs';

/** Processor time of the main thread so far, in milliseconds. It does not include other processes. */
export function workedMs(): number {
  return Number(readFileSync('/proc/self/schedstat', 'utf8').split(' ', 1)[0]) / 1e6;
}
