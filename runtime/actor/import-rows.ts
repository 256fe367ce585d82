/**
 * Stores rows that another actor of the kind had, as they are: how an actor is made of a backup. Sent by the engine,
 * to an actor nobody knows of yet. It is a commit like any other, so whoever follows the log has the same rows.
 * Sending it again changes nothing. Result: undefined.
 *
 * @see docs/decisions/0020-backups-are-copies-restores-are-commits.md
 */
export interface ImportRows {
  readonly type: 'ImportRows';
  /**
   * A log entry, encoded: its writes are the rows. Revisions that are made from now on are above its clock, also in
   * an entry without rows.
   */
  readonly entry: Uint8Array;
  /** Whether every row that was there is removed first. Only for kinds with few rows. */
  readonly replaces?: boolean;
}
