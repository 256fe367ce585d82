import { unreachable } from '#runtime/base/assert.ts';
import type { BoundChange, BoundDelete, BoundUpdate } from '#runtime/sql-plan/bound/bound-change.ts';
import type { DataStatement } from '#runtime/sql-syntax/nodes/data-nodes.ts';
import { sqlError } from '#runtime/sql-syntax/sql-error.ts';
import { boundChange } from '../../kept-bindings.ts';
import type { StatementResult } from '../change-context.ts';
import { type DataChange, isLongText } from './data-change.ts';
import { deleteNodes } from './delete-nodes.ts';
import { insertRows } from './insert-rows.ts';
import { updateNodes } from './update-nodes.ts';

/** Runs INSERT, UPSERT, UPDATE or DELETE. @throws {ServiceError} those of the statement */
export function* changeData(
  change: DataChange,
  statement: DataStatement,
): Generator<undefined, StatementResult> {
  const bound = boundChange(statement, change.source, change.scope);
  if (isLongText(change.source)) yield;
  if (bound.kind !== 'insert') requireHere(change, statement, bound);
  return yield* run(change, bound);
}

function run(change: DataChange, bound: BoundChange): Generator<undefined, StatementResult> {
  switch (bound.kind) {
    case 'insert':
      return insertRows(change, bound);
    case 'update':
      return updateNodes(change, bound);
    case 'delete':
      return deleteNodes(change, bound);
    default:
      return unreachable(bound);
  }
}

/** The statement writes this branch, and what it writes is not the work of a job. @throws {ServiceError} `VALIDATION_FAILED` */
function requireHere(
  { isTransaction, source }: DataChange,
  { span }: DataStatement,
  { branch, point }: BoundUpdate | BoundDelete,
): void {
  if (branch !== undefined)
    throw sqlError(`Branch '${branch}' cannot be written here: the branch is fixed at BEGIN`, source, span);
  if (point === undefined && !isTransaction)
    throw sqlError('A statement that may change many nodes is run as a job, or in a transaction', source, span);
}
