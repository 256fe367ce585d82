/**
 * Loaded into a member before all other modules (`--import`). Appends each long turn of its event loop to the file
 * named by `GROVE_TURNS_FILE`, one JSON object to a line.
 */
import { appendFileSync } from 'node:fs';
import { workedMs } from './worked.ts';

/** A turn as reported by the probe. */
export interface LongTurn {
  /** When it ended, in microseconds of the monotonic clock. */
  readonly endUs: number;
  /** Processor time of the main thread, in milliseconds; the system updates it only every few milliseconds. */
  readonly workedMs: number;
  /** Elapsed time, in milliseconds; longer than the processor time when other programs use the machine. */
  readonly tookMs: number;
}

/** Shortest reported turn, in milliseconds. */
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
