import { ServiceError } from '#runtime/errors/service-error.ts';
import type { AlterBranchStatement, DropBranchStatement } from '#runtime/sql-syntax/nodes/branch-nodes.ts';
import type { BranchStatementContext } from '../ports.ts';
import type { SessionRows } from '#protocols/sql/session-rows.ts';
import { done, optionalTextOf, refused, textOf, updateBranch } from './statement-access.ts';

/**
 * Runs ALTER BRANCH.
 *
 * @throws {ServiceError} `VALIDATION_FAILED` for RENAME TO; as {@link updateBranch}
 * @see docs/interface/sql-branches.md#changing-a-branch
 */
export async function alterBranch(
  { change, name: given, span }: AlterBranchStatement,
  context: BranchStatementContext,
): Promise<SessionRows> {
  const name = textOf(context, given);
  switch (change.kind) {
    case 'rename':
      throw refused(context, 'RENAME TO is not supported', span);
    case 'protected':
      await updateBranch(context, name, { protected: change.isProtected });
      break;
    case 'description':
      await updateBranch(context, name, { description: textOf(context, change.text) });
      break;
    case 'upstream':
      await updateBranch(context, name, { upstreamBranch: optionalTextOf(context, change.upstream) ?? null });
      break;
  }
  return done(`Branch '${name}' altered`);
}

/**
 * Runs DROP BRANCH.
 *
 * @throws {ServiceError} as `BranchProvisioning.removeBranch`
 * @see docs/interface/sql-branches.md#dropping-a-branch
 */
export async function dropBranch(
  { ifExists, name: given }: DropBranchStatement,
  context: BranchStatementContext,
): Promise<SessionRows> {
  const name = textOf(context, given);
  try {
    await context.branches.removeBranch(context.repository, name, context.delivery);
  } catch (error) {
    const isMissing = error instanceof ServiceError && error.code === 'BRANCH_NOT_FOUND';
    if (!isMissing || !ifExists) throw error;
    return done(`Branch '${name}' does not exist`);
  }
  return done(`Branch '${name}' dropped`);
}
