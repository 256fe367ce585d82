import { assert } from '#runtime/base/assert.ts';
import { sortInSlices } from '#runtime/base/event-loop/sliced-sort.ts';
import { AFTER_END, END, LONG_PART_BYTES, textBytes } from '#runtime/shard/binary-key.ts';
import type { RequestBudget } from '#runtime/budget/request-budget.ts';
import { BranchTable } from '#runtime/shard/key-layout.ts';
import type { Range } from '#runtime/shard/shard.ts';
import { visitRows } from '#runtime/shard/visit-rows.ts';
import { boundId } from '#runtime/tree/node-reader.ts';
import type { NodeRecord } from '#runtime/tree/record/node-record.ts';
import { PastNodeReader } from '#runtime/tree/past-node-reader.ts';
import type { Moment } from './moment.ts';
import type { PartBounds, Place, PlacePart, PlaceSource } from './places.ts';
import { behind, unitedKeys } from './united-keys.ts';

/** Greater than every byte of a path. */
const ABOVE = '\u00ff';

/** Bytes of a place besides its position. */
const PLACE_BYTES = 150;

/** Nodes of a group of long paths that are read between two pauses. */
const GROUP_STEP = 16;

/** A row of a table whose keys end with a path. */
interface PathRow {
  /** The path as a part of a key: cut when it is long. */
  readonly part: string;
  readonly id: string;
}

interface PathRows {
  readonly rows: readonly PathRow[];
  /** The part of the last row; absent at the end. */
  readonly next?: string;
}

/** The nodes to list: those of a workspace, or those below a node; of one type or of all. */
export interface PathSelection {
  readonly workspace: string;
  /** Path of the node below which they are; absent: the root. */
  readonly below?: string | undefined;
  readonly nodeType?: string | undefined;
  /** Whether only children are listed. What is below a child is passed by one look-up. */
  readonly isChildren?: boolean | undefined;
  /** Only nodes at or below these paths; absent: all. What is between them is passed by one look-up. */
  readonly tops?: readonly string[] | undefined;
  /** Counts the memory of a group of long paths. */
  readonly budget?: RequestBudget | undefined;
}

/**
 * Nodes in the order of their paths, by bytes. The position is the path. A path that is too long for a key is cut there:
 * then the rows with the same beginning are read as one group, and their nodes as well.
 *
 * At a revision the nodes of a type are found among all nodes: types are indexed for the head only.
 */
export class PathPlaces implements PlaceSource {
  readonly #moment: Moment;
  readonly #selection: PathSelection;
  /** What every path begins with. */
  readonly #base: string;
  readonly #tops: PathTops | undefined;
  /** Bytes of the places of the last group. */
  #kept = 0;

  constructor(moment: Moment, selection: PathSelection) {
    this.#moment = moment;
    this.#selection = selection;
    const { below = '/' } = selection;
    this.#base = textBytes(below === '/' ? '/' : `${below}/`);
    this.#tops = selection.tops === undefined ? undefined : new PathTops(selection.tops);
  }

  *part({ after, most, reverse }: PartBounds): Generator<undefined, PlacePart> {
    const isInGroup = after !== undefined && after.length > LONG_PART_BYTES && !isBetweenGroups(after);
    if (isInGroup) return yield* this.#group(after.slice(0, LONG_PART_BYTES), after, reverse);
    const { next, rows } = this.#rows(after, reverse, most);
    const places: Place[] = [];
    for (const { id, part } of rows) {
      if (part.length > LONG_PART_BYTES || this.#isPassed(part))
        return yield* this.#endAt(part, places, reverse);
      places.push({ position: part, id });
    }
    return next === undefined ? { places } : yield* this.#endAt(next, places, reverse);
  }

  /**
   * Ends a part at a row, which may have no node at the revision: behind it, or behind what is passed with it. The part of a
   * long path is no position, so its group is read as a whole, in a part of its own.
   */
  *#endAt(part: string, places: readonly Place[], reverse: boolean): Generator<undefined, PlacePart> {
    if (this.#isPassed(part)) {
      const jump = this.#jump(part, reverse);
      return jump === undefined ? { places } : { places, next: jump };
    }
    if (part.length <= LONG_PART_BYTES) return { places, next: part };
    const last = places.at(-1);
    if (last !== undefined) return { places, next: last.position };
    return yield* this.#group(part.slice(0, LONG_PART_BYTES), undefined, reverse);
  }

