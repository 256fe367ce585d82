import { sortInSlices } from '#runtime/base/event-loop/sliced-sort.ts';
import { compareTexts } from '#runtime/base/text/text-order.ts';
import type { RequestBudget } from '#runtime/budget/request-budget.ts';
import { isCutKey, orderedPart } from '#runtime/index/index-key.ts';
import { END } from '#runtime/shard/binary-key.ts';

/** An item at a position of an index. */
export interface IndexedItem {
  /** Key and id, with `END` between them. */
  readonly position: string;
  /** The text by which it is sorted; null: none. */
  readonly text: string | null;
  /** Memory while it is kept. */
  readonly bytes: number;
}

/**
 * Items of an index of texts in the order of their whole texts. A long text is cut in an index, where texts with the same
 * beginning have no order: these are collected and sorted.
 *
 * @returns the items; undefined where the work may pause
 */
export function* inTextOrder<T extends IndexedItem>(
  items: Iterable<T | undefined>,
  reverse: boolean,
  budget: RequestBudget,
): Generator<T | undefined, void> {
  let group: T[] = [];
  let groupPart: string | undefined;
  let kept = 0;
  const order = (a: T, b: T): number => compareTexts(a.text ?? '', b.text ?? '') * (reverse ? -1 : 1);
  function* flushed(): Generator<T | undefined, void> {
    const sorted = yield* sortInSlices(group, order);
    yield* sorted;
    budget.free(kept);
    kept = 0;
    group = [];
  }
  try {
    for (const item of items) {
      if (item === undefined) {
        yield undefined;
        continue;
      }
      const part = cutPart(item.position);
      if (group.length > 0 && part !== groupPart) yield* flushed();
      if (part === undefined) {
        yield item;
        continue;
      }
      groupPart = part;
      budget.keep(item.bytes);
      kept += item.bytes;
      group.push(item);
    }
    if (group.length > 0) yield* flushed();
  } finally {
    budget.free(kept);
  }
}

/** What texts share that the index does not tell apart; undefined for a text that is not cut. */
function cutPart(position: string): string | undefined {
  const key = position.slice(0, position.lastIndexOf(END));
  return isCutKey(key) ? orderedPart(key) : undefined;
}
