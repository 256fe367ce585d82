import type { ProjectionStatus } from '#runtime/projection/projection-messages.ts';
import type { WorkspaceStatistics } from '#runtime/statistics/read-statistics.ts';

/** Reads the statistics of a branch, for administrators. Answer: {@link BranchStatistics}. */
export interface ReadStatistics {
  readonly type: 'ReadStatistics';
  /** Only of this workspace; absent: of all. */
  readonly workspace?: string;
}

/** The statistics of a branch. */
export interface BranchStatistics {
  /** How far they are. */
  readonly projection: ProjectionStatus;
  /** Empty while they are built: they would count a part of the nodes. */
  readonly workspaces: readonly WorkspaceStatistics[];
}
