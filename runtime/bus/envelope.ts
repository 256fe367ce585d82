import type { ActorId } from '#runtime/actor/ports.ts';
import { compareRevisions, parseRevision, type Revision, revisionZero } from '#runtime/content/revision.ts';
import type { BranchEvent, BranchPosition } from '#runtime/tree/branch-events.ts';
import type { BranchReset, BusItem } from './ports.ts';

/** Memory of an event without its texts, in bytes. */
const EVENT_BYTES = 512;

/** Memory of a node change without its texts, in bytes. */
const CHANGE_BYTES = 160;

/** An item with the data its delivery needs; shared by all receivers. */
export interface Envelope extends BusItem {
  /** {@link BusItem.event}'s `revision`. */
  readonly revision: Revision;
  /** Estimated memory. */
  readonly bytes: number;
}

/** Puts an event into an envelope. @throws {ServiceError} `INVALID_REVISION_NUMBER` */
export function envelopeOf(branch: ActorId, event: BranchEvent | BranchReset): Envelope {
  return { branch, event, revision: parseRevision(event.revision), bytes: eventBytes(event) };
}

/** Estimated memory of an event. Cost follows its changes. */
export function eventBytes(event: BranchEvent | BranchReset): number {
  if (event.type !== 'RevisionCommitted') return EVENT_BYTES;
  let bytes = EVENT_BYTES + event.message.length + event.actor.length;
  for (const { node_id, path } of event.changes ?? []) bytes += CHANGE_BYTES + node_id.length + path.length;
  return bytes + event.definitions.length * CHANGE_BYTES;
}

/** The position of a receiver. */
export interface Place {
  /** The revision the last item led to. */
  readonly at: string;
  /** Every revision up to here was delivered, or is on a line left behind when the head was moved back. */
  readonly tip: Revision;
}

/** The position of a receiver that knows the present position of the branch. */
export function placeAt({ head, tip }: BranchPosition): Place {
  return { at: head, tip: parseRevision(tip) };
}

/** The position of a receiver that knows a revision only. */
export function placeAfter(revision: string): Place {
  return { at: revision, tip: revisionZero };
}

/** The position an event starts from. */
export function placeBefore({ event }: Envelope): Place {
  return placeAfter(event.type === 'Reset' ? event.revision : event.previous);
}

/** An item relative to a position: the next one to deliver, already known, or evidence of a gap. */
export type Step = 'next' | 'known' | 'gap';

/**
 * Compares an item with a position. Revisions of a branch only rise, also after its head was moved back, so an item
 * that is not above all earlier ones is never new. A head move to the receiver's own position changes nothing for it.
 */
export function stepOf(place: Place, { event, revision }: Envelope): Step {
  if (event.type === 'RevisionCommitted') {
    if (compareRevisions(revision, place.tip) <= 0) return 'known';
    return event.previous === place.at ? 'next' : 'gap';
  }
  if (event.revision === place.at) return 'known';
  return event.type === 'HeadMoved' && event.previous === place.at ? 'next' : 'gap';
}

/** The position after a `next` item. */
export function placeBehind(place: Place, { event, revision }: Envelope): Place {
  return { at: event.revision, tip: event.type === 'RevisionCommitted' ? revision : place.tip };
}
