import type { Clock } from '#runtime/base/time/clock.ts';

/**
 * Part of `lease_ms` for which the owner trusts its lease. A candidate waits for all of it, so that two
 * monotonic clocks may differ in speed by 5 % each and still no two members hold a lease at once.
 */
const OWNER_SHARE = 0.9;

/**
 * Excess of wall time over monotonic time that ends the lease, in milliseconds: the machine slept, or its clock was
 * set.
 */
const SLEEP_MS_MAX = 2_000;

/** The two clocks at one moment. */
export interface Moment {
  readonly monotonicMs: number;
  readonly wallMs: number;
}

/**
 * Time for which the owner of a partition may answer reads without asking the log: no other member opens it before.
 * Renewed by every acknowledged append, counted from when that was sent.
 *
 * @see docs/partition-log.md#the-read-lease
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

  /** Monotonic time at which the lease ends; 0 without one. It may end earlier: call {@link isValid}. */
  get validUntilMs(): number {
    return this.#renewed === undefined ? 0 : this.#renewed.monotonicMs + this.#leaseMs * OWNER_SHARE;
  }

  /** To be called when a reply is sent, not when it is begun: the process may have been suspended in between. */
  isValid(): boolean {
    const renewed = this.#renewed;
    if (renewed === undefined) return false;
    const passedMs = this.#clock.monotonicMs() - renewed.monotonicMs;
    // The monotonic clock stops while a machine sleeps. A jump of the wall time costs one barrier.
    const wallMs = this.#clock.wallMs() - renewed.wallMs;
    if (wallMs - passedMs > SLEEP_MS_MAX) {
      // Permanently: setting the clock back afterwards does not undo the sleep.
      this.drop();
      return false;
    }
    return Math.max(passedMs, wallMs) < this.#leaseMs * OWNER_SHARE;
  }

  /** Returns the current moment, for {@link renew} when the append that is sent now is acknowledged. */
  moment(): Moment {
    return { monotonicMs: this.#clock.monotonicMs(), wallMs: this.#clock.wallMs() };
  }

  /** Renews the lease: an append that was sent at that moment is acknowledged. */
  renew(sent: Moment): void {
    if (this.#renewed === undefined || sent.monotonicMs > this.#renewed.monotonicMs) this.#renewed = sent;
  }

  /** Ends the lease. */
  drop(): void {
    this.#renewed = undefined;
  }
}
