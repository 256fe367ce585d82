/**
 * Writes missing rows of property indexes that are being built, and removes rows of dropped ones, for some nodes. For the
 * engine only; makes no revision. Result: `IndexStep`.
 */
export interface BuildIndexes {
  readonly type: 'BuildIndexes';
  /** Number of nodes after which it stops; fewer where they are large. */
  readonly nodesMax: number;
}

/** The number of nodes of the types with pending indexes; for the engine only. Answer: a number. */
export interface CountPendingIndexes {
  readonly type: 'CountPendingIndexes';
}

/**
 * Reads which revision made the newest pending index of the branch pending; for the engine only. Answer: the revision;
 * null when no index is pending.
 */
export interface ReadPendingSince {
  readonly type: 'ReadPendingSince';
}
