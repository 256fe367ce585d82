import { invalid, ServiceError } from '#runtime/errors/service-error.ts';
import { givenValue } from '#runtime/sql-plan/given-values.ts';
import type { GivenValue } from '#runtime/sql-syntax/nodes/given-nodes.ts';
import type { RelateStatement, UnrelateStatement } from '#runtime/sql-syntax/nodes/tree-nodes.ts';
import { sqlError } from '#runtime/sql-syntax/sql-error.ts';
import type { NodeRecord } from '#runtime/tree/record/node-record.ts';
import { dropRelations, knownTarget, putRelation } from '../../../nodes/relations.ts';
import { affectedRows, type ChangeContext, type StatementResult } from '../change-context.ts';
import { mayExist, placedWorkspace, placeOf, requireNamed, textOf } from './named-nodes.ts';

/** The type of a relation without TYPE. */
const DEFAULT_TYPE = 'references';

/**
 * Relates two nodes. There is one relation for a source, type and target: repeating it replaces the weight.
 *
 * @returns `affected_rows`: 1
 * @throws {ServiceError} `NODE_NOT_FOUND` for either node; `PERMISSION_DENIED`; `WORKSPACE_NOT_FOUND`; `VALIDATION_FAILED`
 *   for a node and itself, a bad type, and a weight that is no number
 * @see docs/interface/sql-tree.md#relate-and-unrelate
 */
export function* relateStatement(
  change: ChangeContext,
  statement: RelateStatement,
): Generator<undefined, StatementResult> {
  const { edit } = change;
  const { targetWorkspace, workspace } = workspacesOf(change, statement);
  const type = statement.type === undefined ? DEFAULT_TYPE : textOf(change, statement.type);
  const weight = weightOf(change, statement.weight);
  const source = yield* requireRelated(change, workspace, statement.source, 'relate');
  const place = placeOf(change, statement.target.node);
  const target = yield* requireNamed(change, targetWorkspace, place, 'read', 'Target node');
  const { id } = source.header;
  if (id === target.header.id && workspace === targetWorkspace)
    throw invalid('RELATE: Cannot create a relationship from a node to itself');
  yield* putRelation(edit, workspace, source, { workspace: targetWorkspace, record: target }, type, weight);
  return affectedRows(1, `Related node: ${id}`);
}

/**
 * Removes the relations from a node to another one, which may be deleted: those of a type, or all of them.
 *
 * @returns `affected_rows`: 1, or 0 when there is none
 * @throws {ServiceError} `NODE_NOT_FOUND` for the source; `PERMISSION_DENIED`; `WORKSPACE_NOT_FOUND`
 */
export function* unrelateStatement(
  change: ChangeContext,
  statement: UnrelateStatement,
): Generator<undefined, StatementResult> {
  const { edit } = change;
  const { targetWorkspace, workspace } = workspacesOf(change, statement);
  const type = statement.type === undefined ? undefined : textOf(change, statement.type);
  const source = yield* requireRelated(change, workspace, statement.source, 'unrelate');
  const place = placeOf(change, statement.target.node);
  const id = mayExist(place) ? yield* knownTarget(edit, targetWorkspace, place) : undefined;
  const isRemoved =
    id !== undefined &&
    (yield* dropRelations(edit, workspace, source, { workspace: targetWorkspace, id }, type));
  return affectedRows(isRemoved ? 1 : 0, `Unrelated node: ${source.header.id}`);
}

/** The workspaces of both ends of a relation. */
function workspacesOf(
  change: ChangeContext,
  { source, target }: Pick<RelateStatement, 'source' | 'target'>,
): { readonly workspace: string; readonly targetWorkspace: string } {
  return {
    workspace: placedWorkspace(change, source.workspace),
    targetWorkspace: placedWorkspace(change, target.workspace),
  };
}

function* requireRelated(
  change: ChangeContext,
  workspace: string,
  { node }: RelateStatement['source'],
  operation: 'relate' | 'unrelate',
): Generator<undefined, NodeRecord> {
  try {
    return yield* requireNamed(change, workspace, placeOf(change, node), operation, 'Source node');
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code !== 'PERMISSION_DENIED') throw error;
    const what = operation === 'relate' ? 'add' : 'remove';
    throw new ServiceError(
      'PERMISSION_DENIED',
      `Cannot ${what} relation from node in workspace '${workspace}'`,
    );
  }
}

function weightOf({ scope, source }: ChangeContext, given: GivenValue | undefined): number | null {
  if (given === undefined) return null;
  const weight = givenValue(given, scope, source);
  if (weight === null || typeof weight === 'number') return weight;
  throw sqlError('WEIGHT must be a number', source, given.span);
}
