import { parseRevision } from '#runtime/content/revision.ts';
import { nodeNotFound } from '#runtime/errors/service-error.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { hasNode } from '#runtime/tree/node-reader.ts';
import { renderNodeInSteps } from '#runtime/tree/render-node.ts';
import { type SeesNode, shownRelations } from '#runtime/tree/shown-relations.ts';
import type { BranchState } from '../branch-state.ts';
import type { BranchCommand, NodeWritten } from '../messages.ts';
import { treeAt } from '#runtime/tree/past-node-reader.ts';

/** {@link NodeWritten} without the node, which can be read at its revision. */
interface ShortWritten extends Omit<NodeWritten, 'node'> {
  readonly node: null;
}

/** The part of a command's result to keep: omits the node just stored if it is longer than `wholeMax`. */
export function shortenWritten(result: unknown, wholeMax: number): unknown {
  if (!isWritten(result) || result.node.length <= wholeMax) return result;
  return { ...result, node: null } satisfies ShortWritten;
}

/**
 * Rebuilds the result of a command from the kept part.
 *
 * @param view the state as a command sees it; the node may have been changed since
 * @returns yields where the work may pause, which it does only for a large node or one with relations
 * @throws {ServiceError} `NODE_NOT_FOUND` when the head has since been moved back to before the command
 */
export function* recallWritten(
  state: BranchState,
  kept: unknown,
  command: BranchCommand,
  view: TableReader,
): Generator<undefined, unknown> {
  if (!isShort(kept) || !('workspace' in command)) return kept;
  const { workspace } = command;
  const { nodeId, revision } = kept;
  const at = parseRevision(revision);
  const reader = treeAt(view, at);
  const record = yield* reader.byIdInSteps(workspace, nodeId);
  if (record === undefined) throw nodeNotFound({ id: nodeId });
  const hasChildren = reader.hasChildren(workspace, nodeId);
  const pins = state.workspace(workspace).config.node_type_pins;
  const type = state.commandSchemas.get(view, { at, pins }).nodeType(record.nodeType);
  const sees: SeesNode = (other, id) => hasNode(reader, other, id);
  const relations = (yield* shownRelations(record, sees))?.relations;
  const node = yield* renderNodeInSteps(record, { workspace, hasChildren, type, relations });
  return { ...kept, node } satisfies NodeWritten;
}

function isWritten(result: unknown): result is NodeWritten {
  return typeof result === 'object' && result !== null && 'node' in result && typeof result.node === 'string';
}

function isShort(kept: unknown): kept is ShortWritten {
  return typeof kept === 'object' && kept !== null && 'node' in kept && kept.node === null;
}
