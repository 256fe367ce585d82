import type { Range, TableReader } from '#runtime/shard/shard.ts';
import { visitRows } from '#runtime/shard/visit-rows.ts';

/** Keys and values, as binary text, of the rows that a visit passes. @param most after as many it is told to stop */
export function visitedRows(
  reader: TableReader,
  table: number,
  range: Range,
  most: number = Number.POSITIVE_INFINITY,
): [string, string][] {
  const found: [string, string][] = [];
  visitRows(reader, table, range, (row) => {
    found.push([row.key(), row.bytes.latin1Slice(0, row.length)]);
    return found.length < most;
  });
  return found;
}
