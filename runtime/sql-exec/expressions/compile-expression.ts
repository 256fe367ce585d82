import { InvariantError, unreachable } from '#runtime/base/assert.ts';
import { invalid } from '#runtime/errors/service-error.ts';
import type { BoundExpression, BoundQuantified } from '#runtime/sql-plan/bound/bound-statement.ts';
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

/** Deepest nesting of an expression: compiling and evaluating take stack for each level. */
const DEPTH_MAX = 2_000;

/** Estimated nanoseconds of evaluating one part of an expression. */
const PART_WORK = 50;

/**
 * Compiles an expression into a closure.
 *
 * Evaluating counts the work: 50 ns for each part, and what functions estimate for their arguments.
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
  const compiler = new Compiler(read, execution);
  const evaluate = compiler.compile(expression, 0);
  const work = compiler.parts * PART_WORK;
  if (work === 0) return evaluate;
  return (row) => {
    execution.spend(work);
    return evaluate(row);
  };
}

class Compiler<R> {
  readonly #read: (expression: BoundExpression) => Evaluate<R> | undefined;
  readonly #execution: Execution;
  /** Parts that compute something; reading a slot or a constant is not counted. */
  parts = 0;

  constructor(read: (expression: BoundExpression) => Evaluate<R> | undefined, execution: Execution) {
    this.#read = read;
    this.#execution = execution;
  }

  compile(expression: BoundExpression, depth: number): Evaluate<R> {
    if (depth > DEPTH_MAX) throw invalid(`The expression is nested more than ${DEPTH_MAX} levels deep`);
    const read = this.#read(expression);
    if (read !== undefined) return read;
    if (expression.kind === 'constant') {
      const { value } = expression;
      return () => value;
    }
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
