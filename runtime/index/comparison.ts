import { compareNumbers, isNumber } from '#runtime/base/text/exact-number.ts';
import { compareTexts } from '#runtime/base/text/text-order.ts';
import { type JsonValue, jsonEquals } from '#runtime/content/values/json-value.ts';
import { textBytes } from '#runtime/shard/binary-key.ts';
import type { Comparison } from './key-range.ts';

/** Whether a comparison holds for a value. @param value undefined when the property is absent */
export function comparisonHolds(comparison: Comparison, value: JsonValue | undefined): boolean {
  switch (comparison.operator) {
    case 'all':
      return true;
    case 'null':
      return value === undefined || value === null;
    case 'notNull':
      return value !== undefined && value !== null;
    case 'composite':
      return typeof value === 'object' && value !== null;
    case 'eq':
      return value !== undefined && jsonEquals(value, comparison.value);
    case 'in':
      return value !== undefined && comparison.values.some((each) => jsonEquals(value, each));
    case 'prefix':
      return typeof value === 'string' && hasPrefix(value, comparison.text);
    default:
      return isInOrder(comparison.operator, orderOf(value, comparison.value));
  }
}

/** By bytes, as keys are. The prefix is encoded, and no more of the text than may have its length. */
function hasPrefix(text: string, prefix: string): boolean {
  const bytes = textBytes(prefix);
  return textBytes(text.slice(0, bytes.length + 1)).startsWith(bytes);
}

/**
 * Compares two values: numbers with numbers, texts with texts by UTF-8 bytes, false before true.
 *
 * @returns undefined for values of different kinds, which do not compare
 */
export function orderOf(a: JsonValue | undefined, b: JsonValue | undefined): number | undefined {
  if (typeof a === 'string' && typeof b === 'string') return compareTexts(a, b);
  if (typeof a === 'boolean' && typeof b === 'boolean') return Number(a) - Number(b);
  return isNumber(a) && isNumber(b) ? compareNumbers(a, b) : undefined;
}

/** Whether an order is the one that an operator asks for. @param order what {@link orderOf} returns */
export function isInOrder(operator: 'gt' | 'gte' | 'lt' | 'lte', order: number | undefined): boolean {
  if (order === undefined) return false;
  switch (operator) {
    case 'gt':
      return order > 0;
    case 'gte':
      return order >= 0;
    case 'lt':
      return order < 0;
    case 'lte':
      return order <= 0;
  }
}
