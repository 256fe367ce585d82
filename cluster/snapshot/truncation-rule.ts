import { SNAPSHOTS_KEPT } from './snapshot-manifest.ts';

/** Share of its size above which a log is cut without regard to the age of what goes. */
export const PRESSED_SHARE = 0.75;

/** What a cut is decided by. Sequences are of one log. */
export interface TruncationFacts {
  /** Of the oldest message that is there. */
  readonly firstSequence: number;
  /** Verified snapshots of this log that are kept, newest first. */
  readonly snapshots: readonly { readonly sequence: number; readonly member: string }[];
  /** Up to where the owner has everything on its disk; it reads nothing before that any more. */
  readonly ownerStored: number;
  /** Who ought to follow, and up to where each has everything on its disk; undefined for one that did not say. */
  readonly followers: readonly { readonly member: string; readonly stored: number | undefined }[];
  /** Of the newest message that is old enough to go; 0 where none is. */
  readonly agedSequence: number;
  /** Whether the log comes near its limit. */
  readonly isPressed: boolean;
}

/** What to do with a log. */
export interface TruncationVerdict {
  /** Everything before this goes, the record itself stays; undefined: nothing does. */
  readonly before: number | undefined;
  /** What keeps more of it, for people; undefined where nothing but its age does. */
  readonly kept: string | undefined;
}

/**
 * How much of a log may go. What goes must be
 *
 * 1. behind both kept snapshots, so that a damaged one can be replaced by the other and the log behind it;
 * 2. on the disk of the owner, and of every member that ought to follow. Members that stand before it would have to
 *    begin with a snapshot; where two snapshots of different members have it, that is good enough (R16);
 * 3. older than a configured age, unless the log comes near its limit: a log that is full refuses writes.
 *
 * Nobody else resumes from the log: histories of branches are read from their revisions.
 *
 * @see Reliability: R16
 */
export function truncation(facts: TruncationFacts): TruncationVerdict {
  const { agedSequence, firstSequence, followers, isPressed, ownerStored, snapshots } = facts;
  const oldest = snapshots[SNAPSHOTS_KEPT - 1];
  if (oldest === undefined)
    return { before: undefined, kept: `it has ${snapshots.length} of ${SNAPSHOTS_KEPT} snapshots` };
  const bounds: { readonly sequence: number; readonly what: string }[] = [
    { sequence: oldest.sequence, what: `the older snapshot ends at record ${oldest.sequence}` },
    { sequence: ownerStored, what: `the owner has stored up to record ${ownerStored}` },
  ];
  if (new Set(snapshots.map(({ member }) => member)).size < SNAPSHOTS_KEPT)
    for (const { member, stored } of followers)
      bounds.push({
        sequence: stored ?? 0,
        what:
          stored === undefined
            ? `${member} did not say what it has stored`
            : `${member} has stored up to record ${stored}`,
      });
  const tightest = bounds.reduce((least, bound) => (bound.sequence < least.sequence ? bound : least));
  const before = isPressed ? tightest.sequence : Math.min(tightest.sequence, agedSequence);
  const isAge = !isPressed && agedSequence < tightest.sequence;
  return {
    before: before > firstSequence ? before : undefined,
    kept: isAge ? undefined : tightest.what,
  };
}
