import { CommonTable, type Turn } from '#runtime/commit/behaviour.ts';
import {
  compareRevisions,
  formatRevision,
  parseRevision,
  type Revision,
  revisionMax,
  revisionZero,
} from '#runtime/content/revision.ts';
import { decodeJsonRow, encodeJsonRow } from '#runtime/shard/json-row.ts';
import type { TableReader } from '#runtime/shard/shard.ts';

/**
 * A part of the history of a branch that does not continue the one before it. It begins with the first write after the
 * head was moved back, or where a fork left its source.
 */
export interface Line {
  /** First revision of the line. Every revision from here to the next line is on this one. */
  readonly start: Revision;
  /** The revision the line continues. */
  readonly parent: Revision;
  /** Rows of the line up to here belong to the source of a fork, which wrote them after the fork. */
  readonly hiddenUpTo?: Revision;
  /** A fast-forward made some of the hidden revisions part of this branch: those it has a record of. */
  readonly isEntered?: true;
}

/** Revisions up to `upTo` were made on another branch, before a fork. */
export interface Inherited {
  readonly branch: string;
  readonly upTo: Revision;
}

/** An interval of revisions, both ends included. */
export interface Interval {
  readonly from: Revision;
  readonly to: Revision;
  /** Only revisions the branch has a record of belong to it; the others are another branch's. */
  readonly isSparse?: true;
}

type StoredLine = readonly [start: string, parent: string, hiddenUpTo: string | null, isEntered?: true];

interface StoredLineage {
  readonly lines: readonly StoredLine[];
  readonly inherited: readonly (readonly [branch: string, upTo: string])[];
}

const LINEAGE_KEY = 'lineage';

/**
 * The revisions a state consists of. Revisions rise over the whole life of a branch. After its head was moved back and
 * written to, the revisions in between form a line of their own: they stay readable and are not part of later states.
 *
 * Most branches have one line, and then a state consists of everything up to its revision.
 */
export class Lineage {
  /** Ordered by start. */
  readonly lines: readonly Line[];
  /** Ordered by end. */
  readonly inherited: readonly Inherited[];

  constructor(lines: readonly Line[], inherited: readonly Inherited[]) {
    this.lines = lines;
    this.inherited = inherited;
  }

  /** The revisions a state consists of, newest first, for `StateAt`. Cost follows the number of lines. */
  intervals(at: Revision): readonly Interval[] {
    const intervals: Interval[] = [];
    let to = at;
    for (let index = this.lines.length - 1; index >= 0; index--) {
      const line = this.lines[index] as Line;
      if (compareRevisions(line.start, to) > 0) continue;
      const { hiddenUpTo, start } = line;
      const from = hiddenUpTo === undefined ? start : successor(hiddenUpTo);
      if (compareRevisions(from, to) <= 0) intervals.push({ from, to });
      if (hiddenUpTo !== undefined && line.isEntered === true) {
        const end = compareRevisions(hiddenUpTo, to) < 0 ? hiddenUpTo : to;
        intervals.push({ from: start, to: end, isSparse: true });
      }
      to = line.parent;
    }
    intervals.push({ from: revisionZero, to });
    return intervals;
  }

  /** Whether a revision belongs to the source of a fork, which wrote it after the fork. */
  hides(revision: Revision): boolean {
    return this.lines.some(
      ({ hiddenUpTo, start }) =>
        hiddenUpTo !== undefined &&
        compareRevisions(start, revision) <= 0 &&
        compareRevisions(revision, hiddenUpTo) <= 0,
    );
  }

  /** Intervals of which every row belongs to the source of a fork, which wrote it after the fork. */
  get foreign(): readonly Interval[] {
    return this.lines.flatMap(({ hiddenUpTo, isEntered, start }) =>
      hiddenUpTo === undefined || isEntered === true ? [] : [{ from: start, to: hiddenUpTo }],
    );
  }

  /** Whether a revision is in one of the {@link foreign} intervals: then its rows are orphaned versions. */
  isForeign(revision: Revision): boolean {
    return this.lines.some(
      ({ hiddenUpTo, isEntered, start }) =>
        hiddenUpTo !== undefined &&
        isEntered !== true &&
        compareRevisions(start, revision) <= 0 &&
        compareRevisions(revision, hiddenUpTo) <= 0,
    );
  }

  /**
   * The lineage after a hidden revision became one of this branch. Orphaned versions of the source in that line must have been
   * removed before, because from now on a record means that its revision belongs to this branch.
   */
  entered(revision: Revision): Lineage {
    if (!this.hides(revision)) return this;
    const lines = this.lines.map((line) =>
      new Lineage([line], []).hides(revision) ? { ...line, isEntered: true as const } : line,
    );
    return new Lineage(lines, this.inherited);
  }

  /** The branch a revision was made on; undefined for this one. */
  branchOf(revision: Revision): string | undefined {
    return this.inherited.find(({ upTo }) => compareRevisions(revision, upTo) <= 0)?.branch;
  }
}

/** The smallest revision above another one. */
export function successor({ ms, counter }: Revision): Revision {
  return counter < revisionMax.counter ? { ms, counter: counter + 1 } : { ms: ms + 1, counter: 0 };
}

const straight = new Lineage([], []);

/** The lineage read last: every read of a revision needs it, and it rarely changes. */
let remembered: { readonly bytes: Uint8Array; readonly lineage: Lineage } | undefined;

/** The lineage of a branch. */
export function readLineage(reader: TableReader): Lineage {
  const bytes = reader.get(CommonTable.meta, LINEAGE_KEY);
  if (bytes === undefined) return straight;
  if (remembered === undefined || Buffer.compare(remembered.bytes, bytes) !== 0) {
    remembered = { bytes: Uint8Array.from(bytes), lineage: decodeLineage(bytes) };
  }
  return remembered.lineage;
}

function decodeLineage(bytes: Uint8Array): Lineage {
  const { lines, inherited } = decodeJsonRow(bytes) as StoredLineage;
  return new Lineage(
    lines.map(([start, parent, hiddenUpTo, isEntered]) => ({
      start: parseRevision(start),
      parent: parseRevision(parent),
      ...(hiddenUpTo === null ? {} : { hiddenUpTo: parseRevision(hiddenUpTo) }),
      ...(isEntered === true ? { isEntered } : {}),
    })),
    inherited.map(([branch, upTo]) => ({ branch, upTo: parseRevision(upTo) })),
  );
}

/** Stores the lineage of a branch. */
export function writeLineage(turn: Turn, lineage: Lineage): void {
  const stored: StoredLineage = {
    lines: lineage.lines.map(({ start, parent, hiddenUpTo, isEntered }): StoredLine => {
      const hidden = hiddenUpTo === undefined ? null : formatRevision(hiddenUpTo);
      const line = [formatRevision(start), formatRevision(parent), hidden] as const;
      return isEntered === true ? [...line, isEntered] : line;
    }),
    inherited: lineage.inherited.map(({ branch, upTo }) => [branch, formatRevision(upTo)]),
  };
  turn.put(CommonTable.meta, LINEAGE_KEY, encodeJsonRow(stored));
}
