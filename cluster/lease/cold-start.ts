import type { LogPosition } from '#cluster/replication/log-position.ts';

/**
 * Brings a partition to a member that cannot read its log from where it stands, because it begins behind that, or
 * need not, because a snapshot is nearer to its end.
 *
 * @see Reliability: R16
 */
export interface ColdStart {
  /**
   * Puts a snapshot in the place of the actors on the disk, when it is wanted. Nothing else uses them meanwhile. It
   * waits as long as it is wanted and there is none that is whole.
   *
   * @param position where the actors stand; undefined: there are none to speak of
   * @param signal gives it up: the actors are as they were
   * @returns where they stand now; undefined when nothing was changed, because the log can be read
   * @throws {ServiceError} `REQUEST_CANCELLED`
   */
  run(position: LogPosition | undefined, signal: AbortSignal): Promise<LogPosition | undefined>;
  /** Removes what it worked with, once the new position is on the disk. */
  done(): Promise<void>;
}
