import { requireAdministrator } from '#runtime/access/policy.ts';
import type { QueryContext } from '#runtime/commit/behaviour.ts';
import type {
  BuildProjection,
  DropProjection,
  ProjectionStatus,
  ReadProjection,
} from '#runtime/projection/projection-messages.ts';
import type { BranchState } from '../branch-state.ts';
import type { EditScope } from '../edit-scope.ts';

/** @see projection-messages.ts, BuildProjection */
export function buildProjection({ state, turn }: EditScope, command: BuildProjection): void {
  state.projections.build(turn, command);
}

/** @see projection-messages.ts, DropProjection */
export function dropProjection(
  { state, turn }: EditScope,
  command: DropProjection,
): Generator<undefined, boolean> {
  return state.projections.drop(turn, command);
}

/** @see projection-messages.ts, ReadProjection */
export function readProjection(
  state: BranchState,
  { caller, view }: QueryContext,
  query: ReadProjection,
): ProjectionStatus {
  requireAdministrator(caller.policy, caller.principal);
  return state.projections.status(view, query);
}
