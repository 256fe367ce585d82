import type { SqlType } from './sql-type.ts';
import type { SqlValue } from './sql-value.ts';

/**
 * A function or operator for certain types of arguments. Operators and casts are functions too: a call in a bound tree names
 * one, and an executor needs to know nothing else.
 */
export interface ScalarFunction {
  /** In upper case, the operator itself (`->>`, `+`), or `CAST`. */
  readonly name: string;
  /** Types of the arguments; the binder has cast them to these. */
  readonly parameters: readonly SqlType[];
  readonly result: SqlType;
  /** NULL in any argument gives NULL, and `evaluate` is not called. */
  readonly isStrict: boolean;
  /** Whether the same arguments may give another result, so that a call is not folded into a constant. Absent: no. */
  readonly isVolatile?: boolean;
  /**
   * Estimated nanoseconds of a call beyond the usual 50, where that depends on the arguments: lengths of texts, sizes of JSON.
   * Whoever evaluates counts it before the call. Absent: nothing.
   */
  readonly work?: (args: readonly SqlValue[]) => number;
  /** @throws {ServiceError} `VALIDATION_FAILED`, for example for a division by zero */
  readonly evaluate: (...args: SqlValue[]) => SqlValue;
}

/** What an aggregate has seen of one group. */
export interface Accumulator {
  /** Takes in the arguments of a row. @returns bytes by which what it keeps has grown */
  add(args: readonly SqlValue[]): number;
  /** The result for what was taken in so far; may be called again after more was. */
  result(): SqlValue;
}

/** An aggregate for certain types of arguments. */
export interface AggregateFunction {
  /** In upper case. */
  readonly name: string;
  readonly parameters: readonly SqlType[];
  readonly result: SqlType;
  /** Rows where an argument is NULL are left out. */
  readonly skipsNulls: boolean;
  start(): Accumulator;
}
