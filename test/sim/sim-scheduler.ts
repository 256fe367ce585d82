import type { Clock, Timer } from '#runtime/base/time/clock.ts';
import type { SimRandom } from './sim-random.ts';

interface Alarm {
  readonly atMs: number;
  readonly callback: () => void;
}

/**
 * Time and turns of a simulated process. Callbacks run one by one, each followed by everything it made ready at
 * once (promises), so that a run depends on the seed alone. Time passes by small random steps, and by leaps when
 * nothing else is ready.
 */
export class SimScheduler implements Clock {
  readonly #random: SimRandom;
  #monotonicMs = 0;
  /** How far the wall clock is off from where it started. */
  #offsetMs = 1_700_000_000_000;
  #ready: (() => void)[] = [];
  #alarms: Alarm[] = [];

  constructor(random: SimRandom) {
    this.#random = random;
  }

  wallMs(): number {
    return this.#offsetMs + this.#monotonicMs;
  }

  monotonicMs(): number {
    return this.#monotonicMs;
  }

  soon(callback: () => void): void {
    this.#ready.push(callback);
  }

  after(delayMs: number, callback: () => void): Timer {
    const alarm = { atMs: this.#monotonicMs + delayMs, callback };
    this.#alarms.push(alarm);
    return {
      cancel: () => {
        this.#alarms = this.#alarms.filter((other) => other !== alarm);
      },
    };
  }

  /** Sets the wall clock forward or back. */
  shiftWall(ms: number): void {
    this.#offsetMs += ms;
  }

  /** Work that holds the processor for so long. */
  work(ms: number): void {
    this.#monotonicMs += ms;
  }

  /** An operation of a disk: answered after a while, in any order with others. */
  disk(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#random.chance(0.3)) this.soon(resolve);
      else this.after(this.#random.next() * 3, resolve);
    });
  }

  /** Runs one callback. @returns false when there was none */
  async step(): Promise<boolean> {
    const callback = this.#next();
    if (callback === undefined) return false;
    this.#monotonicMs += this.#random.next() * 0.2;
    callback();
    // In the next real turn every promise this made ready has been dealt with.
    await new Promise<void>((resolve) => setImmediate(resolve));
    return true;
  }

  /** The process is gone: nothing it waited for will ever happen. */
  clear(): void {
    this.#ready = [];
    this.#alarms = [];
  }

  #next(): (() => void) | undefined {
    const due = this.#alarms.filter(({ atMs }) => atMs <= this.#monotonicMs);
    const takesAlarm = due.length > 0 && (this.#ready.length === 0 || this.#random.chance(0.5));
    if (!takesAlarm && this.#ready.length > 0) return this.#ready.shift();
    if (this.#alarms.length === 0) return undefined;
    const earliest = this.#alarms.reduce((first, alarm) => (alarm.atMs < first.atMs ? alarm : first));
    this.#alarms = this.#alarms.filter((alarm) => alarm !== earliest);
    this.#monotonicMs = Math.max(this.#monotonicMs, earliest.atMs);
    return earliest.callback;
  }
}
