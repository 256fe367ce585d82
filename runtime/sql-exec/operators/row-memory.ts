import { valueBytes } from '#runtime/sql-values/ordering/value-bytes.ts';
import type { SqlValue } from '#runtime/sql-values/sql-value.ts';

/** Bytes of an array besides its elements. */
const ARRAY_BYTES = 32;

/** Bytes of an element of an array. */
const SLOT_BYTES = 8;

/** Estimated nanoseconds for a byte that is read once: measured, hashed or copied. */
export const BYTE_WORK = 0.5;

/** Estimated nanoseconds that every operator takes for a row, besides what depends on its values. */
export const ROW_WORK = 200;

/** Estimated nanoseconds for a key that is put into a hash table. */
export const NEW_KEY_WORK = 400;

/** Estimated memory of a kept row, or of other values in an array, in bytes. */
export function rowBytes(values: readonly SqlValue[]): number {
  let bytes = ARRAY_BYTES + SLOT_BYTES * values.length;
  for (const value of values) if (value !== null) bytes += valueBytes(value);
  return bytes;
}

/** Estimated memory of a key in a hash table, in bytes. */
export function keyBytes(key: string): number {
  return 64 + 2 * key.length;
}
