import type { BranchEntry, UpdateBranch } from '#actors/repository/messages.ts';
import { parseRevision, type Revision } from '#runtime/content/revision.ts';
import type { ServiceError } from '#runtime/errors/service-error.ts';
import { givenText } from '#runtime/sql-plan/given-values.ts';
import type { GivenText } from '#runtime/sql-syntax/nodes/given-nodes.ts';
import type { Span } from '#runtime/sql-syntax/nodes/syntax-nodes.ts';
import { sqlError } from '#runtime/sql-syntax/sql-error.ts';
import { requireBranchNamed } from '../../versioning/branch-lookup.ts';
import type { BranchStatementContext } from '../ports.ts';
import { oneRow, type SessionRows } from '#protocols/sql/session-rows.ts';

/** The text that a statement gives. @throws {ServiceError} as {@link givenText} */
export function textOf(context: BranchStatementContext, node: GivenText): string {
  return givenText(node, context, context.source);
}

/** The text that a statement gives, if it gives one. @throws {ServiceError} as {@link givenText} */
export function optionalTextOf(
  context: BranchStatementContext,
  node: GivenText | undefined,
): string | undefined {
  return node === undefined ? undefined : textOf(context, node);
}

/** The error for a part of the statement. @returns `VALIDATION_FAILED` */
export function refused(context: BranchStatementContext, text: string, span: Span): ServiceError {
  return sqlError(text, context.source, span);
}

/**
 * The branch of a name; a tag does not count.
 *
 * @throws {ServiceError} `BRANCH_NOT_FOUND`; `UNAUTHORIZED`, `FORBIDDEN` for who is no administrator
 */
export function branchNamed(context: BranchStatementContext, name: string): Promise<BranchEntry> {
  return requireBranchNamed(context, context.delivery.caller, context.repository, name);
}

/** Changes a branch. @throws {ServiceError} as {@link UpdateBranch}; `UNAUTHORIZED`, `FORBIDDEN` */
export async function updateBranch(
  context: BranchStatementContext,
  name: string,
  changes: Omit<UpdateBranch, 'type' | 'name'>,
): Promise<void> {
  const command: UpdateBranch = { type: 'UpdateBranch', name, ...changes };
  await context.router.command(context.repository.actor, command, context.delivery);
}

/** The answer of a statement that changed the list of branches. */
export function done(result: string): SessionRows {
  return oneRow({ result, success: true });
}

/** Reads a revision; a bare number is the first one of a millisecond. @throws {ServiceError} `INVALID_REVISION_NUMBER` */
export function revisionOf(text: string): Revision {
  return parseRevision(/^\d+$/.test(text) ? `${text}-0` : text);
}
