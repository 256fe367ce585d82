import { startOfDate } from '#runtime/sql-values/time/time-arithmetic.ts';
import type { SqlValue } from '#runtime/sql-values/sql-value.ts';
import type { SortKey } from '../sort-key.ts';
import type { PartitionRow, WindowPartition } from './window-partition.ts';

/** An edge of a RANGE frame that is a distance from the value of the row. */
export interface DistanceEdge {
  readonly kind: 'preceding' | 'following';
  /**
   * Not below 0. A bigint is added exactly, to whole numbers, or in microseconds to times; a number is added in binary64.
   */
  readonly distance: number | bigint;
}

/**
 * The edge of a RANGE frame with a distance, for one row after the other. Rows are in the frame whose value is at most the
 * distance before, or behind, that of the row; NULL is at no distance from a value, and at every distance from NULL. NaN is as
 * NULL among numbers, as in PostgreSQL.
 *
 * @param key the only key of the order
 * @param isEnd whether it is the end of the frame: then the place behind the last row of it
 * @returns the edge for a place, found by bisection; places are asked for in their order
 */
export function rangeDistanceEdge(
  edge: DistanceEdge,
  isEnd: boolean,
  key: SortKey,
  partition: WindowPartition,
): (place: number) => number {
  const { behindPeers, firstPeers, rows } = partition;
  const { distance } = edge;
  // In a falling order what precedes a row has larger values.
  const isSubtracted = (edge.kind === 'preceding') !== key.isDescending;
  const valueAt = (place: number): number | bigint | null =>
    comparable((rows[place] as PartitionRow).keys[0] as SqlValue, distance);
  const values = valuePlaces(rows.length, (place) => valueAt(place) === null, key.nullsFirst);
  let last = -1;
  let found = 0;
  return (place) => {
    const first = firstPeers[place] as number;
    if (first === last) return found;
    last = first;
    const value = valueAt(place);
    if (value === null) {
      found = isEnd ? (behindPeers[place] as number) : first;
      return found;
    }
    const isPassed = (at: number): boolean => {
      const other = valueAt(at) as number | bigint;
      const order = compareWithEdge(other, value, distance, isSubtracted);
      const rising = key.isDescending ? -order : order;
      return isEnd ? rising <= 0 : rising < 0;
    };
    found = firstNotPassed(values.start, values.end, isPassed);
    return found;
  };
}

/** A key as what distances are added to: a day as its beginning in microseconds. NULL stays. */
function comparable(value: SqlValue, distance: number | bigint): number | bigint | null {
  if (value === null) return null;
  if (typeof distance === 'number') return Number(value);
  return typeof value === 'number' ? startOfDate(value) : (value as bigint);
}

/** Compares a value with another one moved by the distance: below 0, 0 or above 0. */
function compareWithEdge(
  value: number | bigint,
  base: number | bigint,
  distance: number | bigint,
  isSubtracted: boolean,
): number {
  if (typeof distance === 'bigint') {
    const moved = isSubtracted ? (base as bigint) - distance : (base as bigint) + distance;
    return (value as bigint) < moved ? -1 : (value as bigint) > moved ? 1 : 0;
  }
  const [x, y] = [value as number, base as number];
  // NaN is above all other numbers, and at no distance from them.
  if (Number.isNaN(x) || Number.isNaN(y)) return Number(Number.isNaN(x)) - Number(Number.isNaN(y));
  const moved = isSubtracted ? y - distance : y + distance;
  // Infinity moved by infinity towards all others reaches all.
  if (Number.isNaN(moved)) return 0;
  return x < moved ? -1 : x > moved ? 1 : 0;
}

/** The places of the rows whose value is not NULL. */
function valuePlaces(
  length: number,
  isNull: (place: number) => boolean,
  nullsFirst: boolean,
): { readonly start: number; readonly end: number } {
  if (nullsFirst) return { start: firstNotPassed(0, length, isNull), end: length };
  return { start: 0, end: firstNotPassed(0, length, (place) => !isNull(place)) };
}

/** The first place from `start` before `end` that is not passed; the passed ones come first. */
function firstNotPassed(start: number, end: number, isPassed: (place: number) => boolean): number {
  let [low, high] = [start, end];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (isPassed(middle)) low = middle + 1;
    else high = middle;
  }
  return low;
}
