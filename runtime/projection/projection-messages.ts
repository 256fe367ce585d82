/*
 * Messages to branches about their projections, for administrators.
 */

/** Builds a projection, anew where the branch has it already. Result: undefined. */
export interface BuildProjection {
  readonly type: 'BuildProjection';
  readonly name: string;
}

/**
 * Drops a projection: it ends at once, and its rows are removed in several commits. Result: whether no rows are left;
 * otherwise the command has to be repeated.
 */
export interface DropProjection {
  readonly type: 'DropProjection';
  readonly name: string;
}

/** How far a projection is. */
export interface ProjectionStatus {
  /**
   * - `none`: the branch does not have it;
   * - `building`: its rows are not those of a state yet;
   * - `following`: it takes in what the feed tells;
   * - `failed`: as `building`, and the last attempt to go on failed.
   */
  readonly state: 'none' | 'building' | 'following' | 'failed';
  /** The revision whose content its rows follow from. Null: of none, as within a commit of which it has a part. */
  readonly revision: string | null;
  /** Commits of the branch that it has not taken in completely. Null while it is built. */
  readonly lag: number | null;
  /** The part of the nodes that the build has taken in, from 0 to 1. Null where it follows. */
  readonly progress: number | null;
  /** Why it failed. */
  readonly failure: string | null;
}

/** Commands of a branch about its projections. */
export type ProjectionCommand = BuildProjection | DropProjection;
