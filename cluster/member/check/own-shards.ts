import type { ActorCopies } from '#runtime/actor/actor-copies.ts';
import type { ActorStore } from '#runtime/actor/actor-store.ts';
import type { ActorId } from '#runtime/actor/ports.ts';
import { shardPathOf } from './shard-path.ts';

/** A shard that is on this member's disk, or should be. */
export interface OwnShard {
  readonly actor: ActorId;
  /** Of the cluster; undefined for a member that is alone. */
  readonly partition?: number;
  /** Its file. */
  readonly file: string;
  readonly tableNames: readonly string[];
  /**
   * Copies it as of one moment into a new folder, as {@link ActorCopies.copy}.
   *
   * @param signal gives it up
   * @throws {ServiceError} `NOT_FOUND` when it was removed meanwhile; `NOT_OWNER` when it is not this member's any more;
   *   `DATA_CORRUPTED` when it cannot be opened; `REQUEST_CANCELLED`
   */
  copy(folder: string, signal: AbortSignal): Promise<void>;
  /** Told that it does not verify. */
  damaged(): void;
}

/** What a check begins with. */
export interface FoundShards {
  readonly shards: readonly OwnShard[];
  /** Partitions of the cluster whose shards are not among them. In ascending order. */
  readonly partitionsSkipped: readonly number[];
}

/** The shards of this member, for checks. */
export interface OwnShards {
  /** Those there should be now: one that is lost is found by its copy. */
  all(): Promise<FoundShards>;
}

/** The shards of a member that runs alone. What is damaged stays as it is: nothing else has what is in it. */
export function loneShards(store: ActorStore, copies: ActorCopies): OwnShards {
  return {
    async all() {
      const actors = await store.listed();
      const shards = actors.map((actor) => ({
        actor,
        file: shardPathOf(store, actor),
        tableNames: store.tablesOf(actor),
        copy: async (folder: string) => {
          // One that is open is whole without its file, until it is closed.
          if (store.exists(actor)) store.requireFile(actor);
          await copies.copy(actor, folder);
        },
        damaged: () => {},
      }));
      return { shards, partitionsSkipped: [] };
    },
  };
}
