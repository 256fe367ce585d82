import { ServiceError } from '#runtime/errors/service-error.ts';
import type { RestoreStatement } from '#runtime/sql-syntax/nodes/tree-nodes.ts';
import { bigintType, textType } from '#runtime/sql-values/types/basic-types.ts';
import type { NodeRecord } from '#runtime/tree/record/node-record.ts';
import { renameSubtree } from '../../../nodes/move-node.ts';
import { OpenBranches } from '../../branch-tables.ts';
import type { ChangeContext, StatementResult } from '../change-context.ts';
import { orConflict } from '../taken-path.ts';
import { findRestored } from './find-restored.ts';
import { givenLocale } from './given-locale.ts';
import { missing } from './named-nodes.ts';
import { restoredContent } from './restore-content.ts';
import { restoreTree } from './restore-tree.ts';
import { type RestoredMoment, type RestoredNode, restoredMoment } from './restored-moment.ts';

/**
 * Restores a node, or with TREE a subtree, to an earlier state as a new one: names, properties, archetypes and translations.
 * The place in the tree, publication, owner and relations stay.
 *
 * @returns `result`, `affected_rows`, `path` and the revision that was restored
 * @throws {ServiceError} as `findRestored`, `restoredMoment` and `restoreVersion`; `NODE_NOT_FOUND` for a node that was not
 *   there then, or that the caller could not read; `NODE_ALREADY_EXISTS` for a name that is taken
 * @see docs/interface/sql-tree.md#restore
 */
export function* restoreStatement(
  change: ChangeContext,
  statement: RestoreStatement,
): Generator<undefined, StatementResult> {
  const { edit } = change;
  const locales = statement.translations?.map((given) => givenLocale(change, given, 'RESTORE'));
  const node = yield* findRestored(change, statement.node);
  const { state, turn } = edit;
  // Another branch stays open while it is read.
  const branches = new OpenBranches({
    state,
    context: turn,
    reader: turn,
    schemas: state.commandSchemas,
    moment: undefined,
  });
  try {
    const moment = yield* restoredMoment(change, branches.own, node, statement.revision);
    const restored = statement.isTree
      ? yield* restoreTree(edit, node, moment, locales)
      : yield* restoreNode(change, node, moment, locales);
    return resultOf(node, moment, restored, statement.isTree);
  } finally {
    branches.close();
  }
}

interface Restored {
  readonly count: number;
  /** Of the top node, after it. */
  readonly path: string;
}

function* restoreNode(
  { edit }: ChangeContext,
  node: RestoredNode,
  moment: RestoredMoment,
  locales: readonly string[] | undefined,
): Generator<undefined, Restored> {
  const { record: old, workspace } = node;
  const { id } = old.header;
  const state = yield* stateThen(node, moment);
  // It may have other values of properties that are hidden, or that may not be changed.
  edit.access.authorizeAllFields('update', workspace, old);
  if (!moment.showsWhole(workspace, state)) throw hiddenProperties(old);
  edit.requireMutable(workspace, old);
  const { name } = state.header;
  const isRenamed = name !== old.header.name;
  if (isRenamed) yield* orConflict(renameSubtree(edit, workspace, old, name));
  const present = isRenamed ? ((yield* edit.head.byIdInSteps(workspace, id)) as NodeRecord) : old;
  // The node gets one new version, by its new name.
  const change = isRenamed ? { version: present.header.version } : {};
  const next = yield* restoredContent(edit, workspace, present, state, locales, change);
  if (next !== undefined) {
    yield* edit.replaceInSteps(workspace, present, next);
    edit.audit(workspace, next, 'Restore', { revision: moment.revision });
  }
  return { count: 1, path: present.header.path };
}

/**
 * The state of a node at a moment.
 *
 * @throws {ServiceError} `NODE_NOT_FOUND` when it was not there, or may not be read
 */
function* stateThen(
  { place, record, workspace }: RestoredNode,
  moment: RestoredMoment,
): Generator<undefined, NodeRecord> {
  const state = yield* moment.stateOf(workspace, record.header.id);
  if (state !== undefined && moment.mayRead(workspace, state)) return state;
  const { message } = missing('Node', place);
  throw new ServiceError('NODE_NOT_FOUND', `${message} in revision '${moment.revision}'`);
}

function hiddenProperties({ path }: NodeRecord): ServiceError {
  return new ServiceError(
    'PERMISSION_DENIED',
    `Permission denied: cannot read every property of the earlier state of node ${path}`,
  );
}

function resultOf(
  { record }: RestoredNode,
  { revision }: RestoredMoment,
  { count, path }: Restored,
  isTree: boolean,
): StatementResult {
  const what = isTree ? 'Tree' : 'Node';
  return {
    columns: [
      { name: 'result', type: textType },
      { name: 'affected_rows', type: bigintType },
      { name: 'path', type: textType },
      { name: 'revision', type: textType },
    ],
    rows: [[`${what} '${path}' restored`, BigInt(count), path, revision]],
    message: `Restored ${what.toLowerCase()}: ${record.header.id}`,
  };
}
