import { invalid } from '#runtime/errors/service-error.ts';
import type { TreeStatement } from '#runtime/sql-syntax/nodes/tree-nodes.ts';
import type { ChangeContext, RunChange, StatementResult } from '../change-context.ts';
import { copyStatement } from './copy-statement.ts';
import { moveStatement } from './move-statement.ts';
import { textOf } from './named-nodes.ts';
import { orderStatement } from './order-statement.ts';
import { relateStatement, unrelateStatement } from './relate-statement.ts';
import { restoreStatement } from './restore-statement.ts';
import { translateStatement } from './translate-statement.ts';

/** The function of each statement. The record is total: a new kind does not compile until it is handled. */
const statements: {
  readonly [K in TreeStatement['kind']]: RunChange<Extract<TreeStatement, { kind: K }>>;
} = {
  move: moveStatement,
  copy: copyStatement,
  order: orderStatement,
  relate: relateStatement,
  unrelate: unrelateStatement,
  restore: restoreStatement,
  translate: translateStatement,
};

/**
 * Runs a statement about the tree of a workspace. A node that the caller may not read counts as missing.
 *
 * @throws {ServiceError} `VALIDATION_FAILED` for `IN BRANCH` with another branch than the one that runs it; the errors of the
 *   statement
 * @see docs/interface/sql-tree.md
 */
export const changeTree: RunChange<TreeStatement> = function* (
  change: ChangeContext,
  statement: TreeStatement,
): Generator<undefined, StatementResult> {
  requireOwnBranch(change, statement);
  const run = statements[statement.kind] as RunChange<TreeStatement>;
  return yield* run(change, statement);
};

/** The session sends a statement to the branch it names, unless that is fixed: within a transaction. */
function requireOwnBranch(change: ChangeContext, { branch }: TreeStatement): void {
  if (branch === undefined) return;
  const name = textOf(change, branch);
  const own = change.scope.branch;
  if (name !== own) throw invalid(`The statement is for branch '${name}', and is run on branch '${own}'`);
}
