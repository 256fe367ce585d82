import type { BranchComparison, CompareBranch } from '#actors/branch/messages.ts';
import type { BranchEntry } from '#actors/repository/messages.ts';
import type { JsonObject } from '#runtime/content/values/json-value.ts';
import type {
  CompareBranchesStatement,
  DescribeBranchStatement,
} from '#runtime/sql-syntax/nodes/branch-nodes.ts';
import { headOfBranch, listBranchHeads } from '../../versioning/branch-lookup.ts';
import type { BranchStatementContext } from '../ports.ts';
import { oneRow, type SessionRows } from '#protocols/sql/session-rows.ts';
import { branchNamed, textOf } from './statement-access.ts';

const LIST_COLUMNS = ['name', 'head', 'protected', 'upstream', 'created_at', 'created_by'] as const;

/** @param head null where the branch is damaged */
function rowOf(entry: BranchEntry, head: string | null): JsonObject {
  return {
    name: entry.name,
    head,
    protected: entry.protected,
    upstream: entry.upstreamBranch,
    created_at: entry.createdAt,
    created_by: entry.createdBy,
  };
}

/**
 * Runs SHOW BRANCHES.
 *
 * @throws {ServiceError} as {@link listBranchHeads}
 * @see docs/interface/sql-branches.md#reading-branches
 */
export async function showBranches(context: BranchStatementContext): Promise<SessionRows> {
  const listed = await listBranchHeads(context, context.delivery.caller, context.repository);
  const rows = listed.map(({ entry, head }) => rowOf(entry, typeof head === 'string' ? head : null));
  return { columns: LIST_COLUMNS, rows };
}

/**
 * Runs DESCRIBE BRANCH.
 *
 * @throws {ServiceError} as {@link branchNamed}
 * @see docs/interface/sql-branches.md#reading-branches
 */
export async function describeBranch(
  { name }: DescribeBranchStatement,
  context: BranchStatementContext,
): Promise<SessionRows> {
  const entry = await branchNamed(context, textOf(context, name));
  const head = await headOfBranch(context, context.delivery.caller, context.repository, entry);
  return oneRow({
    ...rowOf(entry, head),
    created_from: entry.createdFrom,
    description: entry.description,
  });
}

/**
 * Runs SHOW DIVERGENCE. A tag may stand in for a branch.
 *
 * @throws {ServiceError} `BRANCH_NOT_FOUND`; `UNAUTHORIZED` without a login; `VALIDATION_FAILED` for branches that are too far
 *   apart
 * @see docs/interface/sql-branches.md#comparing-branches
 */
export async function showDivergence(
  statement: CompareBranchesStatement,
  context: BranchStatementContext,
): Promise<SessionRows> {
  const { directory, repository, router } = context;
  const branch = textOf(context, statement.branch);
  const base = textOf(context, statement.base);
  const own = await directory.branchOf(repository, branch, 'read');
  const other = await directory.branchOf(repository, base, 'read');
  const query: CompareBranch = {
    type: 'CompareBranch',
    base: other.actor,
    ...(own.taggedAt === undefined ? {} : { at: own.taggedAt }),
    ...(other.taggedAt === undefined ? {} : { baseAt: other.taggedAt }),
  };
  const found = (await router.query(own.actor, query, context.delivery.caller)) as BranchComparison;
  const { ahead, behind, common_ancestor } = found;
  return oneRow({ branch, base, ahead, behind, common_ancestor });
}
