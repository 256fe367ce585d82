import type { ActorId } from '#runtime/actor/ports.ts';
import type { Precondition } from '#runtime/commit/behaviour.ts';
import type { Revision } from '#runtime/content/revision.ts';

/** A repository that was looked up by name. */
export interface FoundRepository {
  readonly tenant: string;
  readonly name: string;
  /** `{name}~{uid}`: the part of actor ids. */
  readonly part: string;
  /** Its `repository` actor. */
  readonly actor: ActorId;
}

/** A branch that was looked up by name. */
export interface FoundBranch {
  readonly repository: FoundRepository;
  readonly name: string;
  /** Tells it from earlier and later ones of its name. */
  readonly uid: string;
  /** Its `branch` actor. */
  readonly actor: ActorId;
  /** Its `locks` actor, which exists from the first use on. */
  readonly locks: ActorId;
  /** The revision of the tag it was looked up by: no later one is seen, and nothing is written. */
  readonly taggedAt: Revision | undefined;
  /** Set where it is the branch of that name as far as this member knows: its owner confirms it with the first message. */
  readonly guess: BranchGuess | undefined;
}

/** What a branch is guessed by. */
export interface BranchGuess {
  /** Goes with each message to the branch; where it is refuted, the branch is to be looked up for {@link use}. */
  readonly precondition: Precondition;
  readonly use: BranchUse;
}

/** What somebody is going to do with a branch. */
export type BranchUse = 'read' | 'write';
