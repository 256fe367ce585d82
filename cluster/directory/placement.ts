import { assert } from '#runtime/base/assert.ts';
import { stableHash } from '#runtime/base/stable-hash.ts';

/** A present member. */
export interface PlacedMember {
  readonly id: string;
  /** It hands over all its partitions. */
  readonly isDraining: boolean;
  /** It has been present without a break for a while: only then do partitions of healthy members move to it. */
  readonly isSteady: boolean;
  /** Partitions it cannot take at present: it gets none of them unless there is no other member. */
  readonly resting: ReadonlySet<number>;
  /** Partitions it follows closely enough to take over at once. */
  readonly warm: ReadonlySet<number>;
}

/** Inputs of a placement. */
export interface PlacementInput {
  /** Number of partitions. */
  readonly partitions: number;
  /** The present members, in any order. */
  readonly members: readonly PlacedMember[];
  /** Owner of each partition; members that are not present do not count. */
  readonly owners: ReadonlyMap<number, string>;
  /** Named successors for partitions that were just given up. */
  readonly successors: ReadonlyMap<number, string>;
  /** Number of members that follow each partition. */
  readonly followers: number;
  /** Maximum number of partitions that move at once. */
  readonly movesMax: number;
}

/** A partition that is to move from its owner to another member, when that one is ready. */
export interface Move {
  readonly partition: number;
  readonly from: string;
  readonly to: string;
}

/** Owners, followers and moves. Arrays are by partition. */
export interface Placement {
  /** The member that owns it and keeps it, or that should try to; undefined when there is none. */
  readonly owners: readonly (string | undefined)[];
  /** The members that should follow it, the preferred successor first; the target of a move is among them. */
  readonly followers: readonly (readonly string[])[];
  /** Planned hand-overs, the most urgent first. */
  readonly moves: readonly Move[];
}

/**
 * Orders members by their claim to a partition, best first (rendezvous hashing). A member that joins or leaves does not
 * change the order of the others, and each member is first for about as many partitions.
 */
export function rendezvousOrder(partition: number, members: readonly string[]): string[] {
  const scores = new Map(members.map((member) => [member, stableHash(`${partition}/${member}`)]));
  const scoreOf = (member: string): number => scores.get(member) as number;
  return [...members].sort((a, b) => scoreOf(b) - scoreOf(a) || (a < b ? -1 : 1));
}

/**
 * Decides which members should own and follow each partition. It is a pure function: the same input gives the same
 * result. Rules, in this order:
 *
 * 1. A healthy owner keeps its partition.
 * 2. A partition without an owner goes to the member that its last owner named, else to one that follows it closely,
 *   else to one of its followers. Of several members the one with the fewest partitions takes it. A member that
 *   reports that it cannot take the partition is skipped, even if it was named.
 * 3. The partitions of a draining member are handed over in the same way.
 * 4. While one member has at least two partitions more than another, one partition moves, a few at a time; but not
 *   while any partition has no owner. A member that is not heard may be back in a moment, and nothing should have
 *   moved for it.
 *
 * All members count alike, whatever their load: a busy member should not also be busy with moving partitions.
 */
export function placePartitions(input: PlacementInput): Placement {
  const draft = new Draft(input);
  draft.keep();
  draft.adopt();
  draft.drain();
  draft.balance();
  return draft.placement();
}

class Draft {
  readonly #input: PlacementInput;
  readonly #byId: ReadonlyMap<string, PlacedMember>;
  /** The members that may get partitions, by name. */
  readonly #able: readonly PlacedMember[];
  /** Members by partition, best first. */
  readonly #order: readonly (readonly string[])[];
  readonly #load = new Map<string, number>();
  readonly #owners: (string | undefined)[];
  readonly #moves = new Map<number, Move>();
  #hasVacancy = false;

  constructor(input: PlacementInput) {
    assert(input.partitions >= 1, 'a cluster has partitions');
    this.#input = input;
    const members = [...input.members].sort((a, b) => (a.id < b.id ? -1 : 1));
    const staying = members.filter(({ isDraining }) => !isDraining);
    // When all members are draining, one of them must have it.
    this.#able = staying.length > 0 ? staying : members;
    this.#byId = new Map(members.map((member) => [member.id, member]));
    const ids = this.#able.map(({ id }) => id);
    this.#order = Array.from({ length: input.partitions }, (_, partition) => rendezvousOrder(partition, ids));
    for (const { id } of members) this.#load.set(id, 0);
    this.#owners = Array.from({ length: input.partitions }, () => undefined);
  }

