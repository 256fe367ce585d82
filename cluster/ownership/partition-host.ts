import type { ReplicaStore } from '#runtime/commit/replica.ts';
import type { ServiceError } from '#runtime/errors/service-error.ts';
import type { ShardFiles } from '#cluster/replication/shard-positions.ts';

/** The actors of a partition on the disk of a member. */
export interface PartitionStore extends ReplicaStore, ShardFiles {
  /** Removes the remains of interrupted work. To be called while no other code uses the store. */
  sweep(): Promise<void>;
  /**
   * Verifies the shards that an earlier process had in use when it ended. To be called once, before anything is opened.
   */
  beginNoting?(): Promise<void>;
  /**
   * Sets every actor and the catalogue aside, to be rebuilt from the log. To be called while no other code uses the
   * store.
   */
  clear(): Promise<void>;
  /** Whether there is space for {@link clear}; undefined when it needs none. */
  readonly canClear?: boolean;
  /** The content was replaced: all cached knowledge of it is invalid. */
  replaced?(): void;
  /**
   * Sets whether damaged actors are refused individually, so that `giveUp` continues without them. Refused actors stay
   * refused until they are removed, or replaced.
   */
  refuseAlone?(isAlone: boolean): void;
  /** Refused actors, and the reasons. */
  readonly refused?: ReadonlyMap<string, ServiceError>;
  /** Removes data that was set aside or removed and whose time is over. */
  purge?(): Promise<void>;
}

/** Serves the actors of a partition. */
export interface PartitionHost {
  /** Answers or refuses the waiting commands; accepts no more writes. */
  drain(): Promise<void>;
  /**
   * Applies durable records and closes the shards.
   *
   * @param readsMs time for completing replies under way, in milliseconds; `signal` ends them earlier
   */
  close(readsMs?: number, signal?: AbortSignal): Promise<void>;
}
