import {
  compareRevisions,
  decodeRevision,
  encodeRevision,
  type Revision,
} from '#runtime/content/revision.ts';
import { BranchTable, revisionKey } from '#runtime/shard/key-layout.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { type Interval, type Lineage, readLineage } from './lineage.ts';
import { readBranchHead } from './revision-store.ts';

/**
 * Which rows the state at a revision consists of, and which revisions led to it. Every read of the past decides with this
 * class: of nodes, paths, children, relations, definitions, histories, audit entries and manual versions alike.
 *
 * A row belongs to the state when one of the revisions that led to it wrote the row. After the head of a branch was
 * moved, not every earlier write did, and the present row need not be the newest one that belongs.
 */
export class StateAt {
  readonly at: Revision;
  /** The revisions that led to the state, newest first. A sparse interval has only those that the branch has a record of. */
  readonly intervals: readonly Interval[];
  readonly #reader: TableReader;
  readonly #lines: BranchLines;
  #presentDecides: boolean | undefined;
  #atKey: string | undefined;

  constructor(reader: TableReader, at: Revision) {
    this.at = at;
    this.#reader = reader;
    this.#lines = branchLinesOf(reader);
    this.intervals = this.#lines.lineage.intervals(at);
  }

  /** Whether a present row that belongs is always the newest one that does: then the revision led to the head. */
  get presentDecides(): boolean {
    this.#presentDecides ??= this.#ledToHead();
    return this.#presentDecides;
  }

  #ledToHead(): boolean {
    const lines = this.#lines;
    lines.ends ??= readBranchHead(this.#reader);
    const { head, tip } = lines.ends;
    // Behind the head is nothing, or what the head was moved back from.
    if (compareRevisions(this.at, head) > 0) return compareRevisions(head, tip) === 0;
    return lines.lineage.lines.length === 0 || new StateAt(this.#reader, head).belongs(this.at);
  }

  /** Whether a revision led to the state, so that what it wrote belongs to it. */
  belongs(since: Revision): boolean {
    for (const { from, to, isSparse } of this.intervals) {
      if (compareRevisions(since, from) < 0) continue;
      if (compareRevisions(since, to) > 0) return false;
      return isSparse !== true || this.#reader.get(BranchTable.revisions, revisionKey(since)) !== undefined;
    }
    return false;
  }

  /**
   * Whether the present row is the one of the state, so that no version has to be looked up.
   *
   * @param since the revision that wrote it; undefined when there is none
   */
  decides(since: Revision | undefined): boolean {
    return since !== undefined && this.presentDecides && this.belongs(since);
  }

  /** As {@link decides}. @param sinceKey the revision that wrote the present row, see `encodeRevision` */
  decidesKey(sinceKey: string): boolean {
    if (this.#lines.lineage.lines.length > 0) return this.decides(decodeRevision(sinceKey, 0));
    this.#atKey ??= encodeRevision(this.at);
    return sinceKey <= this.#atKey && this.presentDecides;
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

/** The lineage of a branch, and once they were needed its ends. */
interface BranchLines {
  readonly generation: number | undefined;
  readonly lineage: Lineage;
  ends: { readonly head: Revision; readonly tip: Revision } | undefined;
}

/** The lineage last read through a reader: every read of the past needs it, and only writes change it. */
const knownLines = new WeakMap<TableReader, BranchLines>();

function branchLinesOf(reader: TableReader): BranchLines {
  const { generation } = reader;
  const known = knownLines.get(reader);
  if (known !== undefined && known.generation === generation) return known;
  const lines = { generation, lineage: readLineage(reader), ends: undefined };
  // A reader without generations may return something else the next time.
  if (generation !== undefined) knownLines.set(reader, lines);
  return lines;
}

/**
 * Whether a row that is not content and has its own clock is visible: at the head every row of this branch, at an
 * earlier revision the rows written by the revisions that led to it.
 *
 * @param at absent: the head
 */
export function ledgerFilter(reader: TableReader, at: Revision | undefined): (written: Revision) => boolean {
  if (at === undefined) {
    const lineage = readLineage(reader);
    return (written) => !lineage.hides(written);
  }
  const state = new StateAt(reader, at);
  return (written) => state.belongs(written);
}
