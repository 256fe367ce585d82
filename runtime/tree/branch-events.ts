import type { ActorEvent } from '#runtime/commit/behaviour.ts';
import type { DefinitionChange, NodeChange, RevisionRecord } from './revision-record.ts';

/** Upper limit of node changes in one event. Changes of a larger revision are read from its tables. */
export const EVENT_CHANGES_MAX = 1000;

/**
 * A revision is durable and is the head of its branch. Field names inside changes are those of the wire format.
 *
 * @see docs/interface/revisions.md#changes-for-subscribers
 */
export interface RevisionCommitted extends ActorEvent {
  readonly type: 'RevisionCommitted';
  readonly revision: string;
  /** The head before it, `0-0` for the first revision. A subscriber at another revision has missed events. */
  readonly previous: string;
  readonly mergeParent: string | null;
  /** ISO 8601 time. */
  readonly timestamp: string;
  readonly actor: string;
  readonly message: string;
  readonly isSystem: boolean;
  readonly definitions: readonly DefinitionChange[];
  readonly changeCount: number;
  /** All node changes; undefined when they are read on demand: above {@link EVENT_CHANGES_MAX}, or too large. */
  readonly changes: readonly NodeChange[] | undefined;
}

/** The head was moved to another revision of the branch, and the content is as of that revision. */
export interface HeadMovedAway extends ActorEvent {
  readonly type: 'HeadMoved';
  /** The head after the move. */
  readonly revision: string;
  /** The head before the move. */
  readonly previous: string;
}

/** An event of a branch for subscribers. Each event leads from one head to the next. */
export type BranchEvent = RevisionCommitted | HeadMovedAway;

/** The position of a branch. */
export interface BranchPosition {
  readonly head: string;
  /** The newest revision ever written; above the head after the head was moved back. */
  readonly tip: string;
}

/** The position that the writer of a branch published. */
export interface PublishedPosition {
  readonly head: string;
  /** The newest revision ever written; null when the writer does not know it. */
  readonly tip: string | null;
}

/**
 * Creates the event of a revision.
 *
 * @param changes all of its node changes; must not be modified afterwards. Undefined when they are too many
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

/** Whether an event of an actor is a branch event. */
export function isBranchEvent(event: ActorEvent): event is BranchEvent {
  return event.type === 'RevisionCommitted' || event.type === 'HeadMoved';
}

/** Property indexes of a branch have rows to be added or removed in the background. */
export interface IndexesPending extends ActorEvent {
  readonly type: 'IndexesPending';
  /** The revision that made them pending: it identifies the work. */
  readonly since: string;
}

/** Creates the event of pending indexes. */
export function indexesPending(since: string): IndexesPending {
  return { type: 'IndexesPending', since };
}

/** Whether an event of an actor is {@link IndexesPending}. */
export function isIndexesPending(event: ActorEvent): event is IndexesPending {
  return event.type === 'IndexesPending';
}
