import type { ExactNumber } from '#runtime/base/text/exact-number.ts';
import type { JsonValue } from '#runtime/content/values/json-value.ts';
import { AFTER_END, END, VALUE_PART_BYTES } from '#runtime/shard/binary-key.ts';
import { indexKey, isCutKey, KeyLetter, orderedPart, textKeyBytes } from './index-key.ts';

/**
 * A condition on an indexed value. Ordered comparisons hold only for values of the same kind: numbers, texts or booleans.
 * Texts are compared, and prefixes found, by UTF-8 bytes. `null` holds for null and for an absent property, `notNull` for
 * every other value, `composite` for arrays and objects.
 */
export type Comparison =
  | { readonly operator: 'all' | 'null' | 'notNull' | 'composite' }
  | { readonly operator: 'eq'; readonly value: JsonValue }
  | { readonly operator: 'in'; readonly values: readonly JsonValue[] }
  | { readonly operator: 'gt' | 'gte' | 'lt' | 'lte'; readonly value: string | ExactNumber | boolean }
  | { readonly operator: 'prefix'; readonly text: string };

/** A range of the keys of one property index: of keys of values, each followed by {@link END} and a node id. */
export interface KeyRange {
  readonly start: string;
  /** First key after the range. */
  readonly end: string;
  /** Whether the comparison holds for every row of the range. Otherwise the value of the node has to be compared. */
  readonly isExact: boolean;
}

/** Greater than every byte of a key. */
const AFTER_ALL = '\u00ff';

/** The replacement character in UTF-8: lone surrogates have the same bytes. */
const REPLACEMENT = '\u00ef\u00bf\u00bd';

/**
 * The ranges with all rows of a property index for which a comparison may hold, in the order of a walk.
 *
 * @param isDescending the ranges are to be walked backwards, the last one first
 */
export function keyRanges(comparison: Comparison, isDescending = false): readonly KeyRange[] {
  const ranges = ascending(comparison).filter(({ start, end }) => start < end);
  return isDescending ? ranges.reverse() : ranges;
}

/** The rows that are in a range of both lists. @param one and `other`: in ascending order */
export function intersection(one: readonly KeyRange[], other: readonly KeyRange[]): readonly KeyRange[] {
  const found: KeyRange[] = [];
  let [i, j] = [0, 0];
  for (let [a, b] = [one[0], other[0]]; a !== undefined && b !== undefined; a = one[i], b = other[j]) {
    const start = a.start > b.start ? a.start : b.start;
    const end = a.end < b.end ? a.end : b.end;
    if (start < end) found.push({ start, end, isExact: a.isExact && b.isExact });
    if (a.end < b.end) i += 1;
    else j += 1;
  }
  return found;
}

/**
 * Whether an index that an earlier build has written has the same rows in a range: those of one text, number or boolean
 * whose key is the same in both forms.
 */
export function isOfEarlierBuilds({ end, start }: KeyRange): boolean {
  const key = start.slice(0, -1);
  const isOneValue = start === key + END && end === key + AFTER_END;
  // What is behind the cut of a text may have another form.
  return isOneValue && /^[bns]/.test(key) && !key.includes(AFTER_END) && !isCutKey(key);
}

function ascending(comparison: Comparison): KeyRange[] {
  switch (comparison.operator) {
    case 'all':
      return [range('', KeyLetter.none + AFTER_END)];
    case 'null':
      return [range(KeyLetter.none, KeyLetter.none + AFTER_END)];
    case 'notNull':
      return [range('', KeyLetter.none)];
    case 'composite':
      return [range(KeyLetter.array, KeyLetter.none)];
    case 'eq':
      return [equalRange(comparison.value)];
    case 'in':
      return union(comparison.values.map(equalRange));
    case 'prefix':
      return [prefixed(comparison.text)];
    default:
      return ordered(comparison.operator, comparison.value);
  }
}

function range(start: string, end: string, isExact = true): KeyRange {
  return { start, end, isExact };
}

/** The rows of values with the same key. Only scalars, and texts that are not cut, are equal when their keys are. */
export function equalRange(value: JsonValue): KeyRange {
  const key = indexKey(value);
  const isScalar = typeof value !== 'object' && !isCutKey(key) && !mayBeReplaced(value);
  return range(key + END, key + AFTER_END, isScalar);
}

/** Whether texts with other characters have the same bytes. */
function mayBeReplaced(value: JsonValue): boolean {
  return typeof value === 'string' && textKeyBytes(value).includes(REPLACEMENT);
}

/** Sorts ranges of single values, and leaves out repeated ones. */
function union(ranges: readonly KeyRange[]): KeyRange[] {
  const byStart = new Map(ranges.map((each) => [each.start, each]));
  return [...byStart.values()].sort((a, b) => (a.start < b.start ? -1 : 1));
}

function prefixed(text: string): KeyRange {
  const bytes = textKeyBytes(text);
  if (bytes.length > VALUE_PART_BYTES) return cutGroup(orderedPart(indexKey(text)));
  const start = KeyLetter.text + bytes;
  return range(start, start + AFTER_ALL, !mayBeReplaced(text));
}

function ordered(operator: 'gt' | 'gte' | 'lt' | 'lte', value: string | ExactNumber | boolean): KeyRange[] {
  const key = indexKey(value);
  const letter = key.slice(0, 1);
  const [first, last] = [letter, letter + AFTER_ALL];
  const isAbove = operator === 'gt' || operator === 'gte';
  if (isCutKey(key)) {
    const group = cutGroup(orderedPart(key));
    return isAbove ? [group, range(group.end, last)] : [range(first, group.start), group];
  }
  const takesEqual = operator === 'gte' || operator === 'lte';
  const bound = key + (isAbove === takesEqual ? END : AFTER_END);
  return [isAbove ? range(bound, last) : range(first, bound)];
}

/** The rows of all texts that are cut to the same bytes. A text that is not cut and has these bytes sorts before them. */
function cutGroup(cut: string): KeyRange {
  return range(cut + AFTER_END, cut + AFTER_ALL, false);
}
