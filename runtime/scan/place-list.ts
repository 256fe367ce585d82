import type { RequestBudget } from '#runtime/budget/request-budget.ts';
import type { Place } from './places.ts';

/** Bytes of a place besides its position and id. */
const PLACE_BYTES = 150;

/** Counts the memory of a place that is kept. @throws {ServiceError} `REQUEST_TOO_EXPENSIVE` */
export function keepPlace(place: Place, budget: RequestBudget | undefined): Place {
  budget?.keep(PLACE_BYTES + place.position.length + place.id.length);
  return place;
}

/**
 * The places behind a position and up to another one, in the direction of a walk.
 *
 * @param sorted by position
 * @param after undefined: from the beginning of the walk
 * @param upTo undefined: to its end
 * @param most of them
 */
export function placesBetween(
  sorted: readonly Place[],
  after: string | undefined,
  upTo: string | undefined,
  reverse: boolean,
  most: number,
): readonly Place[] {
  if (reverse) {
    const start = upTo === undefined ? 0 : firstAt(sorted, upTo, false);
    const end = after === undefined ? sorted.length : firstAt(sorted, after, false);
    return sorted.slice(Math.max(start, end - most), end).reverse();
  }
  const start = after === undefined ? 0 : firstAt(sorted, after, true);
  const end = upTo === undefined ? sorted.length : firstAt(sorted, upTo, true);
  return sorted.slice(start, Math.min(end, start + most));
}

/** The number of the first place at a position or behind it; with `isBehind` only behind it. */
function firstAt(sorted: readonly Place[], position: string, isBehind: boolean): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    const found = (sorted[middle] as Place).position;
    if (found < position || (isBehind && found === position)) low = middle + 1;
    else high = middle;
  }
  return low;
}
