import { hasNode, type NodeReader } from '#runtime/tree/node-reader.ts';
import type { SeesNode } from '#runtime/tree/shown-relations.ts';
import type { NodeAccess } from './node-access.ts';

/** Whether a node is in a tree and may be read; a missing node and an unreadable one give the same result. */
export function seenNodes(tree: NodeReader, access: NodeAccess): SeesNode {
  return function* (workspace, id) {
    if (access.readsAll(workspace)) return yield* hasNode(tree, workspace, id);
    const record = yield* tree.byIdInSteps(workspace, id);
    const isSeen = record !== undefined && access.mayRead(workspace, record);
    // A condition may take some milliseconds.
    yield undefined;
    return isSeen;
  };
}
