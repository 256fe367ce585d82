import { join } from 'node:path';
import type { ActorStore } from '#runtime/actor/store/actor-store.ts';
import type { ActorId } from '#runtime/actor/ports.ts';

/** Name of the file of a shard. */
const DATA_FILE = 'data.mdb';

/** Returns the path of an actor's file. */
export function shardPathOf(store: ActorStore, actor: ActorId): string {
  return join(store.folders.of(actor), DATA_FILE);
}
