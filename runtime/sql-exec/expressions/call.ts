import type { ScalarFunction } from '#runtime/sql-values/scalar-function.ts';
import type { SqlValue } from '#runtime/sql-values/sql-value.ts';
import type { Execution } from '../execution.ts';
import type { Evaluate } from './evaluate.ts';

/** A call of a function, with the rule for NULL and its work counted. The usual numbers of arguments have no array. */
export function compileCall<R>(
  called: ScalarFunction,
  args: readonly Evaluate<R>[],
  execution: Execution,
): Evaluate<R> {
  const [first, second, third] = args;
  if (first === undefined) return compileCallOfMany(called, args, execution);
  if (second === undefined) return compileCallOfOne(called, first, execution);
  if (third === undefined) return compileCallOfTwo(called, first, second, execution);
  if (args.length === 3) return compileCallOfThree(called, first, second, third, execution);
  return compileCallOfMany(called, args, execution);
}

function compileCallOfOne<R>(
  { isStrict, work, evaluate }: ScalarFunction,
  first: Evaluate<R>,
  execution: Execution,
): Evaluate<R> {
  if (work !== undefined) {
    return (row) => {
      const a = first(row);
      if (isStrict && a === null) return null;
      execution.spendOnCall(work([a]));
      return evaluate(a);
    };
  }
  if (!isStrict) return (row) => evaluate(first(row));
  return (row) => {
    const a = first(row);
    return a === null ? null : evaluate(a);
  };
}

function compileCallOfTwo<R>(
  { isStrict, work, evaluate }: ScalarFunction,
  first: Evaluate<R>,
  second: Evaluate<R>,
  execution: Execution,
): Evaluate<R> {
  if (work !== undefined) {
    return (row) => {
      const a = first(row);
      if (isStrict && a === null) return null;
      const b = second(row);
      if (isStrict && b === null) return null;
      execution.spendOnCall(work([a, b]));
      return evaluate(a, b);
    };
  }
  if (!isStrict) return (row) => evaluate(first(row), second(row));
  return (row) => {
    const a = first(row);
    if (a === null) return null;
    const b = second(row);
    return b === null ? null : evaluate(a, b);
  };
}

function compileCallOfThree<R>(
  { isStrict, work, evaluate }: ScalarFunction,
  first: Evaluate<R>,
  second: Evaluate<R>,
  third: Evaluate<R>,
  execution: Execution,
): Evaluate<R> {
  return (row) => {
    const a = first(row);
    if (isStrict && a === null) return null;
    const b = second(row);
    if (isStrict && b === null) return null;
    const c = third(row);
    if (isStrict && c === null) return null;
    if (work !== undefined) execution.spendOnCall(work([a, b, c]));
    return evaluate(a, b, c);
  };
}

function compileCallOfMany<R>(
  { isStrict, work, evaluate }: ScalarFunction,
  args: readonly Evaluate<R>[],
  execution: Execution,
): Evaluate<R> {
  return (row) => {
    const values: SqlValue[] = [];
    for (const arg of args) {
      const value = arg(row);
      if (isStrict && value === null) return null;
      values.push(value);
    }
    if (work !== undefined) execution.spendOnCall(work(values));
    return evaluate(...values);
  };
}
