import { createHash } from 'node:crypto';
import type { Clock } from '#runtime/base/time/clock.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { clientNetwork } from './client-network.ts';
import { FailureBook, type FailureLimits } from './failure-book.ts';
import { NetworkLimit, networkLimits } from './network-limit.ts';

/** Limits of {@link LoginThrottle}. */
export interface LoginThrottleLimits extends FailureLimits {
  /** For all attempts from one network, whatever the account; and for the registrations from there. */
  readonly network: FailureLimits;
  /** For all attempts at one account from addresses without an earlier login. */
  readonly account: FailureLimits;
  /** Limit of concurrent attempts from one address. */
  readonly runningMax: number;
}

/** Five failures are free; then 1 s, 2 s, 4 s … up to 5 minutes. Forgotten after 15 minutes without a failure. */
const placeLimits: FailureLimits = {
  freeFailures: 5,
  firstWaitMs: 1_000,
  waitMsMax: 300_000,
  forgetMs: 900_000,
  entriesMax: 10_000,
};

/** Anyone can fail at an account: many failures are free, and waits are short. */
const wideLimits: FailureLimits = { ...placeLimits, freeFailures: 100, waitMsMax: 30_000 };

/** The limits of a member. */
export const defaultLoginThrottle: LoginThrottleLimits = Object.freeze({
  ...placeLimits,
  network: networkLimits,
  account: wideLimits,
  runningMax: 16,
});

/** State of an attempt: it counts as failed until it succeeded, or could not be verified. */
export type LoginTurn = 'tried' | 'succeeded' | 'unjudged';

/** Shares attempts with the other members of a cluster, so that guessing at all of them in turn is no faster. */
export interface LoginNews {
  /** @param place account and address, hashed */
  tell(place: string, turn: LoginTurn): void;
  /** @param hear called for attempts reported by other members, for the lifetime of the process */
  listen(hear: (place: string, turn: LoginTurn) => void): void;
}

/**
 * Slows down guessing of the passwords of administrators without locking an account. An address of version 6 stands for
 * its network. Failures are counted in three ways:
 *
 * - per account and address: a few failures are free, then waits grow;
 * - per network, whatever the account, so that account names cannot be tried one after the other;
 * - per account, whatever the address, so that many addresses cannot share the work.
 *
 * An address with an earlier login to the account waits only for its own failures there, so that nobody can shut out an
 * administrator, neither from elsewhere nor from behind the same proxy.
 *
 * The limits of networks for people are here too: the actor of their identities locks each account.
 *
 * State is kept only in bounded memory; a restart clears it. Failures at unknown names do not evict a waiting key, see
 * {@link FailureBook}. Members of a cluster share the counts per account and address. A member that is cut off allows a
 * few more guesses, not more.
 *
 * Callers count an attempt with {@link LoginThrottle.begin} before the password is verified, so that concurrent
 * attempts count like sequential ones.
 */
export class LoginThrottle {
  /** Wrong passwords of people, whatever the account. */
  readonly guesses: NetworkLimit;
  /** Registrations, also those that were refused. */
  readonly registrations: NetworkLimit;
  readonly #clock: Clock;
  readonly #limits: LoginThrottleLimits;
  readonly #news: LoginNews | undefined;
  readonly #places: FailureBook;
  readonly #networks: NetworkLimit;
  readonly #accounts: FailureBook;
  /** Places with an earlier login, oldest first. Only existing accounts are stored. */
  readonly #used = new Set<string>();
  /** Number of running attempts by address. */
  readonly #running = new Map<string, number>();

  constructor(clock: Clock, limits: LoginThrottleLimits = defaultLoginThrottle, news?: LoginNews) {
    this.#clock = clock;
    this.#limits = limits;
    this.#news = news;
    this.#places = new FailureBook(limits);
    this.#networks = new NetworkLimit(clock, 'Too many failed logins', limits.network);
    this.guesses = new NetworkLimit(clock, 'Too many failed logins from this network', limits.network);
    this.registrations = new NetworkLimit(clock, 'Too many registrations from this network', limits.network);
    this.#accounts = new FailureBook(limits.account);
    news?.listen((place, turn) => {
      if (turn === 'tried') this.#places.count(place, this.#clock.monotonicMs());
      else if (turn === 'succeeded') this.#places.forget(place);
      else this.#places.takeBack(place);
    });
  }

