import type { BuildProjection, DropProjection } from '#runtime/projection/projection-messages.ts';
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
