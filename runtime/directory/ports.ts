import type { ActorId } from '#runtime/actor/ports.ts';

/** Where a member is reached. */
export interface MemberAddress {
  /** Its name in the cluster. */
  readonly id: string;
  /** Where clients reach it, without a trailing slash. */
  readonly url: string;
}

/** Who owns a partition, as far as is known here. */
export interface PartitionOwner extends MemberAddress {
  /** Under which it owns: of two who claim a partition, the one with the higher epoch is right. */
  readonly epoch: number;
  readonly isSelf: boolean;
}

/** What is known of a member. */
export interface MemberView extends MemberAddress {
  readonly isSelf: boolean;
  /** Nothing was heard of it for a while. */
  readonly isSuspect: boolean;
  /** It is on its way out and takes nothing new. */
  readonly isDraining: boolean;
  /** Version of the product it runs. */
  readonly version: string;
  readonly load: MemberLoad;
  /** Partitions it says it owns. */
  readonly owned: readonly number[];
  /** Partitions it follows closely enough to take over at once. */
  readonly warm: readonly number[];
}

/** How much a member has to do. */
export interface MemberLoad {
  readonly requestsInFlight: number;
  readonly openActors: number;
  /** Durable changes not in their shards yet. */
  readonly pendingBytes: number;
}

/**
 * Who owns which partition. It says whom to ask and who should try; it decides nothing: who appends to the log of a
 * partition under the newest epoch owns it, whatever is said here. Every implementation passes
 * `test/runtime/directory/directory-conformance.ts`.
 */
export interface Directory {
  /** The member this is. */
  readonly self: string;
  /** Number of partitions; chosen once in the life of a cluster. */
  readonly partitions: number;
  /** The partition of an actor, always the same. */
  partitionOf(actor: ActorId): number;
  /** The owner of a partition; undefined while nobody is known to be. */
  ownerOf(partition: number): PartitionOwner | undefined;
  /** Members that follow a partition, best first: the first one is to take over. */
  followersOf(partition: number): readonly MemberAddress[];
  /** All members, this one included, by name. */
  members(): readonly MemberView[];
  /**
   * Calls back in a later turn of the event loop after something changed.
   *
   * @returns ends it
   */
  onChange(listener: () => void): () => void;
}
