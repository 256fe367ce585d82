import type { BranchPosition, RevisionCommitted } from '#runtime/tree/branch-events.ts';

/**
 * What a branch committed after a revision; for the engine only. Every branch actor answers it, from its revision
 * tables. Answer: {@link EventsPage}.
 */
export interface ReadEventsAfter {
  readonly type: 'ReadEventsAfter';
  /** Absent: only where the branch stands. */
  readonly after?: string;
}

/** What {@link ReadEventsAfter} answers: all of one moment. */
export interface EventsPage extends BranchPosition {
  /**
   * False when the head does not continue that revision: it is no revision of the branch, or the head was moved
   * back before it or to another line. Then there are no events.
   */
  readonly isContinued: boolean;
  /** Oldest first; the first follows the revision asked for, each the one before it. */
  readonly events: readonly RevisionCommitted[];
  /** Whether they lead to the head; otherwise ask again from the last one. */
  readonly isComplete: boolean;
}
