import type { Clock, Timer } from '#runtime/base/time/clock.ts';
import type { SimScheduler } from './sim-scheduler.ts';

/**
 * A simulated process: everything that happens in it comes through {@link SimProcess.run}, so that it can stand
 * still, sleep with its machine, and die. It has clocks of its own.
 */
export class SimProcess implements Clock {
  readonly name: string;
  readonly #scheduler: SimScheduler;
  /** How fast its monotonic clock runs. */
  readonly #rate: number;
  readonly #wallOffsetMs: number;
  #isAlive = true;
  #standsStill = 0;
  #isAsleep = false;
  #held: (() => void)[] = [];
  /** Time its machine slept. */
  #sleptMs = 0;

  constructor(name: string, scheduler: SimScheduler, rate: number, wallOffsetMs: number) {
    this.name = name;
    this.#scheduler = scheduler;
    this.#rate = rate;
    this.#wallOffsetMs = wallOffsetMs;
  }

  get isAlive(): boolean {
    return this.#isAlive;
  }

  wallMs(): number {
    return this.#scheduler.wallMs() + this.#wallOffsetMs;
  }

  monotonicMs(): number {
    return (this.#scheduler.monotonicMs() - this.#sleptMs) * this.#rate;
  }

  soon(callback: () => void): void {
    this.#scheduler.soon(() => this.run(callback));
  }

  after(delayMs: number, callback: () => void): Timer {
    let isCancelled = false;
    // It may be due already, and held back because the process stands still.
    const fire = (): void => {
      if (!isCancelled) callback();
    };
    const timer = this.#scheduler.after(delayMs / this.#rate, () => this.run(fire));
    return {
      cancel: () => {
        isCancelled = true;
        timer.cancel();
      },
    };
  }

  /** Something happens in this process: now, or when it goes on, or never. */
  run(callback: () => void): void {
    if (!this.#isAlive) return;
    if (this.#standsStill > 0) this.#held.push(callback);
    else callback();
  }

  /** Nothing happens in it for a while (SIGSTOP); its clocks go on. */
  pause(ms: number): void {
    this.#standsStill += 1;
    this.#scheduler.after(ms, () => {
      this.#standsStill -= 1;
      if (this.#standsStill > 0) return;
      for (const callback of this.#held.splice(0)) this.#scheduler.soon(() => this.run(callback));
    });
  }

  /** Its machine sleeps: as {@link pause}, and its monotonic clock stands still too. One that sleeps goes on with that. */
  sleep(ms: number): void {
    if (this.#isAsleep) return;
    this.#isAsleep = true;
    const before = this.#scheduler.monotonicMs();
    this.pause(ms);
    this.#scheduler.after(ms, () => {
      this.#isAsleep = false;
      this.#sleptMs += this.#scheduler.monotonicMs() - before;
    });
  }

  /** Nothing will ever happen in it again. */
  kill(): void {
    this.#isAlive = false;
    this.#held = [];
  }
}
