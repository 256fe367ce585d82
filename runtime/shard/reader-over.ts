import { hasRow } from './has-row.ts';
import type { TableReader } from './shard.ts';
import { peekedValue, storedRows, storedValue } from './value-in-steps.ts';
import { visitRows } from './visit-rows.ts';

/** Reads through another reader, which never changes; see {@link TableReader}. */
export function readerOver(reader: TableReader): Required<Omit<TableReader, 'generation'>> {
  return {
    get: (table, key) => reader.get(table, key),
    peek: (table, key) => peekedValue(reader, table, key),
    stored: (table, key) => storedValue(reader, table, key),
    piece: (key) => reader.piece?.(key),
    has: (table, key) => hasRow(reader, table, key),
    range: (table, range) => reader.range(table, range),
    storedRange: (table, range) => storedRows(reader, table, range),
    visit: (table, range, visitor) => visitRows(reader, table, range, visitor),
  };
}
