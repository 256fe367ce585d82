import type { RestoreRow } from '#runtime/actor/copies/restored-row.ts';
import type { ActorId } from '#runtime/actor/ports.ts';
import { CommonTable } from '#runtime/commit/behaviour.ts';
import { restoredConsumer } from '#runtime/feed/consumer-store.ts';
import { isOutboxKey } from '#runtime/jobs/outbox.ts';
import { BranchTable } from '#runtime/shard/key-layout.ts';
import { movedAncestor } from '#runtime/tree/ancestry-store.ts';
import { restoredHead } from '#runtime/tree/revision-store.ts';

/**
 * Converts the rows of a branch for a restored repository. References to merged branches get the new actor ids, the
 * change feed tells that the branch was restored, and its consumers with effects elsewhere are left out. Jobs in its outbox
 * are enqueued again. All other rows stay, also that its commits may enqueue: the queue must be told of such a branch.
 *
 * @param moved id of an actor of the repository → its id in the restored repository
 */
export function restoredBranchRow(moved: (actor: ActorId) => ActorId): RestoreRow {
  return ({ key, table, value }) => {
    if (table === BranchTable.ancestry) return movedAncestor(value, moved);
    if (table === BranchTable.consumers) return restoredConsumer(value);
    if (table !== CommonTable.meta) return value;
    return isOutboxKey(key) ? null : restoredHead({ key, value });
  };
}
