import { describe, expect, test } from 'vitest';
import { defaultRequestLimits, RequestBudget } from '#runtime/budget/request-budget.ts';
import { COMPUTED_BYTES_MAX } from '#runtime/sql-exec/computed-values.ts';
import { Execution } from '#runtime/sql-exec/execution.ts';
import { compileExpression } from '#runtime/sql-exec/expressions/compile-expression.ts';
import type { BoundCase, BoundExpression } from '#runtime/sql-plan/bound/bound-statement.ts';
import type { ScalarFunction } from '#runtime/sql-values/scalar-function.ts';
import type { SqlType } from '#runtime/sql-values/sql-type.ts';
import { Jsonb, type SqlValue } from '#runtime/sql-values/sql-value.ts';
import { arrayOf, booleanType, intType, jsonbType, textType } from '#runtime/sql-values/types/basic-types.ts';

type Row = readonly SqlValue[];

function execution(limits: Partial<typeof defaultRequestLimits> = {}): Execution {
  return new Execution(new RequestBudget({ ...defaultRequestLimits, ...limits }));
}

function constant(value: SqlValue, type: SqlType = booleanType): BoundExpression {
  return { kind: 'constant', value, type };
}

function column(index: number, type: SqlType = intType): BoundExpression {
  return { kind: 'column', relation: 0, column: index, type };
}

function scalar(over: Partial<ScalarFunction>): ScalarFunction {
  return { name: 'F', parameters: [], result: intType, isStrict: true, evaluate: () => 0, ...over };
}

function call(called: ScalarFunction, ...args: BoundExpression[]): BoundExpression {
  return { kind: 'call', type: called.result, function: called, args };
}

function branch(when: BoundExpression, result: BoundExpression): BoundCase['branches'][number] {
  // biome-ignore lint/suspicious/noThenProperty: the name of a branch's result, as in CASE
  return { when, then: result };
}

/** A function whose call fails the test. */
const never: BoundExpression = call(
  scalar({
    evaluate: () => {
      throw new Error('evaluated');
    },
  }),
);

function compile(expression: BoundExpression, run: Execution = execution()): (row: Row) => SqlValue {
  return compileExpression<Row>(
    expression,
    (part) => (part.kind === 'column' ? (row) => row[part.column]! : undefined),
    run,
  );
}

function value(expression: BoundExpression, row: Row = []): SqlValue {
  return compile(expression)(row);
}

const truths = [true, false, null] as const;

describe('logic', () => {
  test.each(truths.flatMap((a) => truths.map((b) => [a, b] as const)))('of %s and %s', (a, b) => {
    const operands = [constant(a), constant(b)];
    const and = a === false || b === false ? false : a === null || b === null ? null : true;
    const or = a === true || b === true ? true : a === null || b === null ? null : false;
    expect(value({ kind: 'and', type: booleanType, operands })).toBe(and);
    expect(value({ kind: 'or', type: booleanType, operands })).toBe(or);
  });

  test('AND stops at FALSE and OR at TRUE, but not at NULL', () => {
    const and = (first: SqlValue): BoundExpression => ({
      kind: 'and',
      type: booleanType,
      operands: [constant(first), never],
    });
    expect(value(and(false))).toBe(false);
    expect(() => value(and(null))).toThrow('evaluated');
    expect(value({ kind: 'or', type: booleanType, operands: [constant(true), never] })).toBe(true);
    expect(() => value({ kind: 'or', type: booleanType, operands: [constant(null), never] })).toThrow(
      'evaluated',
    );
  });

  test.each([
    [true, false],
    [false, true],
    [null, null],
  ])('NOT %s is %s', (operand, result) => {
    expect(value({ kind: 'not', type: booleanType, operand: constant(operand) })).toBe(result);
  });

  test.each(truths)('IS is never NULL: %s', (operand) => {
    const is = (kind: 'null' | 'true' | 'false'): SqlValue =>
      value({ kind: 'is', type: booleanType, test: kind, operand: constant(operand) });
    expect([is('null'), is('true'), is('false')]).toEqual([
      operand === null,
      operand === true,
      operand === false,
    ]);
  });

  test('CASE evaluates the branch that it takes, and no other', () => {
    const branches = [
      branch(constant(null), never),
      branch(constant(false), never),
      branch(column(0), constant(1, intType)),
      branch(never, never),
    ];
    const choice: BoundExpression = { kind: 'case', type: intType, branches, otherwise: never };
    expect(value(choice, [true])).toBe(1);
    const short: BoundExpression = { ...choice, branches: branches.slice(0, 3), otherwise: constant(9) };
    expect(value(short, [false])).toBe(9);
  });

  test('COALESCE evaluates up to the first value', () => {
    const operands = [constant(null), column(0), never];
    expect(value({ kind: 'coalesce', type: intType, operands }, [7])).toBe(7);
    expect(value({ kind: 'coalesce', type: intType, operands: operands.slice(0, 2) }, [null])).toBe(null);
  });
});

