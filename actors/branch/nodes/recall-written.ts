import type { Turn } from '#runtime/commit/behaviour.ts';
import { parseRevision } from '#runtime/content/revision.ts';
import { nodeNotFound } from '#runtime/errors/service-error.ts';
import { Moment } from '#runtime/scan/moment.ts';
import { joinedMark, nodeTag } from '#runtime/tree/node-tag.ts';
import { renderNodeInSteps } from '#runtime/tree/render-node.ts';
import { type SeesNode, shownRelations } from '#runtime/tree/shown-relations.ts';
import type { BranchState } from '../branch-state.ts';
import type { BranchCommand, NodeWritten } from '../messages.ts';
import { NodeAccess } from '../reads/node-access.ts';
import { seenNodes } from '../reads/seen-nodes.ts';

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
 * Rebuilds the result of a command from the kept part, as the caller may see it now.
 *
 * @param turn the state as a command sees it, and the caller; the node may have been changed since
 * @returns yields where the work may pause, which it does only for a large node or one with relations
 * @throws {ServiceError} `NODE_NOT_FOUND` when the head has since been moved back to before the command
 */
export function* recallWritten(
  state: BranchState,
  kept: unknown,
  command: BranchCommand,
  turn: Turn,
): Generator<undefined, unknown> {
  if (!('workspace' in command) || command.workspace === undefined) return kept;
  const { workspace } = command;
  // What the first answer showed may be hidden by now.
  const isKept = isWritten(kept) && turn.caller.policy.unrestricted;
  if (isKept || (!isShort(kept) && !isWritten(kept))) return kept;
  const { nodeId, revision } = kept;
  const at = parseRevision(revision);
  const moment = new Moment(turn, at);
  const stored = yield* moment.tree.byIdInSteps(workspace, nodeId);
  if (stored === undefined) throw nodeNotFound({ id: nodeId });
  const access = new NodeAccess(turn, turn);
  const { mark, record } = yield* access.shownIfReadable(workspace, stored);
  const hasChildren = yield* access.hasChildren(moment, workspace, nodeId);
  const pins = state.workspace(workspace).config.node_type_pins;
  const type = state.commandSchemas.get(turn, { at, pins }).nodeType(record.nodeType);
  const sees: SeesNode = (other, id) => seenNodes(moment.tree, access)(other, id);
  const shown = yield* shownRelations(record, sees, access.marked(record));
  const { relations } = shown ?? {};
  const node = yield* renderNodeInSteps(record, { workspace, hasChildren, type, relations });
  if (kept.tag === undefined || access.policy.unrestricted) return { ...kept, node } satisfies NodeWritten;
  const tag = nodeTag(record.revision, type, hasChildren, joinedMark(shown?.mark, mark));
  return { ...kept, node, tag } satisfies NodeWritten;
}

function isWritten(result: unknown): result is NodeWritten {
  return typeof result === 'object' && result !== null && 'node' in result && typeof result.node === 'string';
}

function isShort(kept: unknown): kept is ShortWritten {
  return typeof kept === 'object' && kept !== null && 'node' in kept && kept.node === null;
}
