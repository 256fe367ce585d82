import type { ActorCopies } from '#runtime/actor/actor-copies.ts';
import type { ActorStore } from '#runtime/actor/actor-store.ts';
import type { ActorId } from '#runtime/actor/ports.ts';
import { shardPathOf } from './shard-path.ts';

/** A shard that is on this member's disk, or should be. */
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
  /** Those there should be now: one that is lost is found by its copy. */
  all(): Promise<readonly OwnShard[]>;
}

/** The shards of a member that runs alone. What is damaged stays as it is: nothing else has what is in it. */
export function loneShards(store: ActorStore, copies: ActorCopies): OwnShards {
  return {
    async all() {
      const actors = await store.listed();
      return actors.map((actor) => ({
        actor,
        file: shardPathOf(store, actor),
        tableNames: store.tablesOf(actor),
        copy: async (folder) => {
          // One that is open is whole without its file, until it is closed.
          if (store.exists(actor)) store.requireFile(actor);
          await copies.copy(actor, folder);
        },
        damaged: () => {},
      }));
    },
  };
}
