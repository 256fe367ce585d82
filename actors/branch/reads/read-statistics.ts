import { requireAdministrator } from '#runtime/access/policy.ts';
import type { QueryContext } from '#runtime/commit/behaviour.ts';
import { readStatistics as readRows } from '#runtime/statistics/read-statistics.ts';
import { statisticsProjection } from '#runtime/statistics/statistics-projection.ts';
import type { BranchState } from '../branch-state.ts';
import { settle } from '../long-answer.ts';
import type { BranchStatistics, ReadStatistics } from '../statistics-messages.ts';

const { name } = statisticsProjection;

/** @see statistics-messages.ts, ReadStatistics @throws {ServiceError} `WORKSPACE_NOT_FOUND` */
export function readStatistics(
  state: BranchState,
  context: QueryContext,
  { workspace }: ReadStatistics,
): BranchStatistics | Promise<BranchStatistics> {
  const { policy, principal } = context.caller;
  requireAdministrator(policy, principal);
  if (workspace !== undefined) state.workspace(workspace);
  return settle(context, function* (reader) {
    const projection = state.projections.status(reader, name);
    const isReadable = projection.state === 'following';
    return { projection, workspaces: isReadable ? yield* readRows(reader, workspace) : [] };
  });
}
