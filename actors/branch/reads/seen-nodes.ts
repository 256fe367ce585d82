import type { Policy } from '#runtime/access/policy.ts';
import { hasNode, type NodeReader } from '#runtime/tree/node-reader.ts';
import type { SeesNode } from '#runtime/tree/shown-relations.ts';

/** Whether a node is in a tree and may be read; a missing node and an unreadable one give the same result. */
export function seenNodes(tree: NodeReader, policy: Policy): SeesNode {
  if (policy.unrestricted) return (workspace, id) => hasNode(tree, workspace, id);
  return function* (workspace, id) {
    const record = yield* tree.byIdInSteps(workspace, id);
    if (record === undefined) return false;
    const { path, nodeType } = record;
    return policy.allows('read', { workspace, path, nodeType });
  };
}
