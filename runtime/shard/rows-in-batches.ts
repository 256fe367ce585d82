import { LargeValue, type StoredRow } from './large-value.ts';
import { storedRows } from './value-in-steps.ts';
import type { Range, Row, TableReader } from './shard.ts';

/** Rows per batch. */
const ROWS_PER_BATCH = 256;

/** Bytes of values above which a batch takes no further row. */
const BYTES_PER_BATCH = 262_144;

/**
 * The rows of a range, in batches. No range is open between two batches, so the caller may be suspended at any row
 * while its reader is pinned. For tables without large values, which would be read in one step.
 *
 * @param most maximum number of rows
 */
export function rowsInBatches(
  reader: TableReader,
  table: number,
  range: Range,
  most: number = Number.POSITIVE_INFINITY,
): Generator<Row, void> {
  return batches((part) => reader.range(table, part), range, most);
}

/** As {@link rowsInBatches}; large values are not read. */
export function storedRowsInBatches(
  reader: TableReader,
  table: number,
  range: Range,
  most: number = Number.POSITIVE_INFINITY,
): Generator<StoredRow, void> {
  return batches((part) => storedRows(reader, table, part), range, most);
}

function* batches<R extends StoredRow>(
  rowsIn: (range: Range) => Iterable<R>,
  range: Range,
  most: number,
): Generator<R, void> {
  let { start, end } = range;
  const reverse = range.reverse === true;
  for (let left = most; left > 0; ) {
    const size = Math.min(ROWS_PER_BATCH, left);
    const batch: R[] = [];
    let bytes = 0;
    let isLast = true;
    for (const row of rowsIn({ start, end, reverse })) {
      batch.push(row);
      if (!(row.value instanceof LargeValue)) bytes += row.value.length;
      if (batch.length < size && bytes < BYTES_PER_BATCH) continue;
      isLast = false;
      break;
    }
    yield* batch;
    left -= batch.length;
    const last = batch.at(-1);
    if (isLast || last === undefined) return;
    // The start bound is inclusive, the end bound exclusive.
    if (reverse) end = last.key;
    else start = `${last.key}\0`;
  }
}
