import { actorName } from '#runtime/access/principal.ts';
import type { Revision } from '#runtime/content/revision.ts';
import type { CreateBranchStatement } from '#runtime/sql-syntax/nodes/branch-nodes.ts';
import type { NewBranch } from '../../ports.ts';
import type { BranchStatementContext } from '../ports.ts';
import type { SessionRows } from '#protocols/sql/session-rows.ts';
import { revisionBack } from './relative-revision.ts';
import { done, optionalTextOf, revisionOf, textOf } from './statement-access.ts';

/** Where a branch begins. */
interface Origin {
  /** Undefined: any branch that has the revision. */
  readonly source: string | undefined;
  /** Undefined: the head of the source. */
  readonly revision: Revision | undefined;
}

/**
 * Runs CREATE BRANCH. Without FROM the branch that the session uses is forked; with a revision alone, a branch that has it.
 *
 * @throws {ServiceError} as `BranchProvisioning.createBranch`; `INVALID_REVISION_NUMBER`; as {@link revisionBack}
 * @see docs/interface/sql-branches.md#creating-a-branch
 */
export async function createBranch(
  statement: CreateBranchStatement,
  context: BranchStatementContext,
): Promise<SessionRows> {
  const name = textOf(context, statement.name);
  const { revision, source } = await originOf(statement, context);
  const upstream = optionalTextOf(context, statement.upstream);
  await context.branches.createBranch(
    context.repository,
    {
      name,
      createdBy: actorName(context.delivery.caller.principal),
      protected: statement.isProtected,
      description: optionalTextOf(context, statement.description) ?? null,
      ...branchesOf(source, upstream),
      ...(revision === undefined ? {} : { fromRevision: revision }),
    },
    context.delivery,
  );
  return done(`Branch '${name}' created`);
}

/** The upstream of a branch is what it was forked from, unless the statement names another. */
function branchesOf(
  source: string | undefined,
  upstream: string | undefined,
): Pick<NewBranch, 'sourceBranch' | 'upstreamBranch'> {
  if (source === undefined) return upstream === undefined ? {} : { upstreamBranch: upstream };
  return upstream === undefined
    ? { upstreamBranch: source }
    : { sourceBranch: source, upstreamBranch: upstream };
}

async function originOf(
  { at, from, span }: CreateBranchStatement,
  context: BranchStatementContext,
): Promise<Origin> {
  const given = optionalTextOf(context, from);
  if (at === undefined) return { source: given ?? context.currentBranch, revision: undefined };
  if (at.kind === 'revision') return { source: given, revision: revisionOf(textOf(context, at.revision)) };
  const counted = at.branch ?? given ?? context.currentBranch;
  return { source: given ?? counted, revision: await revisionBack(context, counted, at, span) };
}
