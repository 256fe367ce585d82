import type { BoundCall, BoundExpression } from '#runtime/sql-plan/bound/bound-statement.ts';
import type { SqlTypeName } from '#runtime/sql-values/sql-type.ts';
import type { SqlValue } from '#runtime/sql-values/sql-value.ts';
import type { Execution } from '../execution.ts';
import type { Evaluate } from './evaluate.ts';

/** Largest INT, and the largest whole number that a double tells from its neighbours. */
const INT_MAX = 2 ** 31 - 1;
const EXACT_MAX = Number.MAX_SAFE_INTEGER;

/** What a JSON number becomes without its text being made; undefined: its text tells. */
type OfNumber = (value: number) => SqlValue | undefined;

/** The results are those of the cast of the text of the number. Neither type has -0. */
const ofNumber: ReadonlyMap<SqlTypeName, OfNumber> = new Map<SqlTypeName, OfNumber>([
  [
    'int',
    (value) => {
      const whole = Math.trunc(value) + 0;
      return whole >= -INT_MAX && whole <= INT_MAX ? whole : undefined;
    },
  ],
  [
    'bigint',
    (value) => {
      const whole = Math.trunc(value);
      return whole >= -EXACT_MAX && whole <= EXACT_MAX ? BigInt(whole) : undefined;
    },
  ],
  ['double', (value) => (Number.isFinite(value) ? value + 0 : undefined)],
]);

/** Whether an expression is a cast of a text to a number, which a number of JSON need not become a text for. */
export function isNumberCast(expression: BoundExpression): expression is BoundCall {
  if (expression.kind !== 'call' || expression.function.name !== 'CAST') return false;
  return ofNumber.has(expression.type.name) && expression.args[0]?.type.name === 'text';
}

/**
 * Compiles a cast of a text to a number.
 *
 * @param cast see {@link isNumberCast}
 * @param read gives the text, or the number of JSON whose text it is
 */
export function compileNumberCast<R>(
  { function: called, type }: BoundCall,
  read: Evaluate<R>,
  execution: Execution,
): Evaluate<R> {
  const direct = ofNumber.get(type.name) as OfNumber;
  const { evaluate, work } = called;
  return (row) => {
    const value = read(row);
    if (typeof value === 'number') {
      const result = direct(value);
      if (result !== undefined) return result;
    } else if (value === null) return null;
    const text = typeof value === 'number' ? JSON.stringify(value) : value;
    if (work !== undefined) execution.spendOnCall(work([text]));
    return evaluate(text);
  };
}
