import type { OperationError, OperationState } from './backup-ports.ts';

/** Something that does not verify. */
export interface CheckFinding {
  readonly file: string;
  /** Whose it is; empty for a file that is no actor's. */
  readonly actor: string;
  readonly table: string;
  readonly what: string;
}

/** A check of the stored data of a running member. */
export interface CheckInfo {
  readonly id: string;
  readonly state: OperationState;
  /** ISO 8601, as all times. */
  readonly startedAt: string;
  readonly finishedAt: string | undefined;
  /** Actors that are checked, of all. */
  readonly actors: number;
  readonly actorsTotal: number;
  /** Bytes of their files, so far. */
  readonly bytes: number;
  /** What is checked now. */
  readonly current: string | undefined;
  /** What does not verify; the first ones where there are many. */
  readonly damage: readonly CheckFinding[];
  /** How much does not verify, so far. */
  readonly damageTotal: number;
  /**
   * Partitions of the cluster that were not checked, or not to their end: this member neither owned nor followed them
   * throughout the check. In ascending order; none for a member that is alone.
   */
  readonly partitionsSkipped: readonly number[];
  readonly error: OperationError | undefined;
}

/** Checks of a running member, one at a time. Implemented by the process that owns the actors. */
export interface Checks {
  /**
   * Begins a check beside everything else; look at {@link Checks.find} for how far it is.
   *
   * @throws {ServiceError} `CONFLICT` while another one runs
   */
  start(): Promise<CheckInfo>;
  /** Undefined for one that this process does not know (any more). */
  find(id: string): CheckInfo | undefined;
  /** Gives up the one that runs; one that is over stays as it is. */
  stop(id: string): CheckInfo | undefined;
}