  /** Whether a row is not listed, nor anything up to a later position, see {@link #jump}. */
  #isPassed(part: string): boolean {
    if (part.length > LONG_PART_BYTES) return this.#childAbove(part.slice(0, LONG_PART_BYTES)) !== undefined;
    return this.#tops?.has(part) === false || this.#childAbove(part) !== undefined;
  }

  /** The position behind which the rows go on that may be listed; undefined at the end. */
  #jump(part: string, reverse: boolean): string | undefined {
    const child = this.#childAbove(part);
    // Behind everything below it, forwards and backwards.
    if (child !== undefined) return `${child}/${reverse ? '' : ABOVE}`;
    return this.#tops?.behind(part, reverse);
  }

  /** The path of the child that a node is below, where only children are listed. */
  #childAbove(position: string): string | undefined {
    if (this.#selection.isChildren !== true) return undefined;
    const slash = position.indexOf('/', this.#base.length);
    return slash === -1 ? undefined : position.slice(0, slash);
  }

  has({ nodeType: found }: NodeRecord): boolean {
    const { nodeType } = this.#selection;
    return nodeType === undefined || found === nodeType;
  }

  /**
   * The nodes whose paths are cut to the same beginning, in the order of their whole paths: in the table they are in the
   * order of a hash.
   */
  *#group(stem: string, after: string | undefined, reverse: boolean): Generator<undefined, PlacePart> {
    const { tree } = this.#moment;
    const places: Place[] = [];
    this.#keep(-this.#kept);
    for (let from: string | undefined = stem + AFTER_END; from !== undefined; ) {
      const { next, rows }: PathRows = this.#rows(from, false, GROUP_STEP, stem + ABOVE);
      for (const { id } of rows) {
        const record = yield* tree.byIdInSteps(this.#selection.workspace, id);
        if (record === undefined) continue;
        const position = textBytes(record.path);
        const isBehind = after === undefined || (reverse ? position < after : position > after);
        const isListed = position.startsWith(this.#base) && this.#childAbove(position) === undefined;
        if (!isBehind || !isListed) continue;
        places.push({ position, id });
        this.#keep(PLACE_BYTES + position.length);
      }
      from = next;
      yield;
    }
    const sorted = yield* sortInSlices(places, (a, b) => (a.position < b.position === reverse ? 1 : -1));
    return { places: sorted, next: stem + (reverse ? AFTER_END : ABOVE) };
  }

  /** @throws {ServiceError} `REQUEST_TOO_EXPENSIVE` */
  #keep(bytes: number): void {
    const { budget } = this.#selection;
    if (bytes > 0) budget?.keep(bytes);
    else budget?.free(-bytes);
    this.#kept += bytes;
  }

  /**
   * Rows behind a part of a key, up to one that is passed.
   *
   * @param end only rows before this part; default: the end of the selection
   */
  #rows(after: string | undefined, reverse: boolean, most: number, end?: string): PathRows {
    const { nodeType, workspace } = this.#selection;
    const { at, reader } = this.#moment;
    const isByType = nodeType !== undefined && at === undefined;
    const prefix = isByType ? workspace + END + nodeType + END : workspace + END;
    const base = this.#base.slice(0, LONG_PART_BYTES);
    const start = prefix + base + (base.length < this.#base.length ? AFTER_END : '');
    const range = { start, end: prefix + (end ?? base + ABOVE), reverse };
    let last = after === undefined ? undefined : prefix + after;
    // A jump leads to a path that is still to be read.
    if (!reverse && after?.at(-1) === END && end === undefined) {
      const start = prefix + after.slice(0, -1);
      if (start > range.start) range.start = start;
      last = undefined;
    }
    if (at !== undefined) return this.#pastRows(range, last, most, prefix.length);
    const rows: PathRow[] = [];
    const table = isByType ? BranchTable.types : BranchTable.paths;
    let next: string | undefined;
    visitRows(reader, table, last === undefined ? range : behind(range, last), (row) => {
      const part = row.key().slice(prefix.length);
      const id = isByType ? row.bytes.utf8Slice(0, row.length) : boundId(row.bytes, row.length);
      if (rows.push({ part, id }) >= most || this.#isPassed(part)) next = part;
      return next === undefined;
    });
    return next === undefined ? { rows } : { rows, next };
  }

  #pastRows(range: Range, last: string | undefined, most: number, skipped: number): PathRows {
    const { reader, tree } = this.#moment;
    assert(tree instanceof PastNodeReader, 'a revision is read with the tree of that revision');
    const tables = { head: BranchTable.paths, versions: BranchTable.pathVersions };
    const isLast = (key: string): boolean => this.#isPassed(key.slice(skipped));
    const { keys, next } = unitedKeys(reader, tables, range, last, most, isLast);
    const rows: PathRow[] = [];
    for (const { key, present } of keys) {
      const id = tree.boundAt(key, present as Uint8Array | undefined)?.id;
      if (id !== undefined) rows.push({ part: key.slice(skipped), id });
    }
    return next === undefined ? { rows } : { rows, next: next.slice(skipped) };
  }
}

/** Subtrees, and the positions to jump to where a path is in none of them. */
class PathTops {
  readonly #tops: readonly string[];
  /** Positions before each top and before what is below it, and behind both; sorted. */
  readonly #starts: readonly string[];
  readonly #ends: readonly string[];

  constructor(tops: readonly string[]) {
    this.#tops = tops.map((top) => textBytes(top === '/' ? '' : top));
    this.#starts = this.#tops.flatMap((top) => startsOf(top)).sort();
    this.#ends = this.#tops.flatMap((top) => endsOf(top)).sort();
  }

  /** Whether a path is at or below one of them. */
  has(path: string): boolean {
    return this.#tops.some((top) => path === top || path.startsWith(`${top}/`));
  }

  /** The nearest position behind a path at which one of them has a path; undefined when there is none. */
  behind(path: string, reverse: boolean): string | undefined {
    return reverse
      ? this.#ends.findLast((position) => position < path)
      : this.#starts.find((position) => position > path);
  }
}

/** Positions at which the paths at and below a top begin. */
function startsOf(top: string): readonly string[] {
  // In keys a long path is in the group of its beginning, behind the path that is that beginning.
  return top.length < LONG_PART_BYTES
    ? [top + END, `${top}/${END}`]
    : [
        ...(top.length === LONG_PART_BYTES ? [top + END] : []),
        top.slice(0, LONG_PART_BYTES) + AFTER_END + END,
      ];
}

/** Positions behind the paths at and below a top. */
function endsOf(top: string): readonly string[] {
  return top.length < LONG_PART_BYTES
    ? [top + AFTER_END, `${top}/${ABOVE}`]
    : [top.slice(0, LONG_PART_BYTES) + AFTER_END, top.slice(0, LONG_PART_BYTES) + ABOVE];
}

/** Whether a position is behind a group of long paths, or before it. */
function isBetweenGroups(position: string): boolean {
  const last = position.at(-1);
  return last === END || last === AFTER_END || last === ABOVE;
}
