import type { ActorId } from '#runtime/actor/ports.ts';
import { compareRevisions, parseRevision, type Revision, revisionZero } from '#runtime/content/revision.ts';
import type { BranchEvent, BranchPosition } from '#runtime/tree/branch-events.ts';
import type { BranchReset, BusItem } from './ports.ts';

/** Memory of an event beside its texts, in bytes. */
const EVENT_BYTES = 512;

/** Memory of a node change beside its texts, in bytes. */
const CHANGE_BYTES = 160;

/** An item with what handing it out needs; one for all who are told it. */
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

/** About how much memory an event takes. Cost follows its changes. */
export function eventBytes(event: BranchEvent | BranchReset): number {
  if (event.type !== 'RevisionCommitted') return EVENT_BYTES;
  let bytes = EVENT_BYTES + event.message.length + event.actor.length;
  for (const { node_id, path } of event.changes ?? []) bytes += CHANGE_BYTES + node_id.length + path.length;
  return bytes + event.definitions.length * CHANGE_BYTES;
}

/** How far somebody has been told. */
export interface Place {
  /** Where the last item led. */
  readonly at: string;
  /** Every revision up to here is told, or belongs to what a head that was moved back left behind. */
  readonly tip: Revision;
}

/** The place of one who knows that a branch stands here. */
export function placeAt({ head, tip }: BranchPosition): Place {
  return { at: head, tip: parseRevision(tip) };
}

/** The place of one who knows a revision and nothing else. */
export function placeAfter(revision: string): Place {
  return { at: revision, tip: revisionZero };
}

/** The place an event starts from. */
export function placeBefore({ event }: Envelope): Place {
  return placeAfter(event.type === 'Reset' ? event.revision : event.previous);
}

/** What an item is to somebody: the next thing to tell, nothing new, or a sign that something is missing. */
export type Step = 'next' | 'known' | 'gap';

/**
 * Where an item belongs. Revisions of a branch only rise, also when its head was moved back, so one that is not
 * above all before is never new. A move of the head to where somebody stands changes nothing for them.
 */
export function stepOf(place: Place, { event, revision }: Envelope): Step {
  if (event.type === 'RevisionCommitted') {
    if (compareRevisions(revision, place.tip) <= 0) return 'known';
    return event.previous === place.at ? 'next' : 'gap';
  }
  if (event.revision === place.at) return 'known';
  return event.type === 'HeadMoved' && event.previous === place.at ? 'next' : 'gap';
}

/** The place behind an item that was next. */
export function placeBehind(place: Place, { event, revision }: Envelope): Place {
  return { at: event.revision, tip: event.type === 'RevisionCommitted' ? revision : place.tip };
}
