import { createHash } from 'node:crypto';
import type { Clock } from '#runtime/base/clock.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { FailureBook, type FailureLimits } from './failure-book.ts';

/** Bounds of {@link LoginThrottle}. */
export interface LoginThrottleLimits extends FailureLimits {
  /** All attempts from one address, whatever the account. */
  readonly address: FailureLimits;
  /** All attempts at one account, from addresses it has not been used from. */
  readonly account: FailureLimits;
  /** Attempts of one address that may be under way at once. */
  readonly runningMax: number;
}

/** Five mistakes are free; then 1 s, 2 s, 4 s … up to 5 minutes; forgotten after 15 minutes of peace. */
const placeLimits: FailureLimits = {
  freeFailures: 5,
  firstWaitMs: 1_000,
  waitMsMax: 300_000,
  forgetMs: 900_000,
  entriesMax: 10_000,
};

/** An address may be that of an office, and an account is everybody's to fail at: much is free, and waits are short. */
const wideLimits: FailureLimits = { ...placeLimits, freeFailures: 100, waitMsMax: 30_000 };

/** The bounds of a member. */
export const defaultLoginThrottle: LoginThrottleLimits = Object.freeze({
  ...placeLimits,
  address: wideLimits,
  account: wideLimits,
  runningMax: 16,
});

/** What became of an attempt: it counts as failed until it succeeded, or could not be judged. */
export type LoginTurn = 'tried' | 'succeeded' | 'unjudged';

/** Tells the other members of a cluster of attempts made here, so that guessing at all of them in turn is no faster. */
export interface LoginNews {
  /** @param place account and address, not readable */
  tell(place: string, turn: LoginTurn): void;
  /** @param hear called for what the others tell, for as long as the member lives */
  listen(hear: (place: string, turn: LoginTurn) => void): void;
}

/**
 * Slows guessing of passwords down without locking an account. Three things are counted:
 *
 * - an account together with the address the attempts come from: few mistakes are free, then waits grow;
 * - an address, whatever the account, so that names cannot be tried one after the other;
 * - an account, whatever the address, so that many addresses cannot share the work. Addresses from which somebody has
 *   logged in to it are not held up by that: nobody can shut an administrator out from elsewhere.
 *
 * State is kept in bounded memory only; a restart forgives. Failures of names nobody has do not make it forget anybody
 * who waits, see {@link FailureBook}. Members of a cluster tell each other of what is counted for accounts with their
 * address; what one misses because it is cut off is a few free guesses, not more.
 *
 * Callers take a place with {@link LoginThrottle.begin} before the password is looked at, so that attempts
 * made side by side count like attempts made one after another.
 */
export class LoginThrottle {
  readonly #clock: Clock;
  readonly #limits: LoginThrottleLimits;
  readonly #news: LoginNews | undefined;
  readonly #places: FailureBook;
  readonly #addresses: FailureBook;
  readonly #accounts: FailureBook;
  /** Places somebody has logged in from, the oldest first. Only accounts that exist get here. */
  readonly #used = new Set<string>();
  /** Attempts under way by address. */
  readonly #running = new Map<string, number>();

  constructor(clock: Clock, limits: LoginThrottleLimits = defaultLoginThrottle, news?: LoginNews) {
    this.#clock = clock;
    this.#limits = limits;
    this.#news = news;
    this.#places = new FailureBook(limits);
    this.#addresses = new FailureBook(limits.address);
    this.#accounts = new FailureBook(limits.account);
    news?.listen((place, turn) => {
      if (turn === 'tried') this.#places.count(place, this.#clock.monotonicMs());
      else if (turn === 'succeeded') this.#places.forget(place);
      else this.#places.takeBack(place);
    });
  }

  /**
   * Counts an attempt as failed until {@link LoginThrottle.succeeded} or {@link LoginThrottle.unjudged} takes that back.
   *
   * @param account tenant and user name
   * @param address where the attempt comes from
   * @throws {ServiceError} `ACCOUNT_LOCKED` with `retry_after_seconds`, whatever the password
   */
  begin(account: string, address: string): void {
    const nowMs = this.#clock.monotonicMs();
    const place = placeOf(account, address);
    const waitMs = Math.max(
      this.#places.waitMs(place, nowMs),
      this.#addresses.waitMs(address, nowMs),
      this.#used.has(place) ? 0 : this.#accounts.waitMs(placeOf(account, ''), nowMs),
    );
    if (waitMs > 0) {
      const seconds = Math.ceil(waitMs / 1000);
      throw new ServiceError('ACCOUNT_LOCKED', `Too many failed logins; wait ${seconds} seconds`, {
        details: { retry_after_seconds: seconds },
      });
    }
    this.#places.count(place, nowMs);
    this.#addresses.count(address, nowMs);
    this.#accounts.count(placeOf(account, ''), nowMs);
    this.#news?.tell(place, 'tried');
  }

  /** The password was right: earlier failures from there are forgiven. */
  succeeded(account: string, address: string): void {
    const place = placeOf(account, address);
    this.#places.forget(place);
    this.#addresses.takeBack(address);
    this.#accounts.takeBack(placeOf(account, ''));
    this.#used.delete(place);
    this.#used.add(place);
    if (this.#used.size > this.#limits.entriesMax) {
      const oldest = this.#used.values().next();
      if (oldest.done !== true) this.#used.delete(oldest.value);
    }
    this.#news?.tell(place, 'succeeded');
  }

  /** Whether the password was right could not be found out: who asks while nothing can be read does not guess. */
  unjudged(account: string, address: string): void {
    const place = placeOf(account, address);
    this.#places.takeBack(place);
    this.#addresses.takeBack(address);
    this.#accounts.takeBack(placeOf(account, ''));
    this.#news?.tell(place, 'unjudged');
  }

  /**
   * The account has a new password, set from an address: nobody waits for mistakes with the old one from there, and from
   * elsewhere only for those made there.
   */
  renewed(account: string, address: string): void {
    const place = placeOf(account, address);
    this.#places.forget(place);
    this.#accounts.forget(placeOf(account, ''));
    this.#news?.tell(place, 'succeeded');
  }

  /**
   * Does something that compares a password, unless an address has too much of that under way already: passwords are
   * hashed a few at a time, and one address must not take all the turns.
   *
   * @throws {ServiceError} `RATE_LIMITED`; what `work` throws
   */
  async inTurn<Result>(address: string, work: () => Promise<Result>): Promise<Result> {
    const running = this.#running.get(address) ?? 0;
    if (running >= this.#limits.runningMax) {
      throw new ServiceError('RATE_LIMITED', 'Too many logins from this address at once; try again shortly', {
        details: { retry_after_seconds: 1 },
      });
    }
    this.#running.set(address, running + 1);
    try {
      return await work();
    } finally {
      const left = (this.#running.get(address) as number) - 1;
      if (left === 0) this.#running.delete(address);
      else this.#running.set(address, left);
    }
  }
}

/** Of one size, however long the name: it is kept, and told. */
function placeOf(account: string, address: string): string {
  return createHash('sha256').update(`${account}\0${address}`).digest('base64url');
}
