/**
 * Attempts in a tenant in which nobody has registered, or that does not exist. The identities of the tenant `default`
 * count them as they count their own, under the name of the tenant: otherwise the answers to a few attempts would tell
 * which tenants exist. All of them are for the engine only.
 *
 * @see docs/security.md#what-strangers-learn
 */

/** How long an address is locked. Answer: seconds until the lock ends; 0: it is not locked. */
export interface FindAbsentLock {
  readonly type: 'FindAbsentLock';
  readonly tenant: string;
  readonly email: string;
  /** As in `NewSession`. */
  readonly place: string;
}

/** Counts a login, which failed. Result: `FailedLogin`, never `changed`. */
export interface CountAbsentLogin {
  readonly type: 'CountAbsentLogin';
  readonly tenant: string;
  readonly email: string;
  /** As in `NewSession`. */
  readonly place: string;
}

/**
 * Counts a request for a login link, which is not sent. Result: `LinkRequested`.
 *
 * @throws {ServiceError} `INVALID_EMAIL`, `RATE_LIMITED`
 */
export interface CountAbsentLink {
  readonly type: 'CountAbsentLink';
  readonly tenant: string;
  readonly email: string;
  /** As in `NewSession`. */
  readonly place: string;
}
