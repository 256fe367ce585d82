/**
 * Commands and queries of the locks actor of a branch. Values of commands are unchecked: the actor checks them.
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
 * Time between the end of a wait and the deadline of its request, in milliseconds. It covers the time in the mailbox.
 * An acquire that waits again at another owner of the partition ends its wait at the same time.
 */
export const LOCK_ANSWER_MS = 30_000;

/** Most units of a pool, and of one claim or release. */
export const POOL_UNITS_MAX = 1_000_000_000;

/** Most leases or pools of a page. */
export const LOCKS_PAGE_MAX = 1_000;

/** Default number of leases or pools of a page. */
export const LOCKS_PAGE_DEFAULT = 100;

/** A lock a caller claims to hold. A write that names it is refused unless the caller holds it. */
export interface HeldLock {
  readonly key: string;
  /** The fence token the lock was granted with. */
  readonly token: number;
}

/** Precondition of a command of a branch. */
export interface LockPrecondition {
  readonly lock?: HeldLock;
}

/**
 * Acquires a lock if it is free. A holder cannot acquire its lock a second time. Result: {@link LockGrant} or
 * {@link LockRefused}.
 *
 * @throws {ServiceError} `VALIDATION_FAILED`, `RATE_LIMITED`; `BRANCH_NOT_FOUND` when the branch is being deleted
 */
export interface AcquireLock {
  readonly type: 'AcquireLock';
  readonly key: string;
  readonly ttlMs: number;
  /** For display; has no effect on locking. */
  readonly owner: string | null;
  /** How long to wait in the queue while the lock is held, in milliseconds; 0 does not wait. */
  readonly waitMs: number;
}

/** The lock was granted. */
export interface LockGrant {
  readonly acquired: true;
  readonly key: string;
  readonly token: number;
  /** By the wall clock. The lease itself ends by the monotonic clock of the server. */
  readonly expires_at_ms: number;
}

/** The lock is held by another caller. The answer does not reveal the holder or the token. */
export interface LockRefused {
  readonly acquired: false;
}

/** Releases a lock. Result: {@link LockReleased}. @throws {ServiceError} `VALIDATION_FAILED` */
export interface ReleaseLock {
  readonly type: 'ReleaseLock';
  readonly key: string;
  readonly token: number;
}

/** Result of {@link ReleaseLock}: false when the lease has ended or has another token. */
export interface LockReleased {
  readonly released: boolean;
}

/**
 * Sets a new time to live for a lease, counted from now. Result: {@link LockRenewed}.
 *
 * @throws {ServiceError} `VALIDATION_FAILED`
 */
export interface RenewLock {
  readonly type: 'RenewLock';
  readonly key: string;
  readonly token: number;
  readonly ttlMs: number;
}

/** Result of {@link RenewLock}: false when the lease was lost. */
export interface LockRenewed {
  readonly renewed: boolean;
}

/**
 * Takes all requested units from a pool, or none. The first claim creates the pool. Result: {@link PoolClaim}.
 *
 * @throws {ServiceError} `VALIDATION_FAILED`
 */
export interface ClaimUnits {
  readonly type: 'ClaimUnits';
  readonly pool: string;
  readonly n: number;
  /** Used only when the claim creates the pool. */
  readonly capacity: number;
}

/** Result of {@link ClaimUnits}. */
export type PoolClaim = { readonly claimed: true; readonly remaining: number } | { readonly claimed: false };

/**
 * Returns units to a pool, at most up to its capacity. Result: {@link PoolRelease}.
 *
 * @throws {ServiceError} `VALIDATION_FAILED`; `POOL_NOT_FOUND` when no claim has created the pool
 */
export interface ReleaseUnits {
  readonly type: 'ReleaseUnits';
  readonly pool: string;
  readonly n: number;
}

/** Result of {@link ReleaseUnits}. */
export interface PoolRelease {
  readonly remaining: number;
}

/** The commands of the locks of a branch that callers may send. */
export type LocksCommand = AcquireLock | ReleaseLock | RenewLock | ClaimUnits | ReleaseUnits;

/** A page of names in byte order. */
interface NamePage {
  readonly limit: number;
  /** Names after this one; absent starts at the first. */
  readonly after?: string;
}

/** Lists the held locks, for administrators. Answer: {@link LockPage}. @throws {ServiceError} `INVALID_CURSOR` */
export interface ListLocks extends NamePage {
  readonly type: 'ListLocks';
}

/** Reads one lock, for administrators. Answer: {@link LockInfo}, or undefined when the lock is free. */
export interface ReadLock {
  readonly type: 'ReadLock';
  readonly key: string;
}

/** A held lock, in its wire format. */
export interface LockInfo {
  readonly key: string;
  readonly token: number;
  /** Wall clock, computed from the remaining time by the monotonic clock. */
  readonly expires_at_ms: number;
  readonly acquired_at_ms: number;
  readonly ttl_ms: number;
  readonly owner: string | null;
  /** Number of acquires waiting for the lock. */
  readonly waiting: number;
}

/** Answer of {@link ListLocks}. */
export interface LockPage {
  readonly items: readonly LockInfo[];
  /** `after` of the next page; null on the last one. */
  readonly next: string | null;
}

/** Lists the pools, for administrators. Answer: {@link PoolPage}. @throws {ServiceError} `INVALID_CURSOR` */
export interface ListPools extends NamePage {
  readonly type: 'ListPools';
}

/** Reads one pool, for administrators. Answer: {@link PoolInfo}, or undefined when it does not exist. */
export interface ReadPool {
  readonly type: 'ReadPool';
  readonly pool: string;
}

/** A pool, in its wire format. */
export interface PoolInfo {
  readonly pool: string;
  readonly capacity: number;
  readonly remaining: number;
}

/** Answer of {@link ListPools}. */
export interface PoolPage {
  readonly items: readonly PoolInfo[];
  /** `after` of the next page; null on the last one. */
  readonly next: string | null;
}

/**
 * Sent by the branch within its own turn: checks whether a lock is held with a token. The check includes commands that
 * are not durable yet. If the token matches, the lock stays held until {@link SettleGuards}, so that it is granted to
 * no other caller before the outcome of the write is known. Changes memory only. Answer: boolean.
 */
export interface GuardLock {
  readonly type: 'GuardLock';
  readonly key: string;
  readonly token: number;
}

/** Sent by the branch when the outcome of every guarded write is known. Answer: undefined. */
export interface SettleGuards {
  readonly type: 'SettleGuards';
}

/** Queries of the locks of a branch, except those sent by its repository. */
export type LocksQuery = ListLocks | ReadLock | ListPools | ReadPool | GuardLock | SettleGuards;
