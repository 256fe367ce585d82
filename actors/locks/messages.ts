/**
 * What the locks of a branch can be told and asked. Values of commands are unchecked: the actor checks them.
 *
 * @see docs/interface/locks.md
 */

/** Longest name of a lock, a pool or an owner, in UTF-16 code units. */
export const LOCK_NAME_LENGTH_MAX = 256;

/** Shortest time a lease is granted for, in milliseconds. */
export const LOCK_TTL_MS_MIN = 10;

/** Longest time a lease is granted for, in milliseconds. */
export const LOCK_TTL_MS_MAX = 86_400_000;

/** Longest an acquire may wait, in milliseconds. */
export const LOCK_WAIT_MS_MAX = 60_000;

/**
 * Time between the end of a wait and the deadline of who waits, in milliseconds. An acquire stands in the mailbox as
 * well, and one that begins to wait anew at another owner of the partition ends when it would have ended.
 */
export const LOCK_ANSWER_MS = 30_000;

/** Most units of a pool, and of one claim or release. */
export const POOL_UNITS_MAX = 1_000_000_000;

/** Most leases or pools of a page. */
export const LOCKS_PAGE_MAX = 1_000;

/** Leases or pools of a page when nothing is said. */
export const LOCKS_PAGE_DEFAULT = 100;

/** A lock somebody says they hold: a write that names it is refused unless they do. */
export interface HeldLock {
  readonly key: string;
  /** The fence token the lock was granted with. */
  readonly token: number;
}

/** A command of a branch with what must hold for it. */
export interface LockPrecondition {
  readonly lock?: HeldLock;
}

/**
 * Takes a lock if nobody holds it, whoever asks. Result: {@link LockGrant} or {@link LockRefused}.
 *
 * @throws {ServiceError} `VALIDATION_FAILED`, `RATE_LIMITED`; `BRANCH_NOT_FOUND` when the branch is being deleted
 */
export interface AcquireLock {
  readonly type: 'AcquireLock';
  readonly key: string;
  readonly ttlMs: number;
  /** For people; nothing depends on it. */
  readonly owner: string | null;
  /** How long to wait in line while it is held, in milliseconds; 0: not at all. */
  readonly waitMs: number;
}

/** The lock is the caller's. */
export interface LockGrant {
  readonly acquired: true;
  readonly key: string;
  readonly token: number;
  /** Wall clock; what counts is the monotonic clock of the server. */
  readonly expires_at_ms: number;
}

/** Somebody holds the lock; who, and with which token, is not said. */
export interface LockRefused {
  readonly acquired: false;
}

/** Gives a lock back. Result: {@link LockReleased}. @throws {ServiceError} `VALIDATION_FAILED` */
export interface ReleaseLock {
  readonly type: 'ReleaseLock';
  readonly key: string;
  readonly token: number;
}

/** What {@link ReleaseLock} answers: false when the lease was gone or is another's. */
export interface LockReleased {
  readonly released: boolean;
}

/** Lets a lease end later, or sooner, counted from now. Result: {@link LockRenewed}. @throws {ServiceError} `VALIDATION_FAILED` */
export interface RenewLock {
  readonly type: 'RenewLock';
  readonly key: string;
  readonly token: number;
  readonly ttlMs: number;
}

/** What {@link RenewLock} answers: false when the lease was lost. */
export interface LockRenewed {
  readonly renewed: boolean;
}

/**
 * Takes units from a pool, all or none. The first claim of a pool seeds it. Result: {@link PoolClaim}.
 *
 * @throws {ServiceError} `VALIDATION_FAILED`
 */
export interface ClaimUnits {
  readonly type: 'ClaimUnits';
  readonly pool: string;
  readonly n: number;
  /** Counts on first touch only. */
  readonly capacity: number;
}

/** What {@link ClaimUnits} answers. */
export type PoolClaim = { readonly claimed: true; readonly remaining: number } | { readonly claimed: false };

/**
 * Puts units back, never beyond the capacity. Result: {@link PoolRelease}.
 *
 * @throws {ServiceError} `VALIDATION_FAILED`; `POOL_NOT_FOUND` for a pool nobody has touched
 */
export interface ReleaseUnits {
  readonly type: 'ReleaseUnits';
  readonly pool: string;
  readonly n: number;
}

/** What {@link ReleaseUnits} answers. */
export interface PoolRelease {
  readonly remaining: number;
}

/** Every command of the locks of a branch that somebody may send. */
export type LocksCommand = AcquireLock | ReleaseLock | RenewLock | ClaimUnits | ReleaseUnits;

/** A page of names in byte order. */
interface NamePage {
  readonly limit: number;
  /** Names after this one; absent: from the first. */
  readonly after?: string;
}

/** The locks that are held, for administrators. Answer: {@link LockPage}. @throws {ServiceError} `INVALID_CURSOR` */
export interface ListLocks extends NamePage {
  readonly type: 'ListLocks';
}

/** One lock, for administrators. Answer: {@link LockInfo}, or undefined when nobody holds it. */
export interface ReadLock {
  readonly type: 'ReadLock';
  readonly key: string;
}

/** A lock that is held, as it is on the wire. */
export interface LockInfo {
  readonly key: string;
  readonly token: number;
  /** Wall clock, from what is left by the monotonic one. */
  readonly expires_at_ms: number;
  readonly acquired_at_ms: number;
  readonly ttl_ms: number;
  readonly owner: string | null;
  /** How many wait in line for it. */
  readonly waiting: number;
}

/** What {@link ListLocks} answers. */
export interface LockPage {
  readonly items: readonly LockInfo[];
  /** `after` of the next page; null on the last one. */
  readonly next: string | null;
}

/** The pools that were touched, for administrators. Answer: {@link PoolPage}. @throws {ServiceError} `INVALID_CURSOR` */
export interface ListPools extends NamePage {
  readonly type: 'ListPools';
}

/** One pool, for administrators. Answer: {@link PoolInfo}, or undefined when nobody has touched it. */
export interface ReadPool {
  readonly type: 'ReadPool';
  readonly pool: string;
}

/** A pool, as it is on the wire. */
export interface PoolInfo {
  readonly pool: string;
  readonly capacity: number;
  readonly remaining: number;
}

/** What {@link ListPools} answers. */
export interface PoolPage {
  readonly items: readonly PoolInfo[];
  /** `after` of the next page; null on the last one. */
  readonly next: string | null;
}

/**
 * For the branch, within its own turn: whether a lock is held with a token, by the newest command, durable or not.
 * If so the lock stays held until {@link SettleGuards}, so that nobody else is granted it before the outcome of the
 * write is known. Changes memory only. Answer: boolean.
 */
export interface GuardLock {
  readonly type: 'GuardLock';
  readonly key: string;
  readonly token: number;
}

/** For the branch: the outcome of everything it guarded is known. Answer: undefined. */
export interface SettleGuards {
  readonly type: 'SettleGuards';
}

/** Every query of the locks of a branch, but those of its repository. */
export type LocksQuery = ListLocks | ReadLock | ListPools | ReadPool | GuardLock | SettleGuards;