  /** Rule 1. */
  keep(): void {
    for (const [partition, owner] of this.#input.owners) {
      if (partition < this.#input.partitions && this.#load.has(owner)) this.#give(partition, owner);
    }
  }

  /** Rule 2. */
  adopt(): void {
    for (let partition = 0; partition < this.#input.partitions; partition++) {
      if (this.#owners[partition] !== undefined) continue;
      this.#hasVacancy = true;
      const named = this.#input.successors.get(partition);
      const isFit = named !== undefined && this.#load.has(named) && !this.#rests(named, partition);
      const successor = isFit ? named : this.#successorOf(partition);
      if (successor !== undefined) this.#give(partition, successor);
    }
  }

  /** Rule 3. */
  drain(): void {
    const isStaying = new Set(this.#able.map(({ id }) => id));
    for (const [partition, owner] of this.#owners.entries()) {
      if (owner === undefined || isStaying.has(owner)) continue;
      const successor = this.#successorOf(partition);
      if (successor !== undefined) this.#move(partition, owner, successor);
    }
    // The others wait for their turn, and already count as moved.
    for (const partition of [...this.#moves.keys()].slice(this.#input.movesMax))
      this.#moves.delete(partition);
  }

  /** Rule 4. */
  balance(): void {
    while (!this.#hasVacancy && this.#moves.size < this.#input.movesMax) {
      const least = this.#able.filter(({ isSteady }) => isSteady).reduce(lessLoaded(this.#load), undefined);
      if (least === undefined) return;
      const most = this.#able.reduce(moreLoaded(this.#load), undefined) as PlacedMember;
      if (this.#loadOf(most.id) - this.#loadOf(least.id) < 2) return;
      const partition = this.#bestOf(most.id, least.id);
      if (partition === undefined) return;
      this.#move(partition, most.id, least.id);
    }
  }

  placement(): Placement {
    const followers = this.#owners.map((owner, partition) => {
      const to = this.#moves.get(partition)?.to;
      const others = (this.#order[partition] as readonly string[]).filter((id) => id !== owner && id !== to);
      // A member that cannot take the partition over is a follower only when there is no other.
      const fit = others.filter((id) => !this.#rests(id, partition));
      const rest = others.filter((id) => this.#rests(id, partition));
      return [...(to === undefined ? [] : [to]), ...fit, ...rest].slice(0, this.#input.followers);
    });
    return { owners: this.#owners, followers, moves: [...this.#moves.values()] };
  }

  /**
   * Returns the member that takes a partition over: of the members that follow it closely the one with the fewest
   * partitions, else likewise of its followers. A member without its data downloads a snapshot first; writers wait
   * meanwhile.
   */
  #successorOf(partition: number): string | undefined {
    const owner = this.#input.owners.get(partition);
    const order = (this.#order[partition] as readonly string[]).filter((id) => id !== owner);
    const fit = order.filter((id) => !this.#rests(id, partition));
    const warm = fit.filter((id) => this.#byId.get(id)?.warm.has(partition));
    const followers = (fit.length > 0 ? fit : order).slice(0, Math.max(1, this.#input.followers));
    return (warm.length > 0 ? warm : followers).reduce<string | undefined>(
      (best, id) => (best === undefined || this.#loadOf(id) < this.#loadOf(best) ? id : best),
      undefined,
    );
  }

  /** Returns a partition of one member to which another has the best claim; undefined when all are moving. */
  #bestOf(from: string, to: string): number | undefined {
    let best: number | undefined;
    let bestRank = Number.POSITIVE_INFINITY;
    for (const [partition, owner] of this.#owners.entries()) {
      if (owner !== from || this.#moves.has(partition) || this.#rests(to, partition)) continue;
      const rank = (this.#order[partition] as readonly string[]).indexOf(to);
      if (rank < bestRank) {
        best = partition;
        bestRank = rank;
      }
    }
    return best;
  }

  #rests(member: string, partition: number): boolean {
    return this.#byId.get(member)?.resting.has(partition) === true;
  }

  #give(partition: number, owner: string): void {
    this.#owners[partition] = owner;
    this.#load.set(owner, this.#loadOf(owner) + 1);
  }

  #move(partition: number, from: string, to: string): void {
    this.#moves.set(partition, { partition, from, to });
    this.#load.set(from, this.#loadOf(from) - 1);
    this.#load.set(to, this.#loadOf(to) + 1);
  }

  #loadOf(member: string): number {
    return this.#load.get(member) ?? 0;
  }
}

type Choose = (best: PlacedMember | undefined, member: PlacedMember) => PlacedMember;

/** Returns the member with the fewest partitions; of several the first one by name. */
function lessLoaded(load: ReadonlyMap<string, number>): Choose {
  return (best, member) =>
    best === undefined || (load.get(member.id) ?? 0) < (load.get(best.id) ?? 0) ? member : best;
}

/** Returns the member with the most partitions; of several the first one by name. */
function moreLoaded(load: ReadonlyMap<string, number>): Choose {
  return (best, member) =>
    best === undefined || (load.get(member.id) ?? 0) > (load.get(best.id) ?? 0) ? member : best;
}
