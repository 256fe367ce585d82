import type { Clock, Timer } from '#runtime/base/time/clock.ts';

interface Alarm {
  readonly atMs: number;
  readonly callback: () => void;
}

/** A clock that stands still until a test moves it; `soon` is the real next turn of the event loop. */
export class TestClock implements Clock {
  #wallMs: number;
  #monotonicMs = 1000;
  #alarms: Alarm[] = [];

  constructor(wallMs = 1_700_000_000_000) {
    this.#wallMs = wallMs;
  }

  wallMs(): number {
    return this.#wallMs;
  }

  monotonicMs(): number {
    return this.#monotonicMs;
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

  soon(callback: () => void): void {
    setImmediate(callback);
  }

  /** How many timers are set. */
  get alarms(): number {
    return this.#alarms.length;
  }

  /** Sets the wall clock, as an administrator would; timers do not notice. */
  setWall(wallMs: number): void {
    this.#wallMs = wallMs;
  }

  /** Lets time pass on both clocks and calls what is due, earliest first. */
  advance(ms: number): void {
    this.#wallMs += ms;
    this.#monotonicMs += ms;
    const due = this.#alarms.filter(({ atMs }) => atMs <= this.#monotonicMs).sort((a, b) => a.atMs - b.atMs);
    this.#alarms = this.#alarms.filter((alarm) => !due.includes(alarm));
    for (const { callback } of due) callback();
  }
}

/** Lets everything that is ready run, some turns of the event loop long. */
export async function settle(turns = 8): Promise<void> {
  for (let turn = 0; turn < turns; turn += 1) await new Promise<void>((resolve) => setImmediate(resolve));
}
