import type { RestoreRow } from '#runtime/actor/restored-row.ts';
import type { ActorId } from '#runtime/actor/ports.ts';
import { BranchTable } from '#runtime/shard/key-layout.ts';
import { movedAncestor } from '#runtime/tree/ancestry-store.ts';

/**
 * What becomes of the rows of a branch in a restored one: all stay, and what came from other branches by a merge is
 * looked for where those are now.
 *
 * @param moved id of an actor of the repository → its id in the restored repository
 */
export function restoredBranchRow(moved: (actor: ActorId) => ActorId): RestoreRow {
  return ({ table, value }) => (table === BranchTable.ancestry ? movedAncestor(value, moved) : value);
}
