import { createHash } from 'node:crypto';
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

/** What became of an attempt: it counts as failed until it succeeded, or could not be judged. */
export type LoginTurn = 'tried' | 'succeeded' | 'unjudged';

/** Tells the other members of a cluster of attempts made here, so that guessing at all of them in turn is no faster. */
export interface LoginNews {
  /** @param place account and address, not readable */
  tell(place: string, turn: LoginTurn): void;
  /** @param hear called for what the others tell, for as long as the member lives */
  listen(hear: (place: string, turn: LoginTurn) => void): void;
}

interface Failures {
  count: number;
  lastMs: number;
  /** No attempt before this moment. */
  openAtMs: number;
}

/**
 * Slows guessing of passwords down without locking an account: waiting times belong to an account together
 * with the address the attempts come from, so nobody can shut an administrator out from elsewhere. State is
 * kept in memory only; a restart forgives. Members of a cluster tell each other of attempts; what one misses because
 * it is cut off is a few free guesses, not more.
 *
 * Callers take a place with {@link LoginThrottle.begin} before the password is looked at, so that attempts
 * made side by side count like attempts made one after another.
 */
export class LoginThrottle {
  readonly #clock: Clock;
  readonly #limits: LoginThrottleLimits;
  readonly #news: LoginNews | undefined;
  /** In order of the last failure, oldest first. */
  readonly #failures = new Map<string, Failures>();

  constructor(clock: Clock, limits: LoginThrottleLimits = defaultLoginThrottle, news?: LoginNews) {
    this.#clock = clock;
    this.#limits = limits;
    this.#news = news;
    news?.listen((place, turn) => {
      if (turn === 'tried') this.#count(place);
      else if (turn === 'succeeded') this.#failures.delete(place);
      else this.#takeBack(place);
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
    const known = this.#known(place, nowMs);
    if (known !== undefined && nowMs < known.openAtMs) {
      const seconds = Math.ceil((known.openAtMs - nowMs) / 1000);
      throw new ServiceError('ACCOUNT_LOCKED', `Too many failed logins; wait ${seconds} seconds`, {
        details: { retry_after_seconds: seconds },
      });
    }
    this.#count(place);
    this.#news?.tell(place, 'tried');
  }

  /** The password was right: earlier failures from there are forgiven. */
  succeeded(account: string, address: string): void {
    const place = placeOf(account, address);
    this.#failures.delete(place);
    this.#news?.tell(place, 'succeeded');
  }

  /** Whether the password was right could not be found out: who asks while nothing can be read does not guess. */
  unjudged(account: string, address: string): void {
    const place = placeOf(account, address);
    this.#takeBack(place);
    this.#news?.tell(place, 'unjudged');
  }

  #takeBack(place: string): void {
    const known = this.#failures.get(place);
    if (known === undefined) return;
    if (known.count === 1) this.#failures.delete(place);
    else this.#failures.set(place, { count: known.count - 1, lastMs: known.lastMs, openAtMs: known.lastMs });
  }

  #known(place: string, nowMs: number): Failures | undefined {
    const known = this.#failures.get(place);
    return known !== undefined && nowMs - known.lastMs > this.#limits.forgetMs ? undefined : known;
  }

  /** One more failure there, as of now. */
  #count(place: string): void {
    const { freeFailures, firstWaitMs, waitMsMax, entriesMax } = this.#limits;
    const nowMs = this.#clock.monotonicMs();
    const count = (this.#known(place, nowMs)?.count ?? 0) + 1;
    const waits = count - freeFailures;
    const waitMs = waits <= 0 ? 0 : Math.min(firstWaitMs * 2 ** Math.min(waits - 1, 30), waitMsMax);
    this.#failures.delete(place);
    this.#failures.set(place, { count, lastMs: nowMs, openAtMs: nowMs + waitMs });
    if (this.#failures.size > entriesMax) {
      const oldest = this.#failures.keys().next();
      if (oldest.done !== true) this.#failures.delete(oldest.value);
    }
  }
}

/** Of one size, however long the name: it is kept, and told. */
function placeOf(account: string, address: string): string {
  return createHash('sha256').update(`${account}\0${address}`).digest('base64url');
}
