import type { Clock } from '#runtime/base/clock.ts';

/**
 * Part of `lease_ms` for which the owner trusts its lease. A candidate waits the whole of it, so that two
 * monotonic clocks may differ in speed by 5 % each and still no two members hold a lease at once.
 */
const OWNER_SHARE = 0.9;

/**
 * Wall time that passes beyond monotonic time and ends the lease, in milliseconds: the machine slept, or somebody set
 * its clock.
 */
const SLEEP_MS_MAX = 2_000;

/** The two clocks at one moment. */
export interface Moment {
  readonly monotonicMs: number;
  readonly wallMs: number;
}

/**
 * How long the owner of a partition may answer reads without asking the log: no other member opens it before.
 * Renewed by every acknowledged append, counted from when that was sent.
 *
 * @see Reliability: R11
 */
export class ReadLease {
  readonly #clock: Clock;
  readonly #leaseMs: number;
  #renewed: Moment | undefined;

  /** @param leaseMs `[cluster] lease_ms`, the same on all members */
  constructor(clock: Clock, leaseMs: number) {
    this.#clock = clock;
    this.#leaseMs = leaseMs;
  }

  /** Monotonic time up to which the lease holds; 0 without one. It may still end before: ask {@link isValid}. */
  get validUntilMs(): number {
    return this.#renewed === undefined ? 0 : this.#renewed.monotonicMs + this.#leaseMs * OWNER_SHARE;
  }

  /** To be asked when an answer is sent, not when it is begun: the process may have stood still in between. */
  isValid(): boolean {
    const renewed = this.#renewed;
    if (renewed === undefined) return false;
    const passedMs = this.#clock.monotonicMs() - renewed.monotonicMs;
    // The monotonic clock stands still while a machine sleeps. Wall time that jumps ahead costs one barrier.
    const wallMs = this.#clock.wallMs() - renewed.wallMs;
    if (wallMs - passedMs > SLEEP_MS_MAX) {
      // For good: a clock that is set back afterwards does not undo the sleep.
      this.drop();
      return false;
    }
    return Math.max(passedMs, wallMs) < this.#leaseMs * OWNER_SHARE;
  }

  /** Now, to be given to {@link renew} when the append that is sent now is acknowledged. */
  moment(): Moment {
    return { monotonicMs: this.#clock.monotonicMs(), wallMs: this.#clock.wallMs() };
  }

  /** An append sent at that moment is acknowledged. */
  renew(sent: Moment): void {
    if (this.#renewed === undefined || sent.monotonicMs > this.#renewed.monotonicMs) this.#renewed = sent;
  }

  /** Gives the lease up. */
  drop(): void {
    this.#renewed = undefined;
  }
}
