import { ServiceError } from '#runtime/errors/service-error.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { isLockName, requireLockName } from './lock-values.ts';
import type { Lease } from './lease-table.ts';
import type { Locks } from './locks.ts';
import { leasesAfter, poolsAfter, readLease, readPool } from './locks-tables.ts';
import type {
  ListLocks,
  ListPools,
  LockInfo,
  LockPage,
  PoolInfo,
  PoolPage,
  ReadLock,
  ReadPool,
} from './messages.ts';

/** The present moment on both clocks, in milliseconds. */
export interface Moment {
  readonly wallMs: number;
  readonly monotonicMs: number;
}

/** @see messages.ts, ListLocks @throws {ServiceError} `INVALID_CURSOR` */
export function listLocks(
  { after, limit }: ListLocks,
  view: TableReader,
  locks: Locks,
  now: Moment,
): LockPage {
  requirePlace(after);
  const items: LockInfo[] = [];
  for (const named of leasesAfter(view, after)) {
    const lease = locks.inForce(named);
    if (lease === undefined) continue;
    const last = items.at(-1);
    if (items.length === limit && last !== undefined) return { items, next: last.key };
    items.push(lockInfo(named.name, lease, locks, now));
  }
  return { items, next: null };
}

/** @see messages.ts, ReadLock @throws {ServiceError} `VALIDATION_FAILED` */
export function readLock(
  { key }: ReadLock,
  view: TableReader,
  locks: Locks,
  now: Moment,
): LockInfo | undefined {
  requireLockName(key, 'key');
  const row = readLease(view, key);
  const lease = row === undefined ? undefined : locks.inForce({ name: key, row });
  return lease === undefined ? undefined : lockInfo(key, lease, locks, now);
}

/** @see messages.ts, ListPools @throws {ServiceError} `INVALID_CURSOR` */
export function listPools({ after, limit }: ListPools, view: TableReader): PoolPage {
  requirePlace(after);
  const items: PoolInfo[] = [];
  for (const { name, row } of poolsAfter(view, after)) {
    const last = items.at(-1);
    if (items.length === limit && last !== undefined) return { items, next: last.pool };
    items.push({ pool: name, ...row });
  }
  return { items, next: null };
}

/** @see messages.ts, ReadPool @throws {ServiceError} `VALIDATION_FAILED` */
export function readOnePool({ pool }: ReadPool, view: TableReader): PoolInfo | undefined {
  requireLockName(pool, 'pool');
  const row = readPool(view, pool);
  return row === undefined ? undefined : { pool, ...row };
}

/** A cursor is a name. A text that is no valid name was never issued as a cursor. */
function requirePlace(after: string | undefined): void {
  if (after !== undefined && !isLockName(after)) throw new ServiceError('INVALID_CURSOR');
}

function lockInfo(key: string, lease: Lease, locks: Locks, now: Moment): LockInfo {
  const { acquiredAtMs, deadlineMs, owner, token, ttlMs } = lease;
  return {
    key,
    token,
    expires_at_ms: Math.round(now.wallMs + deadlineMs - now.monotonicMs),
    acquired_at_ms: acquiredAtMs,
    ttl_ms: ttlMs,
    owner,
    waiting: locks.waitingFor(key),
  };
}
