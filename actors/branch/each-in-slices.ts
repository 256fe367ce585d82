/**
 * Handles items one after another.
 *
 * @param handle may itself run in steps; its work between two pauses must be short
 * @returns yields after each item, where the work may pause
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
