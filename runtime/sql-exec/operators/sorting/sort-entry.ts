import { valueBytes } from '#runtime/sql-values/ordering/value-bytes.ts';
import { Jsonb, type SqlValue } from '#runtime/sql-values/sql-value.ts';
import type { Row } from '../../operator.ts';
import { rowBytes } from '../row-memory.ts';
import type { SortKey } from '../sort-key.ts';

/** Bytes of an entry besides its row and keys: the object, and its places in the arrays of a merge. */
const ENTRY_BYTES = 80;

/** Estimated nanoseconds of a comparison of two entries, besides what depends on the length of values. */
const COMPARE_WORK = 60;

/** Estimated nanoseconds of a comparison of two short texts. */
const TEXT_WORK = 80;

/** Estimated nanoseconds for a character of two equal texts. */
const CHARACTER_WORK = 0.5;

/** Estimated nanoseconds for a byte of JSON or of an array: both are compared part by part. */
const NESTED_BYTE_WORK = 5;

/** Something to be sorted: its keys are computed once. */
export interface SortEntry {
  readonly keys: readonly SqlValue[];
  /** Estimated nanoseconds of a comparison with an equal entry: the most that one with any other takes. */
  readonly work: number;
}

/** A row to be sorted. */
export interface SortedRow extends SortEntry {
  readonly row: Row;
}

/** The keys of a row. */
export function sortKeysOf(keys: readonly SortKey[], row: Row): SqlValue[] {
  const values = new Array<SqlValue>(keys.length);
  for (let at = 0; at < keys.length; at++) values[at] = (keys[at] as SortKey).read(row);
  return values;
}

/** Estimated nanoseconds of a comparison of these keys with equal ones. */
export function compareWork(keys: readonly SqlValue[]): number {
  let work = COMPARE_WORK;
  for (const key of keys) {
    if (typeof key === 'string') work += TEXT_WORK + key.length * CHARACTER_WORK;
    else if (key instanceof Jsonb || Array.isArray(key)) work += valueBytes(key) * NESTED_BYTE_WORK;
    else work += 10;
  }
  return work;
}

/** Estimated memory of an entry, in bytes, without what belongs to it besides the keys. */
export function entryBytes(keys: readonly SqlValue[]): number {
  return ENTRY_BYTES + rowBytes(keys);
}

/** The order of entries by their keys: below 0, 0 or above 0. */
export function entryOrder(keys: readonly SortKey[]): (a: SortEntry, b: SortEntry) => number {
  const [only] = keys;
  if (only !== undefined && keys.length === 1) {
    return (a, b) => compareKeys(only, a.keys[0] as SqlValue, b.keys[0] as SqlValue);
  }
  return (a, b) => {
    for (let at = 0; at < keys.length; at++) {
      const order = compareKeys(keys[at] as SortKey, a.keys[at] as SqlValue, b.keys[at] as SqlValue);
      if (order !== 0) return order;
    }
    return 0;
  };
}

function compareKeys({ compare, isDescending, nullsFirst }: SortKey, a: SqlValue, b: SqlValue): number {
  if (a === null) return b === null ? 0 : nullsFirst ? -1 : 1;
  if (b === null) return nullsFirst ? 1 : -1;
  return isDescending ? compare(b, a) : compare(a, b);
}
