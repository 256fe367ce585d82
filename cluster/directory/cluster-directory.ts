import type { ActorId } from '#runtime/actor/ports.ts';
import { assert } from '#runtime/base/assert.ts';
import type { Directory, MemberAddress, MemberView, PartitionOwner } from '#runtime/directory/ports.ts';
import { partitionOf } from '#runtime/directory/partition.ts';
import type { MemberRegistry } from './member-registry.ts';
import { type Move, type Placement, placePartitions } from './placement.ts';

/** Rules for the distribution of partitions. */
export interface PlacementRules {
  /** Number of members that follow each partition. */
  readonly followers: number;
  /** Maximum number of partitions that are moved at once. */
  readonly movesMax: number;
}

/** Two followers, as many as a cluster of three has; two moves, so that most of the cluster is undisturbed. */
export const placementRules: PlacementRules = Object.freeze({ followers: 2, movesMax: 2 });

/**
 * The directory of a member of a cluster: the heartbeats of the others, and the placement of owners and followers that
 * follows from them. Members that received the same heartbeats compute the same placement. Where placements differ, two
 * members may try to open a partition, and the log accepts one of them.
 */
export class ClusterDirectory implements Directory {
  readonly self: string;
  readonly partitions: number;
  readonly #registry: MemberRegistry;
  readonly #rules: PlacementRules;
  #placement: Placement | undefined;
  #generation = -1;

  constructor(registry: MemberRegistry, self: string, partitions: number, rules = placementRules) {
    this.self = self;
    this.partitions = partitions;
    this.#registry = registry;
    this.#rules = rules;
  }

  /** The current placement. */
  get placement(): Placement {
    const { generation } = this.#registry;
    if (this.#placement === undefined || this.#generation !== generation) {
      this.#placement = this.#place();
      this.#generation = generation;
    }
    return this.#placement;
  }

  /**
   * Partitions without a known owner that this member should try to open. Before it has received all heartbeats, only
   * those for which it is the named successor: their former owner named it, and writers wait.
   */
  get vacancies(): readonly number[] {
    const { successors, isSettled } = this.#registry;
    const owners = this.#presentOwners();
    const { owners: wanted } = this.placement;
    return [...wanted.keys()].filter(
      (each) =>
        wanted[each] === this.self && !owners.has(each) && (isSettled || successors.get(each) === this.self),
    );
  }

  /** Partitions that this member should hand over, to members that are ready to take them. */
  get handovers(): readonly Move[] {
    const warm = new Map(this.members().map(({ id, warm: partitions }) => [id, partitions]));
    return this.placement.moves.filter(
      ({ from, partition, to }) => from === this.self && warm.get(to)?.includes(partition) === true,
    );
  }

  /** Partitions this member should follow. */
  get followed(): readonly number[] {
    const { followers } = this.placement;
    return [...followers.keys()].filter((each) => followers[each]?.includes(this.self) === true);
  }

  partitionOf(actor: ActorId): number {
    return partitionOf(actor, this.partitions);
  }

  ownerOf(partition: number): PartitionOwner | undefined {
    assert(partition >= 0 && partition < this.partitions, 'a partition of this cluster');
    return this.#registry.owners.get(partition);
  }

  /** Returns another present member that owns a partition. */
  otherOwnerOf(partition: number): string | undefined {
    const owner = this.ownerOf(partition);
    return owner === undefined || owner.isSelf || !this.#registry.isPresent(owner.id) ? undefined : owner.id;
  }

  followersOf(partition: number): readonly MemberAddress[] {
    assert(partition >= 0 && partition < this.partitions, 'a partition of this cluster');
    const followers = this.placement.followers[partition] as readonly string[];
    return followers.flatMap((id) => this.#registry.addressOf(id) ?? []);
  }

  members(): readonly MemberView[] {
    return this.#registry.members();
  }

  onChange(listener: () => void): () => void {
    return this.#registry.onChange(listener);
  }

  #place(): Placement {
    const members = this.members().filter(({ isSuspect }) => !isSuspect);
    return placePartitions({
      partitions: this.partitions,
      members: members.map(({ id, isDraining, warm }) => ({
        id,
        isDraining,
        isSteady: this.#registry.isSteady(id),
        resting: this.#registry.restingOf(id),
        warm: new Set(warm),
      })),
      owners: this.#presentOwners(),
      successors: this.#registry.successors,
      ...this.#rules,
    });
  }

  /** Returns whether a member reports that it cannot keep a partition at present. */
  isResting(partition: number, member: string): boolean {
    return this.#registry.restingOf(member).has(partition);
  }

  /** Returns the owners that are present. */
  #presentOwners(): Map<number, string> {
    const present = new Set(this.members().flatMap(({ id, isSuspect }) => (isSuspect ? [] : [id])));
    const owners = new Map<number, string>();
    for (const [partition, { id }] of this.#registry.owners) if (present.has(id)) owners.set(partition, id);
    return owners;
  }
}