describe('a call', () => {
  const counts = [0, 1, 2, 3, 4, 5];

  test.each(counts)('hands over %i arguments in their order', (count) => {
    const args = Array.from({ length: count }, (_, index) => column(index));
    const row = args.map((_, index) => index + 1);
    const join = scalar({ evaluate: (...values) => values.join(',') });
    expect(value(call(join, ...args), row)).toBe(row.join(','));
    const worked = { ...join, work: (values: readonly SqlValue[]) => values.length };
    expect(value(call(worked, ...args), row)).toBe(row.join(','));
  });

  test.each(counts.slice(1))('of %i arguments is NULL for any NULL, where it is strict', (count) => {
    const args = Array.from({ length: count }, (_, index) => column(index));
    for (const missing of args.keys()) {
      const row = args.map((_, index) => (index === missing ? null : 1));
      const work = (): number => {
        throw new Error('work asked');
      };
      const evaluate = (): SqlValue => {
        throw new Error('evaluated');
      };
      expect(value(call(scalar({ evaluate }), ...args), row)).toBe(null);
      expect(value(call(scalar({ evaluate, work }), ...args), row)).toBe(null);
      expect(value(call(scalar({ evaluate: () => 5, isStrict: false }), ...args), row)).toBe(5);
      expect(value(call(scalar({ evaluate: () => 5, isStrict: false, work: () => 1 }), ...args), row)).toBe(
        5,
      );
    }
  });
});

describe('work', () => {
  test('is counted for each part and by the function', () => {
    const run = execution();
    const worked = scalar({ work: ([length]) => Number(length) * 10, evaluate: () => 1 });
    const evaluate = compile(call(scalar({}), call(worked, column(0))), run);
    expect(run.budget.work).toBe(0);
    evaluate([300]);
    expect(run.budget.work).toBe(2 * 50 + 3_000);
  });

  test.each([1, 2, 3, 4])('of a call with %i arguments is refused before it is done', (count) => {
    let calls = 0;
    const long = scalar({
      work: ([length]) => Number(length),
      evaluate: () => {
        calls += 1;
        return 1;
      },
    });
    const args = Array.from({ length: count }, () => column(0));
    const evaluate = compile(call(long, ...args));
    evaluate([49_000_000]);
    expect(calls).toBe(1);
    expect(() => evaluate([52_000_000])).toThrow(
      expect.objectContaining({ code: 'REQUEST_TOO_EXPENSIVE', message: expect.stringContaining('50 ms') }),
    );
    expect(calls).toBe(1);
  });

  test('of several calls of one row is summed; a pause begins a new sum', () => {
    const run = execution();
    const long = call(scalar({ work: () => 30_000_000, evaluate: () => 1 }), column(0));
    const evaluate = compile(long, run);
    evaluate([1]);
    expect(() => evaluate([1])).toThrow(expect.objectContaining({ code: 'REQUEST_TOO_EXPENSIVE' }));
    run.pausing();
    expect(evaluate([1])).toBe(1);
  });

  test('of the whole statement is limited', () => {
    const run = execution({ workMax: 1_000 });
    const evaluate = compile(call(scalar({}), column(0)), run);
    for (let index = 0; index < 20; index += 1) evaluate([1]);
    expect(() => evaluate([1])).toThrow(expect.objectContaining({ code: 'REQUEST_TOO_EXPENSIVE' }));
  });
});

