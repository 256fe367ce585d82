import type { Execution } from '../../execution.ts';
import type { SortEntry } from './sort-entry.ts';

/** Most entries of a run, which is sorted without a pause. */
const RUN_ENTRIES = 512;

/** Estimated nanoseconds of a run after which it ends. */
const RUN_WORK = 500_000;

/**
 * Sorts stably without blocking the event loop: sorts short runs first, then merges pairs of runs. Unlike the sort of the base,
 * it counts its work, and keeps runs of long keys shorter.
 *
 * @returns the sorted entries; yields where the work may pause
 * @throws {ServiceError} `REQUEST_TOO_EXPENSIVE`
 */
export function* sortEntries<Entry extends SortEntry>(
  execution: Execution,
  entries: readonly Entry[],
  compare: (a: SortEntry, b: SortEntry) => number,
): Generator<undefined, readonly Entry[]> {
  let runs: (readonly Entry[])[] = [];
  for (let start = 0; start < entries.length; ) {
    const { end, work } = runFrom(entries, start);
    execution.spend(work);
    runs.push(entries.slice(start, end).sort(compare));
    start = end;
    if (execution.isDue) yield pause(execution);
  }
  while (runs.length > 1) {
    const merged: (readonly Entry[])[] = [];
    for (let index = 0; index < runs.length; index += 2) {
      const left = runs[index] as readonly Entry[];
      const right = runs[index + 1];
      merged.push(right === undefined ? left : yield* merge(execution, left, right, compare));
    }
    runs = merged;
  }
  return runs[0] ?? [];
}

/** The next run: each of its entries is compared with about as many others as its length has binary digits. */
function runFrom(entries: readonly SortEntry[], start: number): { end: number; work: number } {
  const last = Math.min(entries.length, start + RUN_ENTRIES);
  const compared = Math.ceil(Math.log2(last - start + 1));
  let work = 0;
  let end = start;
  while (end < last && (work < RUN_WORK || end === start)) {
    work += (entries[end] as SortEntry).work * compared;
    end += 1;
  }
  return { end, work };
}

function* merge<Entry extends SortEntry>(
  execution: Execution,
  left: readonly Entry[],
  right: readonly Entry[],
  compare: (a: SortEntry, b: SortEntry) => number,
): Generator<undefined, readonly Entry[]> {
  const merged: Entry[] = [];
  let l = 0;
  let r = 0;
  while (l < left.length || r < right.length) {
    const isLeft =
      r >= right.length || (l < left.length && compare(left[l] as Entry, right[r] as Entry) <= 0);
    const next = (isLeft ? left[l++] : right[r++]) as Entry;
    merged.push(next);
    // A comparison takes no longer than the shorter key of the two, and one of them is taken after each.
    execution.spend(next.work);
    if (execution.isDue) yield pause(execution);
  }
  return merged;
}

function pause(execution: Execution): undefined {
  execution.pausing();
  return undefined;
}
