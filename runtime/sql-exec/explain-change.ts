import type { BoundChange, BoundDelete, BoundUpdate } from '#runtime/sql-plan/bound/bound-change.ts';
import type { Execution } from './execution.ts';
import { type ExplainOptions, explainStatement } from './explain-statement.ts';
import type { Tables } from './ports.ts';

/**
 * Explains a statement that writes: the workspace, whether it is done in the request or in bulk, and how its rows or the nodes
 * that it matches are found. Nothing is written, and nothing is read but what the choice of a plan needs.
 *
 * @returns the text of the explanation
 * @throws {ServiceError} as finding its rows does
 */
export function* explainChange(
  { isVerbose }: Pick<ExplainOptions, 'isVerbose'>,
  change: BoundChange,
  tables: Tables,
  execution: Execution,
): Generator<undefined, string> {
  const rows = change.kind === 'insert' ? change.rows : change.matched;
  const options = { isAnalyze: false, isVerbose };
  return yield* explainStatement(options, rows, tables, execution, () => 0, describe(change));
}

function describe(change: BoundChange): string {
  switch (change.kind) {
    case 'insert': {
      const name = change.isUpsert ? 'Upsert' : 'Insert';
      return `${name}: workspace=${change.workspace}, columns=[${change.columns.join(', ')}]`;
    }
    case 'update':
      return `Update: ${place(change)}, columns=[${change.columns.join(', ')}]`;
    case 'delete':
      return `Delete: ${place(change)}`;
  }
}

function place({ branch, point, workspace }: BoundUpdate | BoundDelete): string {
  const where = branch === undefined ? '' : `, branch=${branch}`;
  return `workspace=${workspace}${where}, strategy=${point === undefined ? 'bulk' : 'fast path'}`;
}