describe('IN', () => {
  function isIn(operand: BoundExpression, ...items: BoundExpression[]): BoundExpression {
    return { kind: 'in', type: booleanType, operand, items };
  }

  test.each([
    [1, [1, 2], true],
    [3, [1, 2], false],
    [3, [1, null], null],
    [1, [1, null], true],
    [null, [1], null],
    [null, [], false],
    [1, [], false],
  ] as const)('%s among constants %s', (operand, items, expected) => {
    const constants = items.map((item) => constant(item, intType));
    expect(value(isIn(column(0), ...constants), [operand])).toBe(expected);
    const columns = items.map((_, index) => column(index + 1));
    expect(value(isIn(column(0), ...columns), [operand, ...items])).toBe(expected);
  });

  test('compares JSON by its structure', () => {
    const item = constant(new Jsonb({ a: 1, b: [2] }), jsonbType);
    const expression = isIn(column(0, jsonbType), item);
    expect(value(expression, [new Jsonb({ b: [2], a: 1 })])).toBe(true);
    expect(value(expression, [new Jsonb({ b: [2], a: 2 })])).toBe(false);
  });

  test('takes as long for many constants as for few', () => {
    const work = (count: number): number => {
      const run = execution();
      const items = Array.from({ length: count }, (_, index) => constant(index, intType));
      const evaluate = compile(isIn(column(0), ...items), run);
      const before = run.budget.work;
      evaluate([-1]);
      return run.budget.work - before;
    };
    expect(work(5_000)).toBe(work(5));
  });
});

describe('ANY and ALL', () => {
  const equal = scalar({
    name: '=',
    parameters: [intType, intType],
    result: booleanType,
    evaluate: (a, b) => a === b,
  });
  const unequal = { ...equal, name: '<>', evaluate: (a: SqlValue, b: SqlValue) => a !== b };
  const less = { ...equal, name: '<', evaluate: (a: SqlValue, b: SqlValue) => Number(a) < Number(b) };

  test.each([
    [equal, 'any', 1, [1, 2], true],
    [equal, 'any', 3, [1, 2], false],
    [equal, 'any', 3, [1, null], null],
    [equal, 'any', null, [1], null],
    [equal, 'any', null, [], false],
    [equal, 'any', 1, null, null],
    [equal, 'all', 1, [1, 1], true],
    [equal, 'all', 1, [1, null], null],
    [equal, 'all', 1, [2, null], false],
    [unequal, 'all', 3, [1, 2], true],
    [unequal, 'all', 1, [1, null], false],
    [unequal, 'all', 3, [1, null], null],
    [unequal, 'all', null, [], true],
    [unequal, 'any', 1, [1, 2], true],
    [less, 'any', 1, [0, 2], true],
    [less, 'all', 1, [0, 2], false],
    [less, 'all', 1, [], true],
  ] as const)('%o %s: %s and %s', (compared, quantifier, left, list, expected) => {
    const of = (array: BoundExpression): BoundExpression => ({
      kind: 'quantified',
      type: booleanType,
      function: compared,
      quantifier,
      left: column(0),
      array,
    });
    expect(value(of(constant(list, arrayOf(intType))), [left])).toBe(expected);
    expect(value(of(column(1, arrayOf(intType))), [left, list])).toBe(expected);
  });

  test('a list that takes too long for one row is refused', () => {
    const run = execution();
    const slow = { ...less, work: () => 1_000 };
    const evaluate = compile(
      {
        kind: 'quantified',
        type: booleanType,
        function: slow,
        quantifier: 'all',
        left: column(0),
        array: column(1, arrayOf(intType)),
      },
      run,
    );
    const list = (length: number): SqlValue[] => new Array<number>(length).fill(2);
    expect(evaluate([1, list(10_000)])).toBe(true);
    run.pausing();
    expect(() => evaluate([1, list(100_000)])).toThrow(
      expect.objectContaining({ code: 'REQUEST_TOO_EXPENSIVE' }),
    );
  });
});

test('an array has a value for each item, NULLs too', () => {
  const items = [column(0), constant(null), constant('x', textType)];
  expect(value({ kind: 'array', type: arrayOf(textType), items }, ['a'])).toEqual(['a', null, 'x']);
});

test('nesting that would take the stack is an error of the caller', () => {
  let nested: BoundExpression = constant(true);
  for (let level = 0; level < 100_000; level += 1) {
    nested = { kind: 'not', type: booleanType, operand: nested };
  }
  expect(() => compile(nested)).toThrow(expect.objectContaining({ code: 'VALIDATION_FAILED' }));
});

