import type { ActorEvent } from '#runtime/commit/behaviour.ts';

/**
 * Stores rows of another actor of the same kind unchanged; used to restore an actor from a backup. The engine sends it
 * to an actor that is not yet published. It is an ordinary commit, so followers of the log get the same rows.
 * Idempotent. Result: undefined.
 *
 * @see docs/decisions/0020-backups-are-copies-restores-are-commits.md
 */
export interface ImportRows {
  readonly type: 'ImportRows';
  /**
   * An encoded log entry whose writes are the rows. Later revisions are above its clock, also when the entry has no
   * rows.
   */
  readonly entry: Uint8Array;
  /** Whether all existing rows are removed first. Only for kinds with few rows. */
  readonly replaces?: boolean;
}

/** Rows were imported into an actor. */
export const rowsImported: ActorEvent = Object.freeze({ type: 'RowsImported' });
