import type { RestoreRow } from '#runtime/actor/copies/restored-row.ts';
import type { ActorId } from '#runtime/actor/ports.ts';
import { BranchTable } from '#runtime/shard/key-layout.ts';
import { movedAncestor } from '#runtime/tree/ancestry-store.ts';

/**
 * Converts the rows of a branch for a restored repository. All rows stay; references to merged branches get the new
 * actor ids.
 *
 * @param moved id of an actor of the repository → its id in the restored repository
 */
export function restoredBranchRow(moved: (actor: ActorId) => ActorId): RestoreRow {
  return ({ table, value }) => (table === BranchTable.ancestry ? movedAncestor(value, moved) : value);
}
