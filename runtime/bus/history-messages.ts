import type { BranchPosition, RevisionCommitted } from '#runtime/tree/branch-events.ts';

/**
 * Reads the revisions a branch committed after a given one; internal to the engine. Every branch actor answers it from
 * its revision tables. Answer: {@link EventsPage}.
 */
export interface ReadEventsAfter {
  readonly type: 'ReadEventsAfter';
  /** Absent: only the present position of the branch. */
  readonly after?: string;
}

/** The answer to {@link ReadEventsAfter}: a consistent snapshot. */
export interface EventsPage extends BranchPosition {
  /**
   * False when the head does not continue the requested revision: the revision does not belong to the branch, or the
   * head was moved back before it or to another line. Then there are no events.
   */
  readonly isContinued: boolean;
  /** Oldest first. The first event follows the requested revision, each further one follows the one before it. */
  readonly events: readonly RevisionCommitted[];
  /** Whether the events lead to the head; otherwise the next request starts after the last one. */
  readonly isComplete: boolean;
}
