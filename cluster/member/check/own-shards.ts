import type { ActorCopies } from '#runtime/actor/actor-copies.ts';
import type { ActorStore } from '#runtime/actor/actor-store.ts';
import type { ActorId } from '#runtime/actor/ports.ts';
import { shardPathOf } from './shard-path.ts';

/** A shard that is on this member's disk. */
export interface OwnShard {
  readonly actor: ActorId;
  /** Its file. */
  readonly file: string;
  readonly tableNames: readonly string[];
  /**
   * Copies it as of one moment into a new folder, as {@link ActorCopies.copy}.
   *
   * @param signal gives it up
   * @throws {ServiceError} `NOT_FOUND` when it was removed meanwhile, or is not this member's any more; `DATA_CORRUPTED`
   *   when it cannot be opened; `REQUEST_CANCELLED`
   */
  copy(folder: string, signal: AbortSignal): Promise<void>;
  /** Told that it does not verify. */
  damaged(): void;
}

/** The shards of this member, for checks. */
export interface OwnShards {
  /** Those that are there now. */
  all(): Promise<readonly OwnShard[]>;
}

/** The shards of a member that runs alone. What is damaged stays as it is: nothing else has what is in it. */
export function loneShards(store: ActorStore, copies: ActorCopies): OwnShards {
  return {
    async all() {
      const actors = await store.all();
      return actors.map((actor) => ({
        actor,
        file: shardPathOf(store, actor),
        tableNames: store.tablesOf(actor),
        copy: async (folder) => void (await copies.copy(actor, folder)),
        damaged: () => {},
      }));
    },
  };
}
