import { readFileSync } from 'node:fs';
import { processorSecondsOf, ticksPerSecond } from './process-stat.ts';

/** Processor time of other programs above which a measurement counts as disturbed, in cores. */
const FOREIGN_CORES_MAX = 0.2;

/** Length of one sample of the load of the machine, in milliseconds. */
const LOOK_MS = 500;

/** A sample of the processor time used so far, in seconds. */
export interface Look {
  readonly atMs: number;
  readonly everybody: number;
  readonly ours: number;
}

/**
 * Detects other programs that use the processor during a measurement, and waits until they finish. Pinning does not
 * help against programs on the same cores.
 */
export class Disturbance {
  #patienceMs: number;
  #measured = 0;
  #disturbed = 0;

  /** @param patienceMs total time it may wait */
  constructor(patienceMs: number) {
    this.#patienceMs = patienceMs;
  }

  /** How many measurements were disturbed. */
  get report(): string {
    return `${this.#disturbed} of ${this.#measured}`;
  }

  /** Whether time is left to wait and measure again. */
  get isPatient(): boolean {
    return this.#patienceMs > 0;
  }

  /** Discards a measurement; its time counts as waiting time. */
  discard(before: Look): void {
    this.#patienceMs -= performance.now() - before.atMs;
  }

  /** Counts a kept measurement. */
  keep(isDisturbed: boolean): void {
    this.#measured += 1;
    if (isDisturbed) this.#disturbed += 1;
  }

  /** Whether other programs used the processor since a sample. */
  since(before: Look): boolean {
    const now = look();
    const foreign = now.everybody - before.everybody - (now.ours - before.ours);
    return foreign / ((now.atMs - before.atMs) / 1000) > FOREIGN_CORES_MAX;
  }

  /** Waits until no other program uses the processor, or no time to wait is left. */
  async quiet(): Promise<void> {
    while (this.isPatient) {
      const before = look();
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
      if (!this.since(before)) return;
      this.#patienceMs -= LOOK_MS;
    }
  }
}

/** Takes a sample. Servers and load generators are children of this process and count as ours. */
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
