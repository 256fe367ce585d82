import type { Clock } from '#runtime/base/clock.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';

/** Bounds of {@link LoginThrottle}. */
export interface LoginThrottleLimits {
  /** Failures that cost nothing. */
  readonly freeFailures: number;
  /** Waiting time after the first failure that is not free, in milliseconds; it doubles with each further one. */
  readonly firstWaitMs: number;
  /** Longest waiting time, in milliseconds. */
  readonly waitMsMax: number;
  /** Time without a failure after which everything is forgotten, in milliseconds. */
  readonly forgetMs: number;
  /** Accounts and addresses remembered at once; the oldest are forgotten first. */
  readonly entriesMax: number;
}

/** Five mistakes are free; then 1 s, 2 s, 4 s … up to 5 minutes; forgotten after 15 minutes of peace. */
export const defaultLoginThrottle: LoginThrottleLimits = Object.freeze({
  freeFailures: 5,
  firstWaitMs: 1_000,
  waitMsMax: 300_000,
  forgetMs: 900_000,
  entriesMax: 10_000,
});

interface Failures {
  count: number;
  lastMs: number;
  /** No attempt before this moment. */
  openAtMs: number;
}

/**
 * Slows guessing of passwords down without locking an account: waiting times belong to an account together
 * with the address the attempts come from, so nobody can shut an administrator out from elsewhere. State is
 * kept in memory only; a restart forgives.
 *
 * Callers take a place with {@link LoginThrottle.begin} before the password is looked at, so that attempts
 * made side by side count like attempts made one after another.
 */
export class LoginThrottle {
  readonly #clock: Clock;
  readonly #limits: LoginThrottleLimits;
  /** In order of the last failure, oldest first. */
  readonly #failures = new Map<string, Failures>();

  constructor(clock: Clock, limits: LoginThrottleLimits = defaultLoginThrottle) {
    this.#clock = clock;
    this.#limits = limits;
  }

  /**
   * Counts an attempt as failed until {@link LoginThrottle.succeeded} takes that back.
   *
   * @param account tenant and user name
   * @param address where the attempt comes from
   * @throws {ServiceError} `ACCOUNT_LOCKED` with `retry_after_seconds`, whatever the password
   */
  begin(account: string, address: string): void {
    const { freeFailures, firstWaitMs, waitMsMax, forgetMs, entriesMax } = this.#limits;
    const nowMs = this.#clock.monotonicMs();
    const key = keyOf(account, address);
    let known = this.#failures.get(key);
    if (known !== undefined && nowMs - known.lastMs > forgetMs) known = undefined;
    if (known !== undefined && nowMs < known.openAtMs) {
      const seconds = Math.ceil((known.openAtMs - nowMs) / 1000);
      throw new ServiceError('ACCOUNT_LOCKED', `Too many failed logins; wait ${seconds} seconds`, {
        details: { retry_after_seconds: seconds },
      });
    }
    const count = (known?.count ?? 0) + 1;
    const waits = count - freeFailures;
    const waitMs = waits <= 0 ? 0 : Math.min(firstWaitMs * 2 ** Math.min(waits - 1, 30), waitMsMax);
    this.#failures.delete(key);
    this.#failures.set(key, { count, lastMs: nowMs, openAtMs: nowMs + waitMs });
    if (this.#failures.size > entriesMax) {
      const oldest = this.#failures.keys().next();
      if (oldest.done !== true) this.#failures.delete(oldest.value);
    }
  }

  /** The password was right: earlier failures from there are forgiven. */
  succeeded(account: string, address: string): void {
    this.#failures.delete(keyOf(account, address));
  }
}

function keyOf(account: string, address: string): string {
  return `${account}\0${address}`;
}
