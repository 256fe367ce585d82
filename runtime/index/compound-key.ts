import { boundedPart, END } from '#runtime/shard/binary-key.ts';
import type { KeyRange } from './key-range.ts';

/** Most columns of a compound index; more could not be told apart in a key. */
export const COMPOUND_COLUMNS_MAX = 8;

/** Bytes of all columns in a key, without what follows each of them. */
const COLUMNS_BYTES = 900;

/** Ends a descending column: greater than every inverted byte of a key of a value. */
const INVERTED_END = '\u00ff';

/** Follows a bound in an inverted column: greater than everything that may come after an end there. */
const AFTER_INVERTED = '\u00ff\u00ff';

/** Longest key of a value kept whole in a compound index. */
export function columnBytes(columns: number): number {
  return Math.floor(COLUMNS_BYTES / columns);
}

/**
 * The key of one column of a compound index. The order of keys is that of values, or the opposite one, up to where long
 * values are cut.
 *
 * @param key of the value, see `indexKey`
 * @param columns number of columns of the index
 */
export function columnKey(key: string, isDescending: boolean, columns: number): string {
  const part = boundedBytes(key, columnBytes(columns));
  return (isDescending ? inverted(part) : part) + columnEnd(isDescending);
}

/** The byte that follows the key of a column, and is not in it. */
export function columnEnd(isDescending: boolean): string {
  return isDescending ? INVERTED_END : END;
}

/** Whether the key of a value is cut in a column. */
export function isCutColumn(key: string, columns: number): boolean {
  return key.length > columnBytes(columns);
}

/**
 * The ranges of a compound index in which one column is in given ranges.
 *
 * @param leading keys of the columns before it
 * @param ranges of keys of values, none of which is cut in the column
 * @returns in ascending order of the index
 */
export function columnRanges(
  leading: string,
  ranges: readonly KeyRange[],
  isDescending: boolean,
): readonly KeyRange[] {
  if (!isDescending)
    return ranges.map(({ end, isExact, start }) => ({ start: leading + start, end: leading + end, isExact }));
  return ranges.toReversed().map(({ end, isExact, start }) => ({
    start: leading + inverted(end) + AFTER_INVERTED,
    end: leading + inverted(start) + AFTER_INVERTED,
    isExact,
  }));
}

/** First key after all keys that begin with some columns. */
export function afterColumns(leading: string): string {
  return leading + INVERTED_END;
}

function boundedBytes(key: string, bytesMax: number): string {
  // The key is bytes already; as characters of one byte each they would be encoded again.
  return key.length <= bytesMax ? key : key.slice(0, bytesMax) + boundedPart(key, 0);
}

function inverted(bytes: string): string {
  let text = '';
  for (let at = 0; at < bytes.length; at += 1) text += String.fromCharCode(0xff - bytes.charCodeAt(at));
  return text;
}
