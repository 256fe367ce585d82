import type { ActorId } from '#runtime/actor/ports.ts';

/** How to reach a member. */
export interface MemberAddress {
  /** Its name in the cluster. */
  readonly id: string;
  /** Its URL for clients, without a trailing slash. */
  readonly url: string;
}

/** The owner of a partition, as far as this member knows. */
export interface PartitionOwner extends MemberAddress {
  /** The epoch of its ownership: of two members that claim a partition, the one with the higher epoch is right. */
  readonly epoch: number;
  readonly isSelf: boolean;
}

/** What this member knows about another one. */
export interface MemberView extends MemberAddress {
  readonly isSelf: boolean;
  /** No heartbeat was received for a while. */
  readonly isSuspect: boolean;
  /** The member is shutting down and takes no new partitions. */
  readonly isDraining: boolean;
  /** Version of its software. */
  readonly version: string;
  readonly load: MemberLoad;
  /** Partitions it reports as owned. */
  readonly owned: readonly number[];
  /** Partitions it follows closely enough to take over at once. */
  readonly warm: readonly number[];
}

/** The load of a member. */
export interface MemberLoad {
  readonly requestsInFlight: number;
  readonly openActors: number;
  /** Durable changes not yet applied to the shards. */
  readonly pendingBytes: number;
}

/**
 * Which member owns which partition. The directory is advisory: it says where to send requests and which member should
 * take over. The owner is the member that appends to the log of a partition under the newest epoch, whatever the
 * directory says. Every implementation passes `test/runtime/directory/directory-conformance.ts`.
 */
export interface Directory {
  /** Id of this member. */
  readonly self: string;
  /** Number of partitions; fixed for the lifetime of a cluster. */
  readonly partitions: number;
  /** The partition of an actor, always the same. */
  partitionOf(actor: ActorId): number;
  /** The owner of a partition; undefined while it is unknown. */
  ownerOf(partition: number): PartitionOwner | undefined;
  /** Members that follow a partition, best first: the first one should take over. */
  followersOf(partition: number): readonly MemberAddress[];
  /** All members, this one included, by name. */
  members(): readonly MemberView[];
  /**
   * Calls back in a later turn of the event loop after a change.
   *
   * @returns a function that removes the listener
   */
  onChange(listener: () => void): () => void;
}
