import type { ManagedBranchStatement } from '#protocols/sql/session-ports.ts';
import type { BranchStatementContext } from '../ports.ts';
import { oneRow, type SessionRows } from '#protocols/sql/session-rows.ts';
import { alterBranch, dropBranch } from './change-branch.ts';
import { createBranch } from './create-branch.ts';
import { mergeBranch } from './merge-branch.ts';
import { describeBranch, showBranches, showDivergence } from './show-branches.ts';
import { showConflicts } from './show-conflicts.ts';

/**
 * Runs a statement about the branches of a repository. All of them but SHOW DIVERGENCE are for administrators, as the routes of
 * branches are.
 *
 * @throws {ServiceError} the errors of the function of its kind
 * @see docs/interface/sql-branches.md
 */
export async function runBranchStatement(
  statement: ManagedBranchStatement,
  context: BranchStatementContext,
): Promise<SessionRows> {
  switch (statement.kind) {
    case 'create-branch':
      return await createBranch(statement, context);
    case 'alter-branch':
      return await alterBranch(statement, context);
    case 'drop-branch':
      return await dropBranch(statement, context);
    case 'merge-branch':
      return await mergeBranch(statement, context);
    case 'show-branches':
      return await showBranches(context);
    case 'show-current-branch':
      return oneRow({ branch: context.currentBranch });
    case 'describe-branch':
      return await describeBranch(statement, context);
    case 'show-divergence':
      return await showDivergence(statement, context);
    case 'show-conflicts':
      return await showConflicts(statement, context);
  }
}
