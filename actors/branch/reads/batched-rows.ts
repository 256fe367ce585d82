import type { ChildEntry, NodeReader } from '#runtime/tree/node-reader.ts';

/** Children read at a time. */
const CHILDREN_PER_PART = 256;

/**
 * The children of a node in editorial order, in parts: no range is open between two parts.
 *
 * @param after start after this order key
 * @param most the most children to return
 * @returns the children; yields undefined where the walk may pause without a new child
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
