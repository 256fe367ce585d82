import type { TableReader } from './shard.ts';

/** Whether a key has a value in a table, without reading the value where the reader can avoid that. */
export function hasRow(reader: TableReader, table: number, key: string): boolean {
  return reader.has === undefined ? reader.get(table, key) !== undefined : reader.has(table, key);
}
