import type { Range, Row, TableReader } from './shard.ts';

/** Rows taken from a table at a time. */
const ROWS_PER_BATCH = 256;

/** Bytes of values after which a batch takes no further row. */
const BYTES_PER_BATCH = 262_144;

/**
 * The rows of a stretch, in batches: between two of them no range is open, so a walk may rest at any row while
 * its reader is pinned.
 *
 * @param most rows wanted at most
 */
export function* rowsInBatches(
  reader: TableReader,
  table: number,
  range: Range,
  most: number = Number.POSITIVE_INFINITY,
): Generator<Row, void> {
  let { start, end } = range;
  const reverse = range.reverse === true;
  for (let left = most; left > 0; ) {
    const size = Math.min(ROWS_PER_BATCH, left);
    const batch: Row[] = [];
    let bytes = 0;
    let isLast = true;
    for (const row of reader.range(table, { start, end, reverse })) {
      batch.push(row);
      bytes += row.value.length;
      if (batch.length < size && bytes < BYTES_PER_BATCH) continue;
      isLast = false;
      break;
    }
    yield* batch;
    left -= batch.length;
    const last = batch.at(-1);
    if (isLast || last === undefined) return;
    // Bounds are inclusive at the start and exclusive at the end.
    if (reverse) end = last.key;
    else start = `${last.key}\0`;
  }
}