  /**
   * Counts an attempt as failed until {@link LoginThrottle.succeeded} or {@link LoginThrottle.unjudged} reverts that.
   *
   * @param account tenant and user name
   * @param address source of the attempt
   * @throws {ServiceError} `ACCOUNT_LOCKED` with `retry_after_seconds`, whatever the password
   */
  begin(account: string, address: string): void {
    const nowMs = this.#clock.monotonicMs();
    const place = placeOf(account, address);
    const isUsed = this.#used.has(place);
    const waitMs = Math.max(
      this.#places.waitMs(place, nowMs),
      isUsed ? 0 : this.#networks.waitMs(address),
      isUsed ? 0 : this.#accounts.waitMs(placeOf(account, ''), nowMs),
    );
    if (waitMs > 0) {
      const seconds = Math.ceil(waitMs / 1000);
      throw new ServiceError('ACCOUNT_LOCKED', `Too many failed logins; wait ${seconds} seconds`, {
        details: { retry_after_seconds: seconds },
      });
    }
    this.#places.count(place, nowMs);
    this.#networks.count(address);
    this.#accounts.count(placeOf(account, ''), nowMs);
    this.#news?.tell(place, 'tried');
  }

  /** The password was right: earlier failures of the account from this address are forgotten. */
  succeeded(account: string, address: string): void {
    const place = placeOf(account, address);
    this.#places.forget(place);
    this.#networks.takeBack(address);
    this.#accounts.takeBack(placeOf(account, ''));
    this.#used.delete(place);
    this.#used.add(place);
    if (this.#used.size > this.#limits.entriesMax) {
      const oldest = this.#used.values().next();
      if (oldest.done !== true) this.#used.delete(oldest.value);
    }
    this.#news?.tell(place, 'succeeded');
  }

  /** The password could not be verified: an attempt while nothing can be read is not a guess. */
  unjudged(account: string, address: string): void {
    const place = placeOf(account, address);
    this.#places.takeBack(place);
    this.#networks.takeBack(address);
    this.#accounts.takeBack(placeOf(account, ''));
    this.#news?.tell(place, 'unjudged');
  }

  /**
   * The account has a new password, set from an address. Waits for failures with the old password end for that address;
   * other addresses wait only for their own failures.
   */
  renewed(account: string, address: string): void {
    const place = placeOf(account, address);
    this.#places.forget(place);
    this.#accounts.forget(placeOf(account, ''));
    this.#news?.tell(place, 'succeeded');
  }

  /**
   * Runs work that verifies a password, unless too much of it is running for the address. Only a few passwords are
   * hashed at a time, and one address must not take all of that capacity.
   *
   * @throws {ServiceError} `RATE_LIMITED`; the errors of `work`
   */
  async inTurn<Result>(address: string, work: () => Promise<Result>): Promise<Result> {
    const network = clientNetwork(address);
    const running = this.#running.get(network) ?? 0;
    if (running >= this.#limits.runningMax) {
      throw new ServiceError('RATE_LIMITED', 'Too many logins from this address at once; try again shortly', {
        details: { retry_after_seconds: 1 },
      });
    }
    this.#running.set(network, running + 1);
    try {
      return await work();
    } finally {
      const left = (this.#running.get(network) as number) - 1;
      if (left === 0) this.#running.delete(network);
      else this.#running.set(network, left);
    }
  }
}

/** A key of fixed size, whatever the length of the name, because it is stored and sent. */
function placeOf(account: string, address: string): string {
  return createHash('sha256')
    .update(`${account}\0${clientNetwork(address)}`)
    .digest('base64url');
}
