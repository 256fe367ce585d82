import type { JsonValue } from '#runtime/content/values/json-value.ts';
import { indexKey } from '#runtime/index/index-key.ts';
import type { Comparison } from '#runtime/index/key-range.ts';

/**
 * Comparisons of an index divided into such with one key each: rows of one key are in the order of ids. No row is found by two of
 * them.
 *
 * @param where hold together
 * @returns undefined: they cannot be divided so
 */
export function singleValues(where: readonly Comparison[]): readonly Comparison[] | undefined {
  const [only] = where;
  if (only === undefined || where.length > 1) return undefined;
  // Null and absent values have one key.
  if (only.operator === 'null') return where;
  if (only.operator !== 'in') return undefined;
  const byKey = new Map<string, JsonValue>();
  for (const value of only.values) {
    const key = indexKey(value);
    const known = byKey.get(key);
    // All arrays have one key, and texts may share one whose characters are no whole ones.
    if (typeof value === 'object' || (known !== undefined && known !== value)) return undefined;
    byKey.set(key, value);
  }
  return [...byKey.values()].map((value): Comparison => ({ operator: 'in', values: [value] }));
}
