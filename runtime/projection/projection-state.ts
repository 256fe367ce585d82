import type { JsonValue } from '#runtime/content/values/json-value.ts';

/** How far the build of a projection is. */
export interface BuildProgress {
  /** Whether the rows of earlier builds are removed. */
  readonly isCleared: boolean;
  /** The workspace of the last node that was taken in; empty: none. */
  readonly workspace: string;
  /** The position of that node in a scan of the workspace; null: all of its nodes were taken in. */
  readonly after: string | null;
  /** Nodes that were taken in. */
  readonly nodes: number;
  /** Nodes that the branch had at the beginning of the build. */
  readonly total: number;
}

/** What is stored of a projection with its position in the feed. */
export interface ProjectionState {
  /** Of its definition. */
  readonly version: number;
  /** The state of the branch that its rows belong to; null within an entry of the feed, of which it has taken in a part. */
  readonly revision: string | null;
  readonly build?: BuildProgress;
  /** Why its last step failed. */
  readonly failure?: string;
}

/** The stored form of a state. */
export function stateJson(state: ProjectionState): JsonValue {
  return state as unknown as JsonValue;
}

/** Reads {@link stateJson}; undefined: it has not started. */
export function projectionState(stored: JsonValue): ProjectionState | undefined {
  return stored === null ? undefined : (stored as unknown as ProjectionState);
}
