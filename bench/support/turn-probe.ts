/**
 * Loaded into a member before anything else (`--import`): appends each long turn of its event loop to the file that
 * `GROVE_TURNS_FILE` names, one JSON object to a line.
 */
import { appendFileSync } from 'node:fs';
import { workedMs } from './worked.ts';

/** A turn as the probe tells it. */
export interface LongTurn {
  /** When it ended, in microseconds of the monotonic clock. */
  readonly endUs: number;
  /** Processor time of the main thread, in milliseconds; the system counts it every few milliseconds only. */
  readonly workedMs: number;
  /** What a clock on the wall says, in milliseconds: more when others use the machine. */
  readonly tookMs: number;
}

/** Turns that are shorter are not told, in milliseconds. */
const TOLD_MS = 8;

const file = process.env.GROVE_TURNS_FILE;
if (file !== undefined) {
  let workedBefore = workedMs();
  let tookBefore = performance.now();
  const tick = (): void => {
    const nowMs = performance.now();
    const tookMs = nowMs - tookBefore;
    if (tookMs >= TOLD_MS) {
      const worked = workedMs();
      const endUs = Number(process.hrtime.bigint() / 1000n);
      const turn: LongTurn = { endUs, workedMs: worked - workedBefore, tookMs };
      appendFileSync(file, `${JSON.stringify(turn)}\n`);
    }
    workedBefore = workedMs();
    tookBefore = performance.now();
    setImmediate(tick);
  };
  setImmediate(tick);
}
