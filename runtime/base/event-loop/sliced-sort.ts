/** Items sorted, or merged, between two yields. */
const ITEMS_PER_SLICE = 512;

/**
 * Sorts stably without blocking the event loop: sorts short runs first, then merges pairs of runs.
 *
 * @returns the sorted items; yields undefined between steps
 */
export function* sortInSlices<T>(
  items: readonly T[],
  compare: (a: T, b: T) => number,
): Generator<undefined, readonly T[]> {
  let runs: T[][] = [];
  for (let start = 0; start < items.length; start += ITEMS_PER_SLICE) {
    runs.push(items.slice(start, start + ITEMS_PER_SLICE).sort(compare));
    yield undefined;
  }
  while (runs.length > 1) {
    const merged: T[][] = [];
    for (let index = 0; index < runs.length; index += 2) {
      const right = runs[index + 1];
      merged.push(
        right === undefined ? (runs[index] as T[]) : yield* merge(runs[index] as T[], right, compare),
      );
    }
    runs = merged;
  }
  return runs[0] ?? [];
}

function* merge<T>(left: T[], right: T[], compare: (a: T, b: T) => number): Generator<undefined, T[]> {
  const merged: T[] = [];
  let l = 0;
  let r = 0;
  while (l < left.length || r < right.length) {
    const takeLeft = r >= right.length || (l < left.length && compare(left[l] as T, right[r] as T) <= 0);
    merged.push((takeLeft ? left[l++] : right[r++]) as T);
    if (merged.length % ITEMS_PER_SLICE === 0) yield undefined;
  }
  return merged;
}
