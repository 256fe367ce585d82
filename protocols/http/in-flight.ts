import type { Clock } from '#runtime/base/clock.ts';

/** Something that is looked at from time to time until it is over. */
export interface Sweepable {
  /** Applies the time limits. @param nowMs on the clock's `monotonicMs` */
  sweep(nowMs: number): void;
}

/**
 * The requests that were not answered in their own turn of the event loop. One timer watches the time limits
 * of all of them, so that a request costs a set entry and no timer of its own; it runs only while needed.
 */
export class InFlight {
  readonly #clock: Clock;
  readonly #sweepMs: number;
  readonly #members = new Set<Sweepable>();
  #isArmed = false;
  #idleWaiters: (() => void)[] = [];

  /** @param sweepMs time between two looks, milliseconds */
  constructor(clock: Clock, sweepMs: number) {
    this.#clock = clock;
    this.#sweepMs = sweepMs;
  }

  get count(): number {
    return this.#members.size;
  }

  add(member: Sweepable): void {
    this.#members.add(member);
    if (!this.#isArmed) this.#arm();
  }

  /** Idempotent. */
  remove(member: Sweepable): void {
    if (!this.#members.delete(member) || this.#members.size > 0) return;
    const waiters = this.#idleWaiters;
    this.#idleWaiters = [];
    for (const wake of waiters) wake();
  }

  /** Resolves once nothing is in flight. */
  idle(): Promise<void> {
    if (this.#members.size === 0) return Promise.resolve();
    return new Promise((resolve) => void this.#idleWaiters.push(resolve));
  }

  #arm(): void {
    this.#isArmed = true;
    this.#clock.after(this.#sweepMs, () => {
      this.#isArmed = false;
      const nowMs = this.#clock.monotonicMs();
      for (const member of [...this.#members]) member.sweep(nowMs);
      if (this.#members.size > 0) this.#arm();
    });
  }
}
