import type { StoredRow } from '#runtime/actor/copies/restored-row.ts';
import { LocksTable } from './locks-tables.ts';

/**
 * Rows of the locks of a restored branch: pools are kept, leases are removed. The backup may have leases that were
 * released since, and may lack leases granted since. Every client has to acquire its locks again; tokens from before
 * the restore are no longer valid.
 */
export function restoredLocksRow({ table, value }: StoredRow): Uint8Array | null {
  return table === LocksTable.leases ? null : value;
}
