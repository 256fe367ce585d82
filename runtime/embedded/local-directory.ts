import type { ActorId } from '#runtime/actor/ports.ts';
import type {
  Directory,
  MemberAddress,
  MemberLoad,
  MemberView,
  PartitionOwner,
} from '#runtime/directory/ports.ts';
import { partitionOf } from '#runtime/directory/partition.ts';

/** The address and description of a single process. */
export interface LocalMember extends MemberAddress {
  readonly version: string;
  readonly load: () => MemberLoad;
}

/** The directory of a single process, which owns the only partition. */
export class LocalDirectory implements Directory {
  readonly partitions = 1;
  readonly #member: LocalMember;

  constructor(member: LocalMember) {
    this.#member = member;
  }

  get self(): string {
    return this.#member.id;
  }

  partitionOf(actor: ActorId): number {
    return partitionOf(actor, this.partitions);
  }

  ownerOf(): PartitionOwner {
    const { id, url } = this.#member;
    return { id, url, epoch: 1, isSelf: true };
  }

  followersOf(): readonly MemberAddress[] {
    return [];
  }

  members(): readonly MemberView[] {
    const { id, load, url, version } = this.#member;
    const state = { isSelf: true, isSuspect: false, isDraining: false };
    return [{ id, url, version, ...state, load: load(), owned: [0], warm: [] }];
  }

  /** The directory never changes. */
  onChange(): () => void {
    return () => {};
  }
}
