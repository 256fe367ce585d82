import { compareRevisions, type Revision } from '#runtime/content/revision.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { type Interval, isWithin, type Lineage, readLineage } from './lineage.ts';
import { readBranchHead } from './revision-store.ts';

/**
 * Which rows of the head and version tables the state at a revision consists of. Every read at a revision decides with
 * this class: of nodes, paths, children and relations alike.
 *
 * A row belongs to the state when one of the revisions that led to it wrote the row. After the head of a branch was
 * moved, not every earlier write did, and the present row need not be the newest one that belongs.
 */
export class StateAt {
  readonly at: Revision;
  readonly #reader: TableReader;
  readonly #intervals: readonly Interval[];
  /** Whether a present row that belongs is always the newest one that does. */
  readonly presentDecides: boolean;

  constructor(reader: TableReader, at: Revision) {
    const { head, lineage, tip } = branchLinesOf(reader);
    this.at = at;
    this.#reader = reader;
    this.#intervals = lineage.intervals(at);
    const wasNeverMoved = compareRevisions(head, tip) === 0 || compareRevisions(at, head) <= 0;
    this.presentDecides = lineage.lines.length === 0 && wasNeverMoved;
  }

  /** Whether a row that a revision wrote belongs to the state. */
  belongs(since: Revision): boolean {
    return isWithin(this.#reader, this.#intervals, since);
  }

  /**
   * Whether the present row is the one of the state, so that no version has to be looked up.
   *
   * @param since the revision that wrote it; undefined when there is none
   */
  decides(since: Revision | undefined): boolean {
    return this.presentDecides && since !== undefined && this.belongs(since);
  }

  /**
   * Whether the present row belongs to the state and is newer than the newest version that does.
   *
   * @param since the revision that wrote the present row; undefined when there is none
   * @param version the revision that wrote the version; undefined when none belongs
   */
  prefersPresent(since: Revision | undefined, version: Revision | undefined): boolean {
    if (since === undefined || !this.belongs(since)) return false;
    return version === undefined || compareRevisions(since, version) >= 0;
  }
}

/** The head of a branch and its lineage. */
interface BranchLines {
  readonly generation: number | undefined;
  readonly lineage: Lineage;
  readonly head: Revision;
  readonly tip: Revision;
}

/** The lineage last read through a reader: every read of the past needs it, and only writes change it. */
const knownLines = new WeakMap<TableReader, BranchLines>();

function branchLinesOf(reader: TableReader): BranchLines {
  const { generation } = reader;
  const known = knownLines.get(reader);
  if (known !== undefined && known.generation === generation) return known;
  const { head, tip } = readBranchHead(reader);
  const lines = { generation, lineage: readLineage(reader), head, tip };
  // A reader without generations may return something else the next time.
  if (generation !== undefined) knownLines.set(reader, lines);
  return lines;
}
