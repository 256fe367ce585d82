import type { ScalarFunction } from '#runtime/sql-values/scalar-function.ts';
import { Jsonb, type SqlValue } from '#runtime/sql-values/sql-value.ts';
import type { BoundCall, BoundConstant, BoundExpression } from '../../bound/bound-statement.ts';
import { FOLDED_LENGTH_MAX, FOLDED_WORK_MAX } from '../limits.ts';

/**
 * A call, or its result where that is known while planning: the arguments are constants, and the call is cheap. A call that
 * fails stays a call, because it may be one that is never made: a branch of a CASE, for example.
 */
export function folded(call: BoundCall): BoundExpression {
  if (call.function.isVolatile === true || !call.args.every(({ kind }) => kind === 'constant')) return call;
  if (!call.args.every(isShortConstant)) return call;
  const values = call.args.map(({ value }) => value);
  // Calls that make JSON of JSON may be nested so that they double it each time.
  if (call.type.name === 'jsonb' && values.some((value) => value instanceof Jsonb)) return call;
  try {
    if (!isCheap(call.function, values)) return call;
    const value = evaluated(call.function, values);
    return isShort(value) ? { kind: 'constant', type: call.type, value } : call;
  } catch {
    return call;
  }
}

/** The result of a function; NULL where it is strict and an argument is NULL. */
export function evaluated(scalar: ScalarFunction, values: readonly SqlValue[]): SqlValue {
  return scalar.isStrict && values.includes(null) ? null : scalar.evaluate(...values);
}

/** Whether a call may be made while planning. @throws what the call throws of arguments that it cannot take */
export function isCheap(scalar: ScalarFunction, values: readonly SqlValue[]): boolean {
  if (!values.every(isShort)) return false;
  // A strict function is not called with NULL, so it need not know how long that would take.
  if (scalar.isStrict && values.includes(null)) return true;
  return (scalar.work?.(values) ?? 0) <= FOLDED_WORK_MAX;
}

function isShortConstant(expression: BoundExpression): expression is BoundConstant {
  return (
    expression.kind === 'constant' &&
    isShort(expression.value) &&
    // Constants of JSON are short, because they were read from short texts; parameters are not.
    !(expression.isParameter === true && expression.value instanceof Jsonb)
  );
}

function isShort(value: SqlValue): boolean {
  if (typeof value === 'string') return value.length <= FOLDED_LENGTH_MAX;
  if (value === null || typeof value !== 'object' || value instanceof Jsonb) return true;
  return value.length <= FOLDED_LENGTH_MAX && value.every(isShort);
}
