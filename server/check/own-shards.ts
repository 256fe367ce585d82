import type { ActorCopies } from '#runtime/actor/copies/actor-copies.ts';
import type { ActorStore } from '#runtime/actor/store/actor-store.ts';
import type { ActorId } from '#runtime/actor/ports.ts';
import { shardPathOf } from './shard-path.ts';

/** A shard that is on this member's disk, or should be. */
export interface OwnShard {
  readonly actor: ActorId;
  /** Its partition; undefined for a single member. */
  readonly partition?: number;
  /** Its file. */
  readonly file: string;
  readonly tableNames: readonly string[];
  /**
   * Copies it as of one moment into a new folder, as {@link ActorCopies.copy}.
   *
   * @param signal cancels it
   * @throws {ServiceError} `NOT_FOUND` when it was removed meanwhile; `NOT_OWNER` when this member no longer has it;
   *   `DATA_CORRUPTED` when it cannot be opened; `REQUEST_CANCELLED`
   */
  copy(folder: string, signal: AbortSignal): Promise<void>;
  /** Reports that it does not verify. */
  damaged(): void;
}

/** Shards at the start of a check. */
export interface FoundShards {
  readonly shards: readonly OwnShard[];
  /** Partitions of the cluster whose shards are not included, in ascending order. */
  readonly partitionsSkipped: readonly number[];
}

/** The shards of this member, for checks. */
export interface OwnShards {
  /** Returns the shards that should exist now: a lost one is detected when it is copied. */
  all(): Promise<FoundShards>;
}

/** Returns the shards of a single member. Damaged data stays as it is, because there is no other copy. */
export function loneShards(store: ActorStore, copies: ActorCopies): OwnShards {
  return {
    async all() {
      const actors = await store.listed();
      const shards = actors.map((actor) => ({
        actor,
        file: shardPathOf(store, actor),
        tableNames: store.tablesOf(actor),
        copy: async (folder: string) => {
          // An open shard is complete without its file, until it is closed.
          if (store.exists(actor)) store.requireFile(actor);
          await copies.copy(actor, folder);
        },
        damaged: () => {},
      }));
      return { shards, partitionsSkipped: [] };
    },
  };
}
