import type { ReplicaStore } from '#runtime/commit/replica.ts';
import type { ServiceError } from '#runtime/errors/service-error.ts';
import type { ShardFiles } from './shard-positions.ts';

/** The actors of a partition on the disk of a member. */
export interface PartitionStore extends ReplicaStore, ShardFiles {
  /** Removes what interrupted work left. To be called while nothing else uses the store. */
  sweep(): Promise<void>;
  /** Verifies the shards an earlier process had in hand when it ended. Before anything is opened; once. */
  beginNoting?(): Promise<void>;
  /** Puts every actor away, and the catalogue, to be made again of the log. To be called while nothing else uses the store. */
  clear(): Promise<void>;
  /** Whether there is room for {@link clear}; undefined: it needs none. */
  readonly canClear?: boolean;
  /** What is there was replaced by something else: nothing that was known of it holds any more. */
  replaced?(): void;
  /**
   * Whether actors that are met damaged are refused from now on, each for itself, so that `giveUp` says to go on without
   * them. Those that are refused stay so until they are removed, or replaced.
   */
  refuseAlone?(isAlone: boolean): void;
  /** Actors that are refused, and why. */
  readonly refused?: ReadonlyMap<string, ServiceError>;
  /** Removes what was put away or removed before and is kept no longer. */
  purge?(): Promise<void>;
}

/** What serves the actors of a partition. */
export interface PartitionHost {
  /** Answers or refuses what waits; takes nothing more that writes. */
  drain(): Promise<void>;
  /**
   * Applies what is durable and closes the shards.
   *
   * @param readsMs time answers under way have to be told to their end, in milliseconds; `signal` cuts them short
   */
  close(readsMs?: number, signal?: AbortSignal): Promise<void>;
}
