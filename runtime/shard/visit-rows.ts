import { Buffer } from 'node:buffer';
import { LargeValue, type StoredValue } from './large-value.ts';
import type { Range, RowInPlace, RowVisitor, TableReader } from './shard.ts';
import { storedRows } from './value-in-steps.ts';

const noBytes = Buffer.alloc(0);

/** Passes the rows of a range to a function, in order: where they are stored, if the reader can do that. */
export function visitRows(reader: TableReader, table: number, range: Range, visitor: RowVisitor): void {
  if (reader.visit !== undefined) {
    reader.visit(table, range, visitor);
    return;
  }
  for (const { key, value } of storedRows(reader, table, range)) if (!visitor(rowOf(key, value))) return;
}

/** A row that was read in another way, for a {@link RowVisitor}. */
export function rowOf(key: string, value: StoredValue): RowInPlace {
  if (value instanceof LargeValue) return { bytes: noBytes, length: 0, large: value, key: () => key };
  const { length } = value;
  const bytes =
    value instanceof Buffer ? value : Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  return { bytes, length, large: undefined, key: () => key };
}
