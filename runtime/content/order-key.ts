import { generateKeyBetween, generateNKeysBetween } from 'fractional-indexing';

/**
 * Length above which siblings around a key get new keys. Repeated inserts into the same gap make a key one character
 * longer about every six times.
 */
export const ORDER_KEY_LENGTH_MAX = 160;

/**
 * A key that sorts between two siblings, in byte order.
 *
 * @param after key of the sibling before the gap; null at the beginning
 * @param before key of the sibling after the gap; null at the end
 */
export function orderKeyBetween(after: string | null, before: string | null): string {
  return generateKeyBetween(after, before);
}

/** `count` short keys in order between two siblings. */
export function orderKeysBetween(
  after: string | null,
  before: string | null,
  count: number,
): readonly string[] {
  return generateNKeysBetween(after, before, count);
}
