/**
 * Removes some of the node versions that a fork holds of its source's later revisions, which no read can see. For the
 * engine only; makes no revision. Result: `OrphansRemoved`.
 */
export interface RemoveOrphanedVersions {
  readonly type: 'RemoveOrphanedVersions';
  /** Number of rows after which it stops. */
  readonly rowsMax: number;
}

/**
 * The number of its source's revisions of which a fork still has orphaned versions; for the engine only. Answer: a
 * number. The cost is proportional to it.
 */
export interface CountOrphanedVersions {
  readonly type: 'CountOrphanedVersions';
}

/** {@link RemoveOrphanedVersions} under the name that members of earlier versions send and take. */
export interface RemoveLeftovers extends Omit<RemoveOrphanedVersions, 'type'> {
  readonly type: 'RemoveLeftovers';
}

/** {@link CountOrphanedVersions} under the name that members of earlier versions send and take. */
export interface CountLeftovers {
  readonly type: 'CountLeftovers';
}
