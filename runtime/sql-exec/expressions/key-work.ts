import { Jsonb, type SqlValue } from '#runtime/sql-values/sql-value.ts';
import { valueBytes } from '#runtime/sql-values/ordering/value-bytes.ts';

/** Estimated nanoseconds of making a key of a short value. */
const KEY_WORK = 100;
/** Estimated nanoseconds for each UTF-16 unit of a text. */
const UNIT_WORK = 1;
/** Estimated nanoseconds for each byte of JSON or of an array: it is written as text, with its keys sorted. */
const BYTE_WORK = 8;

/**
 * The work of making a key of a value for a hash table, or of comparing it.
 *
 * @returns estimated nanoseconds
 */
export function keyWork(value: SqlValue): number {
  if (typeof value === 'string') return KEY_WORK + value.length * UNIT_WORK;
  if (value instanceof Jsonb || Array.isArray(value)) return KEY_WORK + valueBytes(value) * BYTE_WORK;
  return KEY_WORK;
}