test('what is read is not compiled: a table answers a property without the others', () => {
  const extracted = call(scalar({ name: '->>' }), column(0, jsonbType), constant('k', textType));
  const evaluate = compileExpression<Row>(
    { kind: 'is', type: booleanType, test: 'null', operand: extracted },
    (part) => (part === extracted ? (row) => row[3]! : undefined),
    execution(),
  );
  expect(evaluate([0, 0, 0, null])).toBe(true);
});

describe('a part that is the same for every row', () => {
  /** A call without columns that counts how often it is made, and takes a millisecond each time. */
  function counting(result: SqlValue, over: Partial<ScalarFunction> = {}): [BoundExpression, () => number] {
    let calls = 0;
    const evaluate = (): SqlValue => {
      calls += 1;
      return result;
    };
    const called = scalar({ work: () => 1_000_000, ...over, evaluate, result: textType });
    return [call(called, constant('x', textType)), () => calls];
  }

  function equals(left: BoundExpression, right: BoundExpression): BoundExpression {
    return call(scalar({ name: '=', result: booleanType, evaluate: (a, b) => a === b }), left, right);
  }

  function runOver(rows: number, expression: BoundExpression, run = execution()): Execution {
    const evaluate = compile(expression, run);
    for (let row = 0; row < rows; row += 1) {
      evaluate([String(row)]);
      run.pausing();
    }
    return run;
  }

  test.each([['a text'], [null]])('%s is computed once, and its work counted once', (result) => {
    const [part, calls] = counting(result);
    const run = runOver(1_000, equals(column(0, textType), call(scalar({ result: textType }), part)));
    expect(calls()).toBe(1);
    expect(run.budget.work).toBeLessThan(2_000_000);
  });

  test('it is computed once however often the expression is compiled', () => {
    const [part, calls] = counting('x');
    const run = execution();
    for (let time = 0; time < 3; time += 1) runOver(2, equals(column(0, textType), part), run);
    expect(calls()).toBe(1);
  });

  test('it is not computed before its value is wanted', () => {
    const isNever = { kind: 'is', type: booleanType, test: 'true', operand: never } as const;
    const guarded: BoundExpression = {
      kind: 'and',
      type: booleanType,
      operands: [column(0, booleanType), isNever],
    };
    const evaluate = compile(guarded);
    expect(evaluate([false])).toBe(false);
    expect(() => evaluate([true])).toThrow('evaluated');
  });

  test('a volatile function is called for every row', () => {
    const [part, calls] = counting('x', { isVolatile: true });
    runOver(10, equals(column(0, textType), call(scalar({ result: textType }), part)));
    expect(calls()).toBe(10);
  });

  test('what reads a column or a query is computed for every row', () => {
    const query: BoundExpression = { kind: 'scalar-subquery', type: textType, query: undefined as never };
    for (const read of [column(0, textType), query]) {
      let calls = 0;
      const called = scalar({
        evaluate: () => {
          calls += 1;
          return 'x';
        },
      });
      const evaluate = compileExpression<Row>(
        call(scalar({}), call(called, constant('a', textType), read)),
        (part) => (part === read ? (row) => row[0]! : undefined),
        execution(),
      );
      for (const row of ['a', 'b', 'c']) evaluate([row]);
      expect(calls).toBe(3);
    }
  });

  test('a value that is too large to be kept is computed for every row', () => {
    const [part, calls] = counting('x'.repeat(COMPUTED_BYTES_MAX / 2));
    const run = runOver(3, equals(column(0, textType), part));
    expect(calls()).toBe(3);
    expect(run.budget.memory).toBe(0);
  });

  test('memory that the request lacks is no reason to refuse it', () => {
    const [part, calls] = counting('x'.repeat(1_000));
    const run = runOver(3, equals(column(0, textType), part), execution({ memoryMax: 1_000 }));
    expect(calls()).toBe(3);
    expect(run.budget.memory).toBe(0);
  });

  test('its memory is counted until the statement ends', () => {
    const [part] = counting('x'.repeat(1_000));
    const run = runOver(3, equals(column(0, textType), part));
    expect(run.budget.memory).toBeGreaterThan(1_000);
    run.computed.clear();
    expect(run.budget.memory).toBe(0);
  });
});
