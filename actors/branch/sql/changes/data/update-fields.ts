import { invalid } from '#runtime/errors/service-error.ts';
import type { NodeRecord } from '#runtime/tree/record/node-record.ts';
import type { EditScope } from '../../../edit-scope.ts';
import { carryOutMove, type PlannedMove, planMove, planRename } from '../../../nodes/move-node.ts';
import { replacedNode } from '../../../nodes/update-node.ts';
import { requireFewValues } from '../../../nodes/values-bound.ts';
import { orConflict } from '../taken-path.ts';
import { unwrappedProperties, type WrittenFields } from './written-fields.ts';

/**
 * Writes some fields of a node as one change: its version grows by one. Everything is checked before anything is written, so an
 * error leaves the node as it was.
 *
 * @returns yields where the work may pause
 * @throws {ServiceError} `VALIDATION_FAILED`; `PERMISSION_DENIED`, `NODE_NOT_FOUND` for a node that the caller may not see;
 *   `NODE_ALREADY_EXISTS` for a path that is taken; `COMMIT_TOO_LARGE`
 */
export function* updateFields(
  edit: EditScope,
  workspace: string,
  old: NodeRecord,
  fields: WrittenFields,
): Generator<undefined, void> {
  if (fields.nodeType !== undefined && fields.nodeType !== old.nodeType)
    throw invalid('Cannot change node_type after creation', { field: 'node_type' });
  const { name, nodeType: _type, path, ...content } = fields;
  const isOnlyMoved = path !== undefined && Object.keys(content).length === 0;
  if (!isOnlyMoved) edit.access.authorize('update', workspace, old);
  const changed = Object.keys(content).length === 0 ? undefined : yield* withContent(edit, workspace, old, content);
  const move = yield* orConflict(plannedMove(edit, workspace, old, name, path));
  if (changed !== undefined) yield* edit.writer.prepare(workspace, changed);
  if (move !== undefined) yield* carryOutMove(edit, workspace, move, changed);
  else if (changed !== undefined) yield* edit.replaceInSteps(workspace, old, changed);
  if (changed !== undefined) edit.audit(workspace, changed, 'Update');
}

function* withContent(
  edit: EditScope,
  workspace: string,
  old: NodeRecord,
  { properties, ...others }: Pick<WrittenFields, 'properties' | 'translations' | 'archetype' | 'ownerId'>,
): Generator<undefined, NodeRecord> {
  const type = edit.schema(workspace).nodeType(old.nodeType);
  const given =
    properties === undefined ? others : { ...others, properties: unwrappedProperties(properties, type) };
  const changed = yield* replacedNode(edit, workspace, old, given);
  yield* requireFewValues(edit, old, changed);
  return changed;
}

/** The change of the path of a node: of the last part with its subtree, or of the node alone to any other place. */
function* plannedMove(
  edit: EditScope,
  workspace: string,
  old: NodeRecord,
  name: string | undefined,
  path: string | undefined,
): Generator<undefined, PlannedMove | undefined> {
  if (path === undefined) return name === undefined ? undefined : yield* planRename(edit, workspace, old, name);
  // As a move by REST, which takes the node from one place and puts it to another.
  edit.access.authorize('delete', workspace, old);
  if (path === old.path) return undefined;
  return yield* planMove(edit, workspace, old, path, true);
}
