import type { StoredRow } from '#runtime/actor/restored-row.ts';
import { LocksTable } from './locks-tables.ts';

/**
 * What becomes of the rows of locks in restored ones: pools stay, and nobody holds a lock. Who held one in the
 * backup may have released it since, and who holds one now may not be in it; all have to acquire anew, and no token
 * of before is of use any more.
 */
export function restoredLocksRow({ table, value }: StoredRow): Uint8Array | null {
  return table === LocksTable.leases ? null : value;
}
