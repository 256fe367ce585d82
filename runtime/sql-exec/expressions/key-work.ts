import { rowKeyOf } from '#runtime/sql-values/ordering/hash-key.ts';
import type { SqlType } from '#runtime/sql-values/sql-type.ts';
import { Jsonb, type SqlValue } from '#runtime/sql-values/sql-value.ts';
import { valueBytes } from '#runtime/sql-values/ordering/value-bytes.ts';
import type { Execution } from '../execution.ts';

/** Estimated nanoseconds of making a key of a short value. */
const KEY_WORK = 100;
/** Estimated nanoseconds for each UTF-16 unit of a text. */
const UNIT_WORK = 1;
/** The same for a text that is so long that a digest takes its place. */
const LONG_UNIT_WORK = 5;
/** Units from which a text is long. */
const LONG_FROM = 4_000;
/** Estimated nanoseconds for each byte of JSON or of an array: it is written as text, with its keys sorted. */
const BYTE_WORK = 8;

/**
 * The work of making a key of a value for a hash table, or of comparing it.
 *
 * @returns estimated nanoseconds
 */
export function keyWork(value: SqlValue): number {
  if (typeof value === 'string') return KEY_WORK + value.length * unitWork(value);
  if (value instanceof Jsonb || Array.isArray(value)) return KEY_WORK + valueBytes(value) * BYTE_WORK;
  return KEY_WORK;
}

function unitWork(text: string): number {
  return text.length < LONG_FROM ? UNIT_WORK : LONG_UNIT_WORK;
}

/**
 * As `rowKeyOf`, with the work of each key counted before it is made.
 *
 * @returns a function that throws {ServiceError} `REQUEST_TOO_EXPENSIVE`
 */
export function countedRowKey(
  types: readonly SqlType[],
  execution: Execution,
): (values: readonly SqlValue[]) => string {
  const keyOf = rowKeyOf(types);
  return (values) => {
    for (const value of values) execution.spendOnCall(keyWork(value));
    return keyOf(values);
  };
}
