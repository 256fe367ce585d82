import type { SqlValue } from '#runtime/sql-values/sql-value.ts';
import type { Evaluate } from './evaluate.ts';

/** AND of several: FALSE if one is, else NULL if one is, else TRUE. It stops at the first FALSE. */
export function compileAnd<R>(operands: readonly Evaluate<R>[]): Evaluate<R> {
  return (row) => {
    let result: SqlValue = true;
    for (const operand of operands) {
      const value = operand(row);
      if (value === false) return false;
      if (value === null) result = null;
    }
    return result;
  };
}

/** OR of several: TRUE if one is, else NULL if one is, else FALSE. It stops at the first TRUE. */
export function compileOr<R>(operands: readonly Evaluate<R>[]): Evaluate<R> {
  return (row) => {
    let result: SqlValue = false;
    for (const operand of operands) {
      const value = operand(row);
      if (value === true) return true;
      if (value === null) result = null;
    }
    return result;
  };
}

/** NOT; of NULL it is NULL. */
export function compileNot<R>(operand: Evaluate<R>): Evaluate<R> {
  return (row) => {
    const value = operand(row);
    return value === null ? null : value !== true;
  };
}

/** `IS NULL`, `IS TRUE`, `IS FALSE`: never NULL. */
export function compileIs<R>(test: 'null' | 'true' | 'false', operand: Evaluate<R>): Evaluate<R> {
  const wanted = test === 'null' ? null : test === 'true';
  return (row) => operand(row) === wanted;
}

/** A branch of a CASE. */
export interface CompiledBranch<R> {
  readonly when: Evaluate<R>;
  readonly then: Evaluate<R>;
}

/** The value of the first branch whose condition is TRUE; the other branches are not evaluated. */
export function compileCase<R>(branches: readonly CompiledBranch<R>[], otherwise: Evaluate<R>): Evaluate<R> {
  return (row) => {
    for (const branch of branches) {
      if (branch.when(row) === true) return branch.then(row);
    }
    return otherwise(row);
  };
}

/** The first value that is not NULL; the operands behind it are not evaluated. */
export function compileCoalesce<R>(operands: readonly Evaluate<R>[]): Evaluate<R> {
  return (row) => {
    for (const operand of operands) {
      const value = operand(row);
      if (value !== null) return value;
    }
    return null;
  };
}

/** `ARRAY[…]`. */
export function compileArray<R>(items: readonly Evaluate<R>[]): Evaluate<R> {
  return (row) => items.map((item) => item(row));
}
