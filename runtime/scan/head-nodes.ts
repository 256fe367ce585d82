import { bytesText, END } from '#runtime/shard/binary-key.ts';
import { BranchTable, underParts } from '#runtime/shard/key-layout.ts';
import type { RowInPlace, TableReader } from '#runtime/shard/shard.ts';
import { visitRows } from '#runtime/shard/visit-rows.ts';
import type { RecordView } from '#runtime/tree/record/record-view.ts';
import { PART_BYTES } from './places.ts';
import { behind } from './united-keys.ts';

/**
 * Rows, and bytes of rows, that are passed between two pauses: about a tenth of a millisecond. A new seek costs as much as
 * four to eight rows.
 */
const SLICE_ROWS = 128;
const SLICE_BYTES = PART_BYTES;

/** Where a slice begins, and in which direction it goes. */
export interface SliceBounds {
  readonly workspace: string;
  /** Id of the row before it as bytes; undefined: from the first row on. */
  readonly after: string | undefined;
  readonly reverse: boolean;
}

/** How a slice ended. */
export interface SliceEnd {
  /** Id of its last row as bytes: the next slice begins behind it. Undefined when it had none. */
  readonly last: string | undefined;
  /** Whether the workspace has no more rows. */
  readonly isDone: boolean;
  /** Id of the node behind it, which is large: it has to be read in steps, and the next slice begins behind it. */
  readonly large?: string;
}

/** Looks at the row of a node. @param id decodes its id @returns whether to go on */
export type NodeVisitor = (row: RecordView, id: () => string) => boolean;

/**
 * Passes nodes of a workspace at the head in the order of ids, where they are stored.
 *
 * @param view is moved from row to row
 * @param visitor must read nothing
 * @throws {ServiceError} `DATA_CORRUPTED`
 */
export function visitHeadNodes(
  reader: TableReader,
  { after, reverse, workspace }: SliceBounds,
  view: RecordView,
  visitor: NodeVisitor,
): SliceEnd {
  const skipped = workspace.length + END.length;
  const all = { ...underParts(workspace), reverse };
  const range = after === undefined ? all : behind(all, workspace + END + after);
  let rows = 0;
  let bytes = 0;
  let last: string | undefined;
  let large: string | undefined;
  let isOpen = false;
  let passing: RowInPlace | undefined;
  // Made once: a row costs little more than a closure.
  const positionOf = (): string => (passing as RowInPlace).key().slice(skipped);
  const id = (): string => bytesText(positionOf());
  visitRows(reader, BranchTable.nodes, range, (row) => {
    passing = row;
    if (row.large !== undefined) {
      last = positionOf();
      large = bytesText(last);
      return false;
    }
    view.point(row.bytes, row.length);
    rows += 1;
    bytes += row.length;
    const goesOn = visitor(view, id);
    isOpen = !goesOn || rows === SLICE_ROWS || bytes >= SLICE_BYTES;
    if (isOpen) last = positionOf();
    return !isOpen;
  });
  if (large !== undefined) return { last, isDone: false, large };
  return { last, isDone: !isOpen };
}
