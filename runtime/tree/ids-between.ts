import { AFTER_END, bytesText, END, textBytes } from '#runtime/shard/binary-key.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { visitRows } from '#runtime/shard/visit-rows.ts';

/**
 * The nodes that have rows in a table, among those with ids between the least and the greatest of some ids. Of a part of a
 * listing, whose nodes were mostly created one after the other, one seek then tells what a look-up for each would.
 *
 * @param table its keys are the workspace, the id and `tail` bytes
 * @param ids at least one
 * @param found gets the ids
 * @returns false when there are more rows than ids: then look-ups cost less, and not all were found
 */
export function addIdsBetween(
  reader: TableReader,
  table: number,
  workspace: string,
  ids: readonly string[],
  tail: number,
  found: Set<string>,
): boolean {
  const parts = ids.map(textBytes);
  const first = parts.reduce((least, part) => (part < least ? part : least));
  const last = parts.reduce((most, part) => (part > most ? part : most));
  const prefix = workspace + END;
  let left = ids.length;
  // Behind the last id is nothing, or its tail.
  const range = { start: prefix + first, end: prefix + last + (tail === 0 ? END : AFTER_END) };
  visitRows(reader, table, range, (row) => {
    left -= 1;
    if (left < 0) return false;
    const key = row.key();
    found.add(bytesText(key.slice(prefix.length, key.length - tail)));
    return true;
  });
  return left >= 0;
}
