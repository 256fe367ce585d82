import { invalid } from '#runtime/errors/service-error.ts';
import type { PlacedReference } from '#runtime/sql-syntax/nodes/tree-nodes.ts';
import type { NodePlace } from '../../../read-messages.ts';
import type { ChangeContext } from '../change-context.ts';
import { isRoot, mayExist, missing, placedWorkspace, placeOf, requireNamed } from './named-nodes.ts';
import type { RestoredNode } from './restored-moment.ts';

/** Most workspaces that an error names. */
const NAMED_WORKSPACES_MAX = 10;

/**
 * The node that a RESTORE names. Without IN WORKSPACE it is looked for in all workspaces.
 *
 * @throws {ServiceError} `NODE_NOT_FOUND`, also for a deleted one; `WORKSPACE_NOT_FOUND`; `PERMISSION_DENIED` for a node that
 *   may not be updated; `VALIDATION_FAILED` for one that several workspaces have
 */
export function* findRestored(
  change: ChangeContext,
  { node, workspace: given }: PlacedReference,
): Generator<undefined, RestoredNode> {
  const place = placeOf(change, node);
  if (isRoot(place)) throw invalid("RESTORE: Root node '/' cannot be restored");
  if (!mayExist(place)) throw missing('Node', place);
  const workspace =
    given === undefined ? yield* workspaceWith(change, place) : placedWorkspace(change, given);
  const record = yield* requireNamed(change, workspace, place, 'update', 'Node');
  return { workspace, record, place };
}

/** The workspace that has a node which the caller may read. Yields between two workspaces. */
function* workspaceWith({ edit }: ChangeContext, place: NodePlace): Generator<undefined, string> {
  const found: string[] = [];
  for (const { name } of edit.state.workspaces()) {
    yield;
    const record = yield* 'path' in place
      ? edit.head.byPathInSteps(name, place.path)
      : edit.head.byIdInSteps(name, place.id);
    if (record !== undefined && edit.access.mayRead(name, record)) found.push(name);
  }
  const [first, ...others] = found;
  if (first === undefined) throw missing('Node', place);
  if (others.length === 0) return first;
  const named = 'path' in place ? `at path '${place.path}'` : `with id '${place.id}'`;
  const names = found.slice(0, NAMED_WORKSPACES_MAX).map((name) => `'${name}'`);
  throw invalid(
    `There is a node ${named} in ${found.length} workspaces, for example ${names.join(', ')}: say which with IN WORKSPACE`,
    { field: 'workspace' },
  );
}
