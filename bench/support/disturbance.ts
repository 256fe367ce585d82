import { readFileSync } from 'node:fs';
import { processorSecondsOf, ticksPerSecond } from './process-stat.ts';

/** Processor time of everybody else above which a measurement says little, in cores. */
const FOREIGN_CORES_MAX = 0.2;

/** Length of one look at how busy the machine is, milliseconds. */
const LOOK_MS = 500;

/** A look at the processors: who has worked how much so far, in seconds. */
export interface Look {
  readonly atMs: number;
  readonly everybody: number;
  readonly ours: number;
}

/**
 * Tells whether others worked on this machine while something was measured, and waits for them to finish: no
 * pinning helps when a third program runs on the same cores.
 */
export class Disturbance {
  #patienceMs: number;
  #measured = 0;
  #disturbed = 0;

  /** @param patienceMs time it may wait in all */
  constructor(patienceMs: number) {
    this.#patienceMs = patienceMs;
  }

  /** How many measurements were taken although others worked. */
  get report(): string {
    return `${this.#disturbed} of ${this.#measured}`;
  }

  /** Whether waiting and measuring again is still an option. */
  get isPatient(): boolean {
    return this.#patienceMs > 0;
  }

  /** Throws a measurement away; its time is gone as if it had been waited for. */
  discard(before: Look): void {
    this.#patienceMs -= performance.now() - before.atMs;
  }

  /** Counts a measurement that is kept. */
  keep(isDisturbed: boolean): void {
    this.#measured += 1;
    if (isDisturbed) this.#disturbed += 1;
  }

  /** Whether others worked since a look. */
  since(before: Look): boolean {
    const now = look();
    const foreign = now.everybody - before.everybody - (now.ours - before.ours);
    return foreign / ((now.atMs - before.atMs) / 1000) > FOREIGN_CORES_MAX;
  }

  /** Returns when nobody else works, or patience is at its end. */
  async quiet(): Promise<void> {
    while (this.isPatient) {
      const before = look();
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
      if (!this.since(before)) return;
      this.#patienceMs -= LOOK_MS;
    }
  }
}

/** Takes a look. Servers and load generators are children of this process and count as ours. */
export function look(): Look {
  const fields = readFileSync('/proc/stat', 'utf8').split('\n', 1)[0] as string;
  // user nice system idle iowait irq softirq steal
  const ticks = fields.trim().split(/\s+/).slice(1, 9).map(Number);
  const idle = (ticks[3] as number) + (ticks[4] as number);
  const busy = ticks.reduce((sum, one) => sum + one, 0) - idle;
  return {
    atMs: performance.now(),
    everybody: busy / ticksPerSecond,
    ours: processorSecondsOf(process.pid),
  };
}
