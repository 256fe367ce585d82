import type { ChildEntry, NodeReader } from '#runtime/tree/node-reader.ts';

/** Children taken at a time. */
const CHILDREN_PER_PART = 256;

/**
 * The children of a node in editorial order, in parts: between two of them no range is open.
 *
 * @param after begin behind this order key
 * @param most children wanted at most
 * @returns the children; yields undefined where the walk may rest although nothing was found
 */
export function* childrenInBatches(
  tree: NodeReader,
  workspace: string,
  parentId: string,
  after?: string,
  most: number = Number.POSITIVE_INFINITY,
): Generator<ChildEntry | undefined, void> {
  let behind = after;
  for (let left = most; left > 0; ) {
    const range = behind === undefined ? {} : { after: behind };
    const part = tree.childrenPart(workspace, parentId, range, Math.min(CHILDREN_PER_PART, left));
    yield* part.entries;
    left -= part.entries.length;
    if (part.next === undefined) return;
    behind = part.next;
    yield undefined;
  }
}

/** The first items of a sequence, which is then closed. */
export function take<T>(items: Iterable<T>, most: number): T[] {
  const taken: T[] = [];
  if (most <= 0) return taken;
  for (const item of items) {
    taken.push(item);
    if (taken.length >= most) break;
  }
  return taken;
}
