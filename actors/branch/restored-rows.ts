import type { RestoreRow } from '#runtime/actor/copies/restored-row.ts';
import type { ActorId } from '#runtime/actor/ports.ts';
import { CommonTable } from '#runtime/commit/behaviour.ts';
import { BranchTable } from '#runtime/shard/key-layout.ts';
import { movedAncestor } from '#runtime/tree/ancestry-store.ts';
import { restoredHead } from '#runtime/tree/revision-store.ts';

/**
 * Converts the rows of a branch for a restored repository. All rows stay; references to merged branches get the new
 * actor ids, and the change feed tells that the branch was restored.
 *
 * @param moved id of an actor of the repository → its id in the restored repository
 */
export function restoredBranchRow(moved: (actor: ActorId) => ActorId): RestoreRow {
  return ({ key, table, value }) => {
    if (table === BranchTable.ancestry) return movedAncestor(value, moved);
    return table === CommonTable.meta ? restoredHead({ key, value }) : value;
  };
}
