import type { Clock } from '#runtime/base/time/clock.ts';

/** Delay of a sweep above which the process counts as having been suspended, in milliseconds. */
const LATE_MS = 500;

/** Time for sweeps in one turn of the event loop. Every request may time out at once, and each gets a response. */
const SWEEPS_MS = 4;

/** An object that is checked periodically until it is over. */
export interface Sweepable {
  /** Applies the time limits. @param nowMs on the clock's `monotonicMs` */
  sweep(nowMs: number): void;
  /** For {@link InFlight}: its index among the others, undefined while it is not in flight. */
  inFlightAt: number | undefined;
}

/**
 * The requests that were not answered in their own turn of the event loop. One timer enforces the time limits of all
 * of them, so that a request costs a place in a list and no timer of its own. The timer runs only while needed.
 *
 * Every member knows its index: a set would hash each of them, which costs ten times as much.
 */
export class InFlight {
  readonly #clock: Clock;
  readonly #sweepMs: number;
  readonly #members: Sweepable[] = [];
  #isArmed = false;
  #wasLate = false;
  #idleWaiters: (() => void)[] = [];

  /** @param sweepMs interval between sweeps, in milliseconds */
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
      // After a suspension of this process, peers get one turn to deliver what they sent meanwhile.
      this.#wasLate = !this.#wasLate && nowMs - dueMs > LATE_MS;
      if (this.#wasLate) return this.#arm();
      this.#sweep([...this.#members], nowMs);
    });
  }

  /** @param members processed from the end */
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
