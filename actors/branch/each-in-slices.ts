/**
 * Handles items one after the other.
 *
 * @param handle may be in steps itself; what it does for one item without a rest is to be short
 * @returns yields behind each item, where the work may rest
 */
export function* eachInSlices<T>(
  items: Iterable<T>,
  handle: (item: T) => Generator<undefined, void> | void,
): Generator<undefined, void> {
  for (const item of items) {
    const steps = handle(item);
    if (steps !== undefined) yield* steps;
    yield;
  }
}
