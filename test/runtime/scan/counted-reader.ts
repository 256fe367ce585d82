import { BranchTable } from '#runtime/shard/key-layout.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { readerOver } from '#runtime/shard/reader-over.ts';

/** What a scan read: ranges, rows of keys with the bytes of their values, and nodes by look-ups. */
export interface ReadCounts {
  rows: number;
  nodes: number;
  bytes?: number;
  ranges?: number;
}

/** Counts what is read through it. */
export function countedReader(reader: TableReader, read: ReadCounts): TableReader {
  const over = readerOver(reader);
  const note = (table: number): void => {
    if (table === BranchTable.nodes || table === BranchTable.nodeVersions) read.nodes += 1;
  };
  const noteRow = (bytes: number): void => {
    read.rows += 1;
    read.bytes = (read.bytes ?? 0) + bytes;
  };
  const noteRange = (): void => {
    read.ranges = (read.ranges ?? 0) + 1;
  };
  return {
    ...over,
    get: (table, key) => {
      note(table);
      return over.get(table, key);
    },
    stored: (table, key) => {
      note(table);
      return over.stored(table, key);
    },
    peek: (table, key) => {
      note(table);
      return over.peek(table, key);
    },
    visit: (table, range, visitor) => {
      noteRange();
      over.visit(table, range, (row) => {
        noteRow(row.length);
        return visitor(row);
      });
    },
    *range(table, range) {
      noteRange();
      for (const row of over.range(table, range)) {
        noteRow(row.value.length);
        yield row;
      }
    },
    *storedRange(table, range) {
      noteRange();
      for (const row of over.storedRange(table, range)) {
        noteRow(row.value.length);
        yield row;
      }
    },
  };
}
