import type { ActorEvent } from '#runtime/commit/behaviour.ts';
import type { DefinitionChange, NodeChange, RevisionRecord } from './revision-record.ts';

/** Node changes an event carries; of a larger revision they are read from its tables, so that no event is large. */
export const EVENT_CHANGES_MAX = 1000;

/**
 * A revision is durable and the head of its branch. Field names inside changes are the wire's own.
 *
 * @see docs/interface/revisions.md#changes-for-subscribers
 */
export interface RevisionCommitted extends ActorEvent {
  readonly type: 'RevisionCommitted';
  readonly revision: string;
  /** The head it follows, `0-0` when it is the first. Whoever stands elsewhere has missed something. */
  readonly previous: string;
  readonly mergeParent: string | null;
  /** ISO 8601 time. */
  readonly timestamp: string;
  readonly actor: string;
  readonly message: string;
  readonly isSystem: boolean;
  readonly definitions: readonly DefinitionChange[];
  readonly changeCount: number;
  /** All node changes, or undefined when they are read on demand: above {@link EVENT_CHANGES_MAX}, or too large. */
  readonly changes: readonly NodeChange[] | undefined;
}

/** The head went to another revision of the branch: content is as of then. */
export interface HeadMovedAway extends ActorEvent {
  readonly type: 'HeadMoved';
  /** Where the head is now. */
  readonly revision: string;
  /** Where it was. */
  readonly previous: string;
}

/** What a branch tells subscribers; each event leads from one place of its head to the next. */
export type BranchEvent = RevisionCommitted | HeadMovedAway;

/** Where a branch stands. */
export interface BranchPosition {
  readonly head: string;
  /** The newest revision ever written; above the head after the head was moved back. */
  readonly tip: string;
}

/** Where the writer of a branch says it stands. */
export interface PublishedPosition {
  readonly head: string;
  /** The newest revision ever written; null when the writer does not know it. */
  readonly tip: string | null;
}

/**
 * Tells of a revision.
 *
 * @param changes all of its node changes; not to be changed any more. Undefined when they are too many
 */
export function revisionCommitted(
  record: RevisionRecord,
  previous: string,
  changes: readonly NodeChange[] | undefined,
): RevisionCommitted {
  return {
    type: 'RevisionCommitted',
    revision: record.revision,
    previous,
    mergeParent: record.mergeParent,
    timestamp: record.timestamp,
    actor: record.actor,
    message: record.message,
    isSystem: record.isSystem,
    definitions: record.definitions,
    changeCount: record.changeCount,
    changes: changes !== undefined && changes.length <= EVENT_CHANGES_MAX ? changes : undefined,
  };
}

/** Whether an event of an actor is one of a branch's own. */
export function isBranchEvent(event: ActorEvent): event is BranchEvent {
  return event.type === 'RevisionCommitted' || event.type === 'HeadMoved';
}
