import type { Principal } from '#runtime/access/principal.ts';

/** A statement that took long. Nothing of it is a value of the statement or of content. */
export interface SlowStatement {
  /** From its beginning to its last row, with the time in which it waited for others or for its client. */
  readonly durationMs: number;
  /** Work that it was charged for, in milliseconds of a processor as estimated. */
  readonly workMs: number;
  /** Rows that it answered, or nodes that it wrote. */
  readonly rows: number;
  readonly tenant: string;
  readonly repository: string;
  readonly branch: string;
  readonly principal: Principal['kind'];
  /** Its text with `?` in place of literals, cut off where it is long. */
  readonly statement: string;
  /** How its rows, or the nodes that it changes, were found, a step a line; undefined: there was nothing to find, or it failed before. */
  readonly plan: string | undefined;
  /** Code of the error with which it ended; undefined: it ended well. */
  readonly error: string | undefined;
}

/** Takes the reports of slow statements: a branch opens no log. */
export interface SlowStatementReport {
  /** Statements that take less time are not reported, in milliseconds. */
  readonly thresholdMs: number;
  /** Is called once for each, when it has ended. Must not throw. */
  readonly report: (statement: SlowStatement) => void;
}
