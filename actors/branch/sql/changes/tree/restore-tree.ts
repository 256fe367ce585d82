import { invalid, ServiceError } from '#runtime/errors/service-error.ts';
import type { NodeRecord } from '#runtime/tree/record/node-record.ts';
import type { EditScope } from '../../../edit-scope.ts';
import { PlannedWrites } from '../../../merge/planned-writes.ts';
import { eachBelow, requireUnpublished, subtree } from '../../../nodes/delete-node.ts';
import { hasSameContent, RESTORED_WORK, restoredContent } from './restore-content.ts';
import type { RestoredMoment, RestoredNode } from './restored-moment.ts';

/**
 * Restores the nodes of a subtree that exist now. Those that were deleted since stay deleted, and those that came since stay
 * as they are. Nodes may exchange names.
 *
 * @param node its top, which the caller may update
 * @returns the nodes that were there then, and the path of the top
 * @throws {ServiceError} `PERMISSION_DENIED` unless the caller may update every node of it, those that were there then with all
 *   of their properties, and read each earlier state whole;
 *   `VALIDATION_FAILED`, naming the node, for a state that the present types do not allow and for a published node that would
 *   get another name; `NODE_ALREADY_EXISTS` for a name that is taken; `COMMIT_TOO_LARGE`
 */
export function* restoreTree(
  edit: EditScope,
  node: RestoredNode,
  moment: RestoredMoment,
  locales: readonly string[] | undefined,
): Generator<undefined, { readonly count: number; readonly path: string }> {
  const { record: top, workspace } = node;
  const records = yield* subtree(edit, workspace, top);
  // First, because the errors of the others name nodes.
  yield* eachBelow(edit, records, top, (record) =>
    edit.access.authorizeBelow('update', workspace, record, top.path),
  );
  // Nodes may exchange unique values. They are compared behind the statement.
  edit.writer.deferUniques();
  const details = { restored: moment.revision };
  const renames = new PlannedWrites(edit, { noun: 'restore', details });
  let count = 0;
  for (const record of records) {
    yield;
    edit.turn.budget.spend(RESTORED_WORK);
    const state = yield* moment.stateOf(workspace, record.id);
    if (state === undefined) continue;
    count += 1;
    // Of every node, so that the answer does not tell which of them have changed.
    edit.access.authorizeAllFields('update', workspace, record);
    if (!moment.showsWhole(workspace, state)) throw hiddenBelow(top);
    if (hasSameContent(record, state)) continue;
    const next = yield* naming(record.path, contentOf(edit, workspace, record, state, locales));
    if (next === undefined) continue;
    if (next.name !== record.name) planRename(renames, workspace, record, next);
    else {
      yield* edit.replaceInSteps(workspace, record, next);
      edit.audit(workspace, next, 'Restore', { revision: moment.revision });
    }
  }
  if (renames.size === 0) return { count, path: top.path };
  yield* renames.followMoved();
  yield* requirePermitted(edit, renames, top);
  yield* renames.write();
  return { count, path: yield* renames.pathOf(workspace, top.id) };
}

function* contentOf(
  edit: EditScope,
  workspace: string,
  record: NodeRecord,
  state: NodeRecord,
  locales: readonly string[] | undefined,
): Generator<undefined, NodeRecord | undefined> {
  edit.requireMutable(workspace, record);
  const isRenamed = state.name !== record.name;
  // What is planned is written with the version after this one.
  const change = isRenamed ? { name: state.name, version: record.version } : {};
  return yield* restoredContent(edit, workspace, record, state, locales, change);
}

function planRename(renames: PlannedWrites, workspace: string, present: NodeRecord, next: NodeRecord): void {
  const { id, translations } = next.header;
  renames.set({
    workspace,
    id,
    present,
    content: next,
    translations,
    operation: 'modified',
    changedLocale: null,
    isPlaced: false,
  });
}

/**
 * Asks about every node that gets another path, as a renaming does.
 *
 * @throws {ServiceError} `PERMISSION_DENIED`; `VALIDATION_FAILED` for a published node; `NODE_ALREADY_EXISTS`
 */
function* requirePermitted(
  edit: EditScope,
  renames: PlannedWrites,
  top: NodeRecord,
): Generator<undefined, void> {
  const { access, head } = edit;
  for (const { id, present, workspace } of renames.nodes) {
    yield;
    const record = present as NodeRecord;
    const path = yield* renames.pathOf(workspace, id);
    access.together(() => {
      access.authorizePath(workspace, record, path);
      access.authorizeThere('update', workspace, record, path);
    });
    requireUnpublished(record, 'rename', top.path);
    const taker = head.idAt(workspace, path);
    if (taker === undefined || renames.of(workspace, taker) !== undefined) continue;
    throw new ServiceError('NODE_ALREADY_EXISTS', `Node '${path}' already exists`);
  }
}

/** Says in errors about a state which node it is of. */
function* naming<T>(path: string, work: Generator<undefined, T>): Generator<undefined, T> {
  try {
    return yield* work;
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code !== 'VALIDATION_FAILED') throw error;
    const { details, field } = error;
    throw invalid(`The restore would make '${path}' invalid: ${error.message}`, {
      ...(field === undefined ? {} : { field }),
      details: { ...details, path },
      cause: error,
    });
  }
}

function hiddenBelow({ path }: NodeRecord): ServiceError {
  return new ServiceError(
    'PERMISSION_DENIED',
    `Permission denied: cannot read every earlier state below ${path}`,
  );
}
