import type { Clock } from '#runtime/base/clock.ts';

/** Lateness of a look from which on this process has stood still, in milliseconds. */
const LATE_MS = 500;

/** Time for looks in one turn of the event loop: those whose time is up are answered, and all of them may be. */
const SWEEPS_MS = 4;

/** Something that is looked at from time to time until it is over. */
export interface Sweepable {
  /** Applies the time limits. @param nowMs on the clock's `monotonicMs` */
  sweep(nowMs: number): void;
  /** For {@link InFlight}: its place among the others, undefined while it is not in flight. */
  inFlightAt: number | undefined;
}

/**
 * The requests that were not answered in their own turn of the event loop. One timer watches the time limits
 * of all of them, so that a request costs a place in a list and no timer of its own; it runs only while needed.
 *
 * Every member knows its place: a set would hash each of them, which costs ten times as much.
 */
export class InFlight {
  readonly #clock: Clock;
  readonly #sweepMs: number;
  readonly #members: Sweepable[] = [];
  #isArmed = false;
  #wasLate = false;
  #idleWaiters: (() => void)[] = [];

  /** @param sweepMs time between two looks, milliseconds */
  constructor(clock: Clock, sweepMs: number) {
    this.#clock = clock;
    this.#sweepMs = sweepMs;
  }

  get count(): number {
    return this.#members.length;
  }

  /** Idempotent. */
  add(member: Sweepable): void {
    if (member.inFlightAt !== undefined) return;
    member.inFlightAt = this.#members.length;
    this.#members.push(member);
    if (!this.#isArmed) this.#arm();
  }

  /** Idempotent. */
  remove(member: Sweepable): void {
    const at = member.inFlightAt;
    if (at === undefined) return;
    member.inFlightAt = undefined;
    const last = this.#members.pop() as Sweepable;
    if (last !== member) {
      this.#members[at] = last;
      last.inFlightAt = at;
    }
    if (this.#members.length === 0) this.#wakeIdle();
  }

  /** Resolves once nothing is in flight. */
  idle(): Promise<void> {
    if (this.#members.length === 0) return Promise.resolve();
    return new Promise((resolve) => void this.#idleWaiters.push(resolve));
  }

  #wakeIdle(): void {
    if (this.#idleWaiters.length === 0) return;
    const waiters = this.#idleWaiters;
    this.#idleWaiters = [];
    for (const wake of waiters) wake();
  }

  #arm(): void {
    this.#isArmed = true;
    const dueMs = this.#clock.monotonicMs() + this.#sweepMs;
    this.#clock.after(this.#sweepMs, () => {
      const nowMs = this.#clock.monotonicMs();
      // After a standstill of this process peers have a turn first to show that they have gone on meanwhile.
      this.#wasLate = !this.#wasLate && nowMs - dueMs > LATE_MS;
      if (this.#wasLate) return this.#arm();
      this.#sweep([...this.#members], nowMs);
    });
  }

  /** @param members the last of them is next */
  #sweep(members: Sweepable[], nowMs: number): void {
    const startedMs = this.#clock.monotonicMs();
    while (members.length > 0) {
      if (this.#clock.monotonicMs() - startedMs >= SWEEPS_MS) {
        this.#clock.soon(() => this.#sweep(members, nowMs));
        return;
      }
      members.pop()?.sweep(nowMs);
    }
    this.#isArmed = false;
    if (this.#members.length > 0) this.#arm();
  }
}
