import type { OperationError, OperationState } from './backup-ports.ts';

/** Data that fails verification. */
export interface CheckFinding {
  readonly file: string;
  /** The actor that owns the data; empty for a file without an actor. */
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
  /** Actors checked so far, and their total. */
  readonly actors: number;
  readonly actorsTotal: number;
  /** Bytes of their files checked so far. */
  readonly bytes: number;
  /** The item that is being checked. */
  readonly current: string | undefined;
  /** The damage found; only the first findings if there are many. */
  readonly damage: readonly CheckFinding[];
  /** Number of findings so far. */
  readonly damageTotal: number;
  /**
   * Partitions of the cluster that were not checked, or only in part, because this member did not own or follow them
   * throughout the check. In ascending order; empty for a single member.
   */
  readonly partitionsSkipped: readonly number[];
  readonly error: OperationError | undefined;
}

/** Checks of a running member, one at a time. Implemented by the process that owns the actors. */
export interface Checks {
  /**
   * Starts a check in the background; {@link Checks.find} returns its progress.
   *
   * @throws {ServiceError} `CONFLICT` while another one runs
   */
  start(): Promise<CheckInfo>;
  /** Undefined for a check that this process does not know (any more). */
  find(id: string): CheckInfo | undefined;
  /** Cancels a running check; a finished one is unchanged. */
  stop(id: string): CheckInfo | undefined;
}
