/**
 * Merges two sorted lists. One of them is returned as it is where the other is empty.
 *
 * @param isBefore whether the first item comes before the second, in the order of both lists
 */
export function mergeSorted<T>(
  one: readonly T[],
  other: readonly T[],
  isBefore: (a: T, b: T) => boolean,
): readonly T[] {
  if (other.length === 0) return one;
  if (one.length === 0) return other;
  const merged: T[] = [];
  let [i, j] = [0, 0];
  while (i < one.length && j < other.length) {
    const [a, b] = [one[i] as T, other[j] as T];
    const takesFirst = isBefore(a, b);
    merged.push(takesFirst ? a : b);
    if (takesFirst) i += 1;
    else j += 1;
  }
  return merged.concat(one.slice(i), other.slice(j));
}
