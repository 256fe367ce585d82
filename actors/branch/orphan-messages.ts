/**
 * Removes a part of what a fork has of its source's later revisions, which nobody sees; for the engine only, and
 * no revision. Result: `OrphansRemoved`.
 */
export interface RemoveOrphanedVersions {
  readonly type: 'RemoveOrphanedVersions';
  /** Rows after which it stops. */
  readonly rowsMax: number;
}

/**
 * How many revisions of its source a fork still has orphaned versions of, for the engine only. Answer: a number. Cost follows
 * it.
 */
export interface CountOrphanedVersions {
  readonly type: 'CountOrphanedVersions';
}
