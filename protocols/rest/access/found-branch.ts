import type { ActorId } from '#runtime/actor/ports.ts';
import type { Precondition } from '#runtime/commit/behaviour.ts';
import type { Revision } from '#runtime/content/revision.ts';

/** A repository that was resolved by name. */
export interface FoundRepository {
  readonly tenant: string;
  readonly name: string;
  /** `{name}~{uid}`: the repository's part of actor ids. */
  readonly part: string;
  /** Its `repository` actor. */
  readonly actor: ActorId;
}

/** A branch that was resolved by name. */
export interface FoundBranch {
  readonly repository: FoundRepository;
  readonly name: string;
  /** Distinguishes it from earlier and later branches of the same name. */
  readonly uid: string;
  /** Its `branch` actor. */
  readonly actor: ActorId;
  /** Its `locks` actor, which is created on first use. */
  readonly locks: ActorId;
  /** The revision of the tag it was resolved by: later revisions are invisible, and writes are refused. */
  readonly taggedAt: Revision | undefined;
  /** Set if the branch was resolved from this member's replica only: its owner confirms it with the first message. */
  readonly guess: BranchGuess | undefined;
}

/** The basis of a guessed branch. */
export interface BranchGuess {
  /** Sent with each message to the branch; if it is refuted, the branch must be resolved again for {@link use}. */
  readonly precondition: Precondition;
  readonly use: BranchUse;
}

/** The intended use of a branch. */
export type BranchUse = 'read' | 'write';
