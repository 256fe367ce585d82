import type { JsonValue } from '#runtime/content/values/json-value.ts';
import { END } from '#runtime/shard/binary-key.ts';
import { comparisonHolds } from './comparison.ts';
import {
  afterColumns,
  columnBytes,
  columnEnd,
  columnKey,
  columnRanges,
  isCutColumn,
} from './compound-key.ts';
import { indexKey, orderedPart, textKeyBytes } from './index-key.ts';
import { type Comparison, equalRange, intersection, type KeyRange, keyRanges } from './key-range.ts';

/** Which rows of an index are meant, by the values of their nodes. */
export interface IndexCondition {
  /** Values of the first columns of a compound index; absent: none are fixed. */
  readonly equal?: readonly JsonValue[];
  /** Comparisons that all hold for the next column, or for the only one; absent: every value is meant. */
  readonly where?: readonly Comparison[];
}

/** A column of a compound index. */
interface Column {
  readonly isDescending: boolean;
}

/**
 * The ranges of keys with all rows that a condition means, in ascending order.
 *
 * @param columns of a compound index; undefined for an index of one value
 */
export function conditionRanges(
  columns: readonly Column[] | undefined,
  { equal = [], where = [] }: IndexCondition,
): readonly KeyRange[] {
  if (columns === undefined) return rangesOf(where);
  const count = columns.length;
  let leading = '';
  let isExact = true;
  for (const [at, value] of equal.entries()) {
    const key = indexKey(value);
    leading += columnKey(key, columns[at]?.isDescending === true, count);
    isExact &&= equalRange(value).isExact && !isCutColumn(key, count);
  }
  const next = columns[equal.length];
  if (next === undefined || where.length === 0 || where.some((each) => isCutIn(each, count)))
    return [{ start: leading, end: afterColumns(leading), isExact: isExact && where.length === 0 }];
  const ranges = columnRanges(leading, rangesOf(where), next.isDescending);
  return isExact ? ranges : ranges.map((range) => ({ ...range, isExact }));
}

function rangesOf(where: readonly Comparison[]): readonly KeyRange[] {
  return where.map((each) => keyRanges(each)).reduce(intersection, keyRanges({ operator: 'all' }));
}

/** Whether a value of a comparison is cut in a column. */
function isCutIn(comparison: Comparison, columns: number): boolean {
  switch (comparison.operator) {
    case 'in':
      return comparison.values.some((value) => isCutColumn(indexKey(value), columns));
    case 'prefix':
      // The letter of the kind comes before the bytes of the text.
      return textKeyBytes(comparison.text).length >= columnBytes(columns);
    default:
      return 'value' in comparison && isCutColumn(indexKey(comparison.value), columns);
  }
}

/** Whether a condition means a node. @param columnValue the value of a column by its number; undefined when absent */
export function conditionHolds(
  { equal = [], where = [] }: IndexCondition,
  columnValue: (column: number) => JsonValue | undefined,
): boolean {
  if (!equal.every((value, at) => comparisonHolds({ operator: 'eq', value }, columnValue(at)))) return false;
  if (where.length === 0) return true;
  const value = columnValue(equal.length);
  return where.every((each) => comparisonHolds(each, value));
}

/**
 * The part of a position up to which the order of an index is that of the values in some of its columns. Nodes whose parts are equal
 * have equal values in them, or values that the keys do not tell apart.
 *
 * @param columns of a compound index; undefined for an index of one value
 * @param position key, `END` and id
 * @param count number of columns
 */
export function valuesPart(columns: readonly Column[] | undefined, position: string, count: number): string {
  if (columns === undefined) return orderedPart(position.slice(0, position.lastIndexOf(END)));
  let at = 0;
  for (const { isDescending } of columns.slice(0, count)) {
    const end = position.indexOf(columnEnd(isDescending), at);
    // Behind a value that is cut the columns have no order.
    if (end - at > columnBytes(columns.length)) return position.slice(0, at + columnBytes(columns.length));
    at = end + 1;
  }
  return position.slice(0, at);
}
