import type { Turn } from '#runtime/commit/behaviour.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { requireCapacity, requireLockName, requireUnits } from './lock-values.ts';
import { type PoolRow, readPool, writePool } from './locks-tables.ts';
import type { ClaimUnits, PoolClaim, PoolRelease, ReleaseUnits } from './messages.ts';

/** Most pools kept in memory. Above it the cache is cleared, and pools are read again when next used. */
const POOLS_KEPT_MAX = 100_000;

const refused: PoolClaim = Object.freeze({ claimed: false });

/**
 * The pools of a branch. Pools in use are cached decoded, so that a hot pool costs one small write for each command.
 *
 * Invariant: 0 <= remaining <= capacity, and capacity never changes.
 */
export class Pools {
  readonly #kept = new Map<string, PoolRow>();
  #changes = 0;

  /** A counter of changes. */
  get changes(): number {
    return this.#changes;
  }

  /** @see messages.ts, ClaimUnits */
  claim({ capacity, n, pool }: ClaimUnits, turn: Turn): PoolClaim {
    requireLockName(pool, 'pool');
    requireUnits(n);
    requireCapacity(capacity);
    const known = this.#find(pool, turn);
    const row = known ?? { capacity, remaining: capacity };
    if (n > row.remaining) {
      // The first claim creates the pool even when it is refused.
      if (known === undefined) this.#keep(pool, row, turn);
      return refused;
    }
    const remaining = row.remaining - n;
    this.#keep(pool, { capacity: row.capacity, remaining }, turn);
    return { claimed: true, remaining };
  }

  /** @see messages.ts, ReleaseUnits */
  release({ n, pool }: ReleaseUnits, turn: Turn): PoolRelease {
    requireLockName(pool, 'pool');
    requireUnits(n);
    const row = this.#find(pool, turn);
    if (row === undefined)
      throw new ServiceError('POOL_NOT_FOUND', `Nobody has claimed from pool '${pool}' yet`);
    const remaining = Math.min(row.capacity, row.remaining + n);
    if (remaining !== row.remaining) this.#keep(pool, { capacity: row.capacity, remaining }, turn);
    return { remaining };
  }

  /** Clears the cache after writes were discarded, because it may contain them. */
  forget(): void {
    this.#kept.clear();
  }

  #find(name: string, turn: Turn): PoolRow | undefined {
    const kept = this.#kept.get(name);
    if (kept !== undefined) return kept;
    const row = readPool(turn, name);
    if (row !== undefined) this.#remember(name, row);
    return row;
  }

  #keep(name: string, row: PoolRow, turn: Turn): void {
    this.#changes += 1;
    writePool(turn, name, row);
    this.#remember(name, row);
  }

  #remember(name: string, row: PoolRow): void {
    if (this.#kept.size >= POOLS_KEPT_MAX) this.#kept.clear();
    this.#kept.set(name, row);
  }
}
