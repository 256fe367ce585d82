import { compareTexts } from '#runtime/base/text/text-order.ts';
import type { SqlType } from '../sql-type.ts';
import type { Jsonb, SqlValue } from '../sql-value.ts';
import { elementOf } from '../types/basic-types.ts';
import { compareJson } from './compare-json.ts';

/** Compares two values, neither of which is NULL: below 0, 0 or above 0. */
export type Comparator = (a: SqlValue, b: SqlValue) => number;

/**
 * The total order of the values of a type.
 *
 * - Texts, paths and identifiers are ordered by code point.
 * - NaN equals itself and is above all other numbers.
 * - JSON is ordered as `compareJson` says.
 * - Arrays are ordered by their first elements that differ; NULL elements are equal and above all others.
 */
export function comparatorOf(type: SqlType): Comparator {
  switch (type.name) {
    case 'unknown':
    case 'text':
    case 'uuid':
    case 'path':
      return compareText;
    case 'double':
      return compareNumbers;
    case 'int':
    case 'bigint':
    case 'date':
    case 'timestamptz':
    case 'timestamp':
    case 'interval':
    case 'boolean':
      return compareDirectly;
    case 'jsonb':
      return (a, b) => compareJson((a as Jsonb).value, (b as Jsonb).value);
    case 'array':
      return arrayComparator(elementOf(type));
  }
}

function compareText(a: SqlValue, b: SqlValue): number {
  return compareTexts(a as string, b as string);
}

function compareDirectly(a: SqlValue, b: SqlValue): number {
  return a! < b! ? -1 : a! > b! ? 1 : 0;
}

/** Compares numbers of any type by their exact values: JavaScript compares a bigint with a double without rounding. */
export function compareNumbers(a: SqlValue, b: SqlValue): number {
  if (a! < b!) return -1;
  if (a! > b!) return 1;
  // Neither is above the other: equal, or at least one is NaN.
  const [x, y] = [Number.isNaN(a), Number.isNaN(b)];
  return x === y ? 0 : x ? 1 : -1;
}

function arrayComparator(element: SqlType): Comparator {
  const compare = comparatorOf(element);
  return (a, b) => {
    const [x, y] = [a as readonly SqlValue[], b as readonly SqlValue[]];
    for (let index = 0; index < x.length && index < y.length; index += 1) {
      const [p, q] = [x[index]!, y[index]!];
      const order = p === null || q === null ? Number(p === null) - Number(q === null) : compare(p, q);
      if (order !== 0) return order;
    }
    return x.length - y.length;
  };
}
