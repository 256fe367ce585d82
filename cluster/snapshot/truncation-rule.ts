import { SNAPSHOTS_KEPT } from './snapshot-manifest.ts';

/** Fill level above which a log is truncated whatever the age of its records. */
export const PRESSED_SHARE = 0.75;

/** Inputs of the decision. Sequences are of one log. */
export interface TruncationFacts {
  /** Sequence of the oldest message. */
  readonly firstSequence: number;
  /** Verified snapshots of this log that are kept, newest first. */
  readonly snapshots: readonly { readonly sequence: number; readonly member: string }[];
  /** Position up to which the owner has everything on its disk; it reads no earlier records any more. */
  readonly ownerStored: number;
  /** Members that should follow, and the stored position of each; undefined for one that did not answer. */
  readonly followers: readonly { readonly member: string; readonly stored: number | undefined }[];
  /** Sequence of the newest message that is old enough; 0 when none is. */
  readonly agedSequence: number;
  /** Whether the log is near its limit. */
  readonly isPressed: boolean;
}

/** Decision about a log. */
export interface TruncationVerdict {
  /** Everything before this record is removed, the record itself stays; undefined to remove nothing. */
  readonly before: number | undefined;
  /** What keeps more of the log, for operators; undefined when only its age does. */
  readonly kept: string | undefined;
}

/**
 * Decides how much of a log may be truncated. Removed records must be
 *
 * 1. before both kept snapshots, so that a damaged one can be replaced by the other and the log after it;
 * 2. on the disk of the owner, and of every member that should follow. Members whose position is earlier would have to
 *    start from a snapshot; when two snapshots of different members have the records, that is acceptable;
 * 3. older than a configured age, unless the log is near its limit: a full log refuses writes.
 *
 * No other reader resumes from the log: histories of branches are read from their revisions.
 *
 * @see docs/partition-log.md#snapshots-and-cutting-the-log
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
            ? `${member} did not report its stored position`
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
