import { ORDER_KEY_LENGTH_MAX, orderKeysBetween } from './order-key.ts';

/** Siblings in the smallest window, without the one in its middle. */
const SMALLEST_WINDOW = 16;

/** Length by which the new keys of the smallest window must stay below {@link ORDER_KEY_LENGTH_MAX}. */
const SMALLEST_GAIN = 24;

/**
 * Additional length for each doubling of the window. New keys for a window lengthen the keys around its narrowest gap
 * by about three characters, so a window of one size is used at least twice before the next size is needed. All sizes
 * together cost a logarithmic number of writes for each insert.
 */
const GAIN_PER_DOUBLING = 6;

/** Keys up to this length are always short enough. */
const SHORT_KEY_LENGTH = 32;

/** Neighbours with their new keys, both in order. */
export interface OrderWindow<Entry> {
  readonly entries: readonly Entry[];
  /** One for each entry. */
  readonly keys: readonly string[];
}

/**
 * Plans new keys around a position where keys have become too long, for the smallest number of neighbours that makes
 * them short enough to last. Cost follows the window. Inserting n times into the same gap relabels each node a
 * logarithmic number of times, not n times.
 *
 * @param before siblings before the middle, nearest first
 * @param middle the one whose key is too long
 * @param after siblings after the middle, nearest first
 */
export function planOrderWindow<Entry extends { readonly orderKey: string }>(
  before: Iterator<Entry>,
  middle: Entry,
  after: Iterator<Entry>,
): OrderWindow<Entry> {
  const left: Entry[] = [];
  const right: Entry[] = [];
  let longest = ORDER_KEY_LENGTH_MAX - SMALLEST_GAIN;
  for (let half = SMALLEST_WINDOW / 2; ; half *= 2) {
    // One more on each side: the neighbours that keep their keys.
    const leftOuter = fill(left, before, half + 1);
    const rightOuter = fill(right, after, half + 1);
    const entries = [...left.slice(0, half).reverse(), middle, ...right.slice(0, half)];
    const keys = orderKeysBetween(leftOuter, rightOuter, entries.length);
    const isWhole = leftOuter === null && rightOuter === null;
    if (isWhole || keys.every((key) => key.length <= longest)) return { entries, keys };
    longest = Math.max(longest - GAIN_PER_DOUBLING, SHORT_KEY_LENGTH);
  }
}

/** Fills a list up to a count. @returns the key of the last one, null when there are fewer */
function fill<Entry extends { readonly orderKey: string }>(
  list: Entry[],
  more: Iterator<Entry>,
  count: number,
): string | null {
  while (list.length < count) {
    const next = more.next();
    if (next.done === true) return null;
    list.push(next.value);
  }
  return (list[count - 1] as Entry).orderKey;
}

/**
 * The order in which the new keys of a window can be written one after another, so that no entry gets a key another one
 * still has: entries moving right from the right end, then entries moving left from the left end.
 */
export function* relabelOrder<Entry extends { readonly orderKey: string }>({
  entries,
  keys,
}: OrderWindow<Entry>): Generator<readonly [Entry, string], void> {
  for (let index = entries.length - 1; index >= 0; index--) {
    const [entry, key] = [entries[index] as Entry, keys[index] as string];
    if (key > entry.orderKey) yield [entry, key];
  }
  for (let index = 0; index < entries.length; index++) {
    const [entry, key] = [entries[index] as Entry, keys[index] as string];
    if (key < entry.orderKey) yield [entry, key];
  }
}
