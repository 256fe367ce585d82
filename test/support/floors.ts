import { BatchDecoder } from '#cluster/replication/batch-decoder.ts';
import type { StoredMessage } from '#cluster/replication/log-stream.ts';
import type { CatalogueRow } from '#runtime/actor/catalogue/actor-catalogue.ts';
import type { ActorId } from '#runtime/actor/ports.ts';
import { assert } from '#runtime/base/assert.ts';
import { isUnder, lifecycleOf } from '#runtime/log/lifecycle-entry.ts';

/** What the disk of a member says of a partition. */
export interface StoredFloors {
  /** As it is stored. */
  readonly position: { readonly sequence: number; readonly chain: string };
  /** Of the catalogue; undefined for an actor that is not listed. */
  readonly rowOf: (actor: ActorId) => CatalogueRow | undefined;
}

/**
 * Requires what lets a member miss a shard it lost: no position is stored that is past a record whose actor has a floor
 * below it. What is read from the position on does not bring such a record back.
 *
 * @param messages of the stream, from its first one on
 * @returns how many actors that was true of; 0 also where the stream has another history than the position
 */
export function requireFloors(
  partition: number,
  messages: readonly StoredMessage[],
  { position, rowOf }: StoredFloors,
): number {
  const decoder = new BatchDecoder(partition);
  const newest = new Map<ActorId, number>();
  for (const message of messages) {
    if (message.sequence > position.sequence) break;
    const step = decoder.take(message);
    if (step.kind !== 'batch') continue;
    for (const entry of step.batch.entries) {
      const lifecycle = lifecycleOf(entry);
      if (lifecycle === undefined) newest.set(entry.actor, step.batch.sequence);
      else if (lifecycle.kind === 'fork') newest.set(entry.actor, newest.get(lifecycle.source) ?? 0);
      else for (const actor of [...newest.keys()]) if (isUnder(actor, entry.actor)) newest.delete(actor);
    }
  }
  if (decoder.fold.state.chain.toString('hex') !== position.chain) return 0;
  for (const [actor, sequence] of newest) {
    const floor = rowOf(actor)?.floor;
    assert(
      floor !== undefined && floor >= sequence,
      `the stored position is ${position.sequence}, ${actor} has record ${sequence} and its floor is ${floor}`,
    );
  }
  return newest.size;
}
