import type { ChildEntry, NodeReader } from '#runtime/tree/node-reader.ts';

/** Children taken at a time. */
const ROWS_PER_BATCH = 256;

/** The children of a node in editorial order, in batches: between two of them no range is open. */
export function* childrenInBatches(
  tree: NodeReader,
  workspace: string,
  parentId: string,
): Generator<ChildEntry, void> {
  let after: string | undefined;
  for (;;) {
    const range = after === undefined ? {} : { after };
    const batch = take(tree.children(workspace, parentId, range), ROWS_PER_BATCH);
    yield* batch;
    const last = batch.at(-1);
    if (last === undefined || batch.length < ROWS_PER_BATCH) return;
    after = last.orderKey;
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
