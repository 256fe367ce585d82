/**
 * Loaded before a member (`--import`): its wall clock is away from the machine's, its monotonic clock is not. The
 * shift in milliseconds is read from the file that `GROVE_TEST_CLOCK_FILE` names, at the start and on SIGWINCH.
 */
import { readFileSync } from 'node:fs';

const file = process.env.GROVE_TEST_CLOCK_FILE;
const RealDate = globalThis.Date;
const realNow = RealDate.now.bind(RealDate);
let shiftMs = 0;

function read(): void {
  if (file !== undefined) shiftMs = Number(readFileSync(file, 'utf8'));
}

class ShiftedDate extends RealDate {
  constructor(...given: readonly unknown[]) {
    if (given.length === 0) super(realNow() + shiftMs);
    else super(...(given as [number]));
  }

  static override now(): number {
    return realNow() + shiftMs;
  }
}

read();
process.on('SIGWINCH', read);
globalThis.Date = ShiftedDate as DateConstructor;
