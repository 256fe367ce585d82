import { InvariantError, unreachable } from '#runtime/base/assert.ts';
import { invalid } from '#runtime/errors/service-error.ts';
import type {
  BoundConstant,
  BoundExpression,
  BoundQuantified,
} from '#runtime/sql-plan/bound/bound-statement.ts';
import type { Execution } from '../execution.ts';
import { compileCall } from './call.ts';
import type { Evaluate } from './evaluate.ts';
import {
  compileAnd,
  compileArray,
  compileCase,
  compileCoalesce,
  compileIs,
  compileNot,
  compileOr,
} from './logic.ts';
import { compileIn, compileLookup, compileQuantified } from './membership.ts';
import { RowIndependence } from './row-independence.ts';

/** Deepest nesting of an expression: compiling and evaluating take stack for each level. */
const DEPTH_MAX = 2_000;

/** Estimated nanoseconds of evaluating one part of an expression. */
const PART_WORK = 50;

/**
 * Compiles an expression into a closure.
 *
 * Evaluating counts the work: 50 ns for each part, and what functions estimate for their arguments. A part that is the same for
 * every row is computed when its value is first wanted, and kept: an error in a branch that is never taken does not appear.
 *
 * @param read is asked first at every sub-expression: the closure that reads it from a row, or undefined to have it compiled.
 * Columns and subqueries must be answered by it.
 * @throws {ServiceError} `VALIDATION_FAILED` for an expression that is nested too deeply
 */
export function compileExpression<R>(
  expression: BoundExpression,
  read: (expression: BoundExpression) => Evaluate<R> | undefined,
  execution: Execution,
): Evaluate<R> {
  const compiler = new Compiler(read, execution, new RowIndependence());
  return counted(compiler.compile(expression, 0), compiler.parts, execution);
}

function counted<R>(evaluate: Evaluate<R>, parts: number, execution: Execution): Evaluate<R> {
  if (parts === 0) return evaluate;
  const work = parts * PART_WORK;
  return (row) => {
    execution.spend(work);
    return evaluate(row);
  };
}

class Compiler<R> {
  readonly #read: (expression: BoundExpression) => Evaluate<R> | undefined;
  readonly #execution: Execution;
  /** Undefined within a part that is computed once as a whole. */
  readonly #independence: RowIndependence | undefined;
  /** Parts that compute something; reading a slot or a constant is not counted. */
  parts = 0;

  constructor(
    read: (expression: BoundExpression) => Evaluate<R> | undefined,
    execution: Execution,
    independence: RowIndependence | undefined,
  ) {
    this.#read = read;
    this.#execution = execution;
    this.#independence = independence;
  }

  compile(expression: BoundExpression, depth: number): Evaluate<R> {
    if (depth > DEPTH_MAX) throw invalid(`The expression is nested more than ${DEPTH_MAX} levels deep`);
    const read = this.#read(expression);
    if (read !== undefined) return read;
    if (expression.kind === 'constant') {
      const { value } = expression;
      return () => value;
    }
    const isOnce = this.#independence?.of(expression) ?? false;
    return isOnce ? this.#once(expression, depth) : this.#computed(expression, depth);
  }

  /** A part that is the same for every row. Its work is counted when it is computed, and not for each row. */
  #once(expression: BoundExpression, depth: number): Evaluate<R> {
    const whole = new Compiler(this.#read, this.#execution, undefined);
    const compute = counted(whole.compile(expression, depth), whole.parts, this.#execution);
    const { computed } = this.#execution;
    return (row) => {
      const known = computed.get(expression);
      if (known !== undefined) return known;
      const value = compute(row);
      computed.keep(expression, value);
      return value;
    };
  }

  #computed(expression: Exclude<BoundExpression, BoundConstant>, depth: number): Evaluate<R> {
    this.parts += 1;
    const compile = (part: BoundExpression): Evaluate<R> => this.compile(part, depth + 1);
    switch (expression.kind) {
      case 'call':
        return compileCall(expression.function, expression.args.map(compile), this.#execution);
      case 'and':
        return compileAnd(expression.operands.map(compile));
      case 'or':
        return compileOr(expression.operands.map(compile));
      case 'not':
        return compileNot(compile(expression.operand));
      case 'is':
        return compileIs(expression.test, compile(expression.operand));
      case 'case':
        return compileCase(
          // biome-ignore lint/suspicious/noThenProperty: the result of a branch, as in CASE
          expression.branches.map(({ when, then }) => ({ when: compile(when), then: compile(then) })),
          compile(expression.otherwise),
        );
      case 'coalesce':
        return compileCoalesce(expression.operands.map(compile));
      case 'in':
        return compileIn(
          compile(expression.operand),
          expression.operand.type,
          expression.items,
          compile,
          this.#execution,
        );
      case 'array':
        return compileArray(expression.items.map(compile));
      case 'quantified':
        return this.#quantified(expression, compile(expression.left), compile);
      case 'column':
      case 'scalar-subquery':
      case 'exists-subquery':
      case 'quantified-subquery':
        throw new InvariantError(`nothing reads a ${expression.kind} of an expression`);
      default:
        return unreachable(expression);
    }
  }

  #quantified(
    { function: compared, quantifier, array }: BoundQuantified,
    left: Evaluate<R>,
    compile: (part: BoundExpression) => Evaluate<R>,
  ): Evaluate<R> {
    const lookup =
      array.kind === 'constant'
        ? compileLookup(compared, quantifier, left, array.value, this.#execution)
        : undefined;
    return lookup ?? compileQuantified(compared, quantifier, left, compile(array), this.#execution);
  }
}
