import { AFTER_END, bytesText, END } from '#runtime/shard/binary-key.ts';
import { BranchTable, underParts } from '#runtime/shard/key-layout.ts';
import type { Range, RowInPlace, TableReader } from '#runtime/shard/shard.ts';
import { visitRows } from '#runtime/shard/visit-rows.ts';
import type { RecordView } from '#runtime/tree/record/record-view.ts';
import { PART_BYTES } from './places.ts';
import { behind } from './united-keys.ts';

/**
 * Rows, and bytes of rows, that are passed between two pauses: some tenths of a millisecond. A new seek costs as much as
 * four to eight rows, and the pause as much again.
 */
const SLICE_ROWS = 512;
const SLICE_BYTES = 3 * PART_BYTES;

/** Where a slice begins, and in which direction it goes. */
export interface SliceBounds {
  readonly workspace: string;
  /** Id of the row before it as bytes; undefined: from the first row on. */
  readonly after: string | undefined;
  /** Id as bytes at which it ends at the latest, without that one. */
  readonly before: string | undefined;
  readonly reverse: boolean;
}

/** How a slice ended. */
export interface SliceEnd {
  /** Id of its last row as bytes: the next slice begins behind it. Undefined when it had none. */
  readonly last: string | undefined;
  /** Whether there are no more rows. */
  readonly isDone: boolean;
  /** Id of the node behind it, which has to be read by itself: the next slice begins behind it. */
  readonly left?: string;
}

/**
 * Looks at the row of a node. @param id decodes its id
 *
 * @returns whether to go on; undefined: the node has to be read by itself
 */
export type NodeVisitor = (row: RecordView, id: () => string) => boolean | undefined;

/**
 * Passes the present rows of the nodes of a workspace in the order of ids, where they are stored. A large row is left to
 * the caller.
 *
 * @param view is moved from row to row
 * @param visitor must read nothing
 * @throws {ServiceError} `DATA_CORRUPTED`
 */
export function visitNodes(
  reader: TableReader,
  { after, before, reverse, workspace }: SliceBounds,
  view: RecordView,
  visitor: NodeVisitor,
): SliceEnd {
  const skipped = workspace.length + END.length;
  const range = rangeOf(workspace, after, before, reverse);
  let rows = 0;
  let bytes = 0;
  let last: string | undefined;
  let left: string | undefined;
  let isOpen = false;
  let passing: RowInPlace | undefined;
  // Made once: a row costs little more than a closure.
  const positionOf = (): string => (passing as RowInPlace).key().slice(skipped);
  const id = (): string => bytesText(positionOf());
  visitRows(reader, BranchTable.nodes, range, (row) => {
    passing = row;
    let goesOn: boolean | undefined;
    if (row.large === undefined) {
      view.point(row.bytes, row.length);
      goesOn = visitor(view, id);
    }
    if (goesOn === undefined) {
      last = positionOf();
      left = bytesText(last);
      return false;
    }
    rows += 1;
    bytes += row.length;
    isOpen = !goesOn || rows === SLICE_ROWS || bytes >= SLICE_BYTES;
    if (isOpen) last = positionOf();
    return !isOpen;
  });
  return left === undefined ? { last, isDone: !isOpen } : { last, isDone: false, left };
}

function rangeOf(
  workspace: string,
  after: string | undefined,
  before: string | undefined,
  reverse: boolean,
): Range {
  const { end, start } = underParts(workspace);
  const prefix = workspace + END;
  let range = { start, end, reverse };
  if (before !== undefined && reverse) range = { ...range, start: prefix + before + AFTER_END };
  if (before !== undefined && !reverse) range = { ...range, end: prefix + before };
  return after === undefined ? range : behind(range, prefix + after);
}
