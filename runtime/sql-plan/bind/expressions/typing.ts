import { invalid } from '#runtime/errors/service-error.ts';
import { implicitCast, resolveCast } from '#runtime/sql-values/casts/resolve-cast.ts';
import { resolveOperator } from '#runtime/sql-values/operators/resolve-operator.ts';
import type { ScalarFunction } from '#runtime/sql-values/scalar-function.ts';
import type { SqlType } from '#runtime/sql-values/sql-type.ts';
import type { SqlValue } from '#runtime/sql-values/sql-value.ts';
import type { Span } from '#runtime/sql-syntax/nodes/syntax-nodes.ts';
import { toText } from '#runtime/sql-values/to-text.ts';
import {
  booleanType,
  doubleType,
  jsonbType,
  textType,
  unknownType,
} from '#runtime/sql-values/types/basic-types.ts';
import { commonType, sameType } from '#runtime/sql-values/types/common-type.ts';
import { typeText } from '#runtime/sql-values/types/type-names.ts';
import type { BoundConstant, BoundExpression } from '../../bound/bound-statement.ts';
import { isNull, openConstant } from '../../bound/open-constant.ts';
import type { OpenValue } from '../../bound/open-value.ts';
import type { StatementBinding } from '../statement-binding.ts';
import { evaluated, folded, isCheap } from './folding.ts';

/** What was found for arguments, and the arguments as it takes them. */
export interface Resolved<T> {
  readonly scalar: T;
  readonly args: readonly BoundExpression[];
}

/** Brings expressions to the types that are wanted of them. Errors have the place that they are about. */
export class Typing {
  readonly #binding: StatementBinding;
  /** Which attempt found an operator, by the operator and the types of its operands. */
  readonly #attempts = new Map<string, number>();

  constructor(binding: StatementBinding) {
    this.#binding = binding;
  }

  /** A call of a function that was found for the types of these arguments; they are cast to those of its parameters. */
  call(scalar: ScalarFunction, args: readonly BoundExpression[], span: Span): BoundExpression {
    const cast = args.map((argument, index) =>
      this.cast(argument, scalar.parameters[index] ?? argument.type, span),
    );
    return folded({ kind: 'call', type: scalar.result, function: scalar, args: cast });
  }

  /** A call of an operator. */
  operator(operator: string, args: readonly BoundExpression[], span: Span): BoundExpression {
    const { scalar, args: fitting } = this.findOperator(operator, args, span);
    return this.call(scalar, fitting, span);
  }

  /**
   * The function of an operator. Where it takes no operand of an open type, an untyped NULL and a parameter have the type of
   * the other side; without another side, that of numbers.
   */
  findOperator(operator: string, args: readonly BoundExpression[], span: Span): Resolved<ScalarFunction> {
    const find = (types: readonly SqlType[]): ScalarFunction => resolveOperator(operator, types);
    if (!args.some(isOpen)) return this.resolve(args, span, find);
    const attempts = [
      () => ({ args, types: typesOf(args) }),
      () => {
        const open = args.map(reopened);
        return { args: open, types: typesOf(open) };
      },
      () => {
        const open = args.map(reopened);
        const known = open.find((argument) => !isOpen(argument))?.type ?? doubleType;
        return { args: open, types: open.map((argument) => (isOpen(argument) ? known : argument.type)) };
      },
    ];
    // A refusal costs more than all else here, and a long list of conditions would repeat it.
    const shape = args.map((argument) => `${isOpen(argument) ? 'open ' : ''}${typeText(argument.type)}`);
    const key = `${operator} ${shape.join(' ')}`;
    const start = this.#attempts.get(key) ?? 0;
    return this.#binding.at(span, () => {
      let refusal: unknown;
      for (const [index, attempt] of attempts.entries()) {
        if (index < start) continue;
        const { args: taken, types } = attempt();
        try {
          const scalar = find(types);
          this.#attempts.set(key, index);
          return { scalar, args: taken };
        } catch (error) {
          // The first one is about what was written.
          refusal ??= error;
        }
      }
      throw refusal;
    });
  }

  /**
   * The function for arguments. A parameter may become anything: when no function takes a number that was given as one, the
   * parameter is taken as a text that is still to be read.
   */
  resolve<T>(
    args: readonly BoundExpression[],
    span: Span,
    find: (types: readonly SqlType[]) => T,
  ): Resolved<T> {
    return this.#binding.at(span, () => {
      try {
        return { scalar: find(args.map(({ type }) => type)), args };
      } catch (error) {
        const open = args.map(reopened);
        if (open.every((argument, index) => argument === args[index])) throw error;
        try {
          return { scalar: find(typesOf(open)), args: open };
        } catch {
          // The first error is about what was written.
          throw error;
        }
      }
    });
  }

  /**
   * An expression as a value of a type, where that needs no cast in the statement.
   *
   * @throws {ServiceError} `VALIDATION_FAILED`: `Type mismatch: …`, or that a literal cannot be read as the type
   */
  coerce(expression: BoundExpression, type: SqlType, span: Span): BoundExpression {
    if (sameType(expression.type, type)) return expression;
    if (expression.kind === 'constant') {
      if (isNull(expression)) return { kind: 'constant', type, value: null };
      if (expression.type.name === 'unknown') return this.#read(expression, type, span);
    }
    const scalar = implicitCast(expression.type, type);
    if (scalar !== undefined) return this.#castBy(scalar, expression, type);
    const open = reopened(expression);
    if (open !== expression) return this.coerce(open, type, span);
    const mismatch = `Type mismatch: expected ${typeText(type)}, got ${typeText(expression.type)}`;
    throw this.#binding.error(mismatch, span);
  }

  /** `x::type`. @throws {ServiceError} `VALIDATION_FAILED` when there is no such cast, or a literal cannot be read */
  cast(expression: BoundExpression, type: SqlType, span: Span): BoundExpression {
    if (sameType(expression.type, type)) return expression;
    if (expression.kind === 'constant') {
      if (isNull(expression)) return { kind: 'constant', type, value: null };
      if (expression.type.name === 'unknown') return this.#read(expression, type, span);
    }
    const scalar = resolveCast(expression.type, type);
    if (scalar !== undefined) return this.#castBy(scalar, expression, type);
    const open = reopened(expression);
    if (open !== expression) return this.cast(open, type, span);
    const refused = `Cannot cast type ${typeText(expression.type)} to ${typeText(type)}`;
    throw this.#binding.error(refused, span);
  }

  /** Expressions brought to their common type. */
  common(
    expressions: readonly BoundExpression[],
    span: Span,
  ): { readonly type: SqlType; readonly expressions: readonly BoundExpression[] } {
    const { scalar: type, args } = this.resolve(expressions, span, commonType);
    return { type, expressions: args.map((expression) => this.coerce(expression, type, span)) };
  }

  /** An expression whose type is known: what is still open is text. */
  settled(expression: BoundExpression, span: Span): BoundExpression {
    return expression.type.name === 'unknown' ? this.coerce(expression, textType, span) : expression;
  }

  /** An expression as a condition. @param place what has to be a truth value, for the message */
  condition(expression: BoundExpression, place: string, span: Span): BoundExpression {
    if (expression.type.name === 'boolean') return expression;
    if (expression.type.name === 'unknown') return this.coerce(expression, booleanType, span);
    const refused = `Type mismatch: expected BOOLEAN in ${place}, got ${typeText(expression.type)}`;
    throw this.#binding.error(refused, span);
  }

  /** Reads a literal or a parameter, whose type was open, as a type. */
  #read(constant: BoundConstant, type: SqlType, span: Span): BoundExpression {
    const { open } = constant;
    if (type.name === 'unknown' || type.name === 'text')
      return open === undefined
        ? { ...constant, type }
        : openConstant(type, open, constant.isParameter === true);
    const scalar = resolveCast(unknownType, type) ?? resolveCast(textType, type);
    if (scalar === undefined)
      throw this.#binding.error(`Type mismatch: expected ${typeText(type)}, got TEXT`, span);
    const kept = open && this.#readOpen(open, scalar, type, span);
    if (kept !== undefined) return kept;
    const { value } = constant;
    if (isCheap(scalar, [value])) {
      const read = this.#binding.at(span, () => evaluated(scalar, [value]));
      return { kind: 'constant', type, value: read };
    }
    const { isParameter } = constant;
    const text: BoundConstant = {
      kind: 'constant',
      type: scalar.parameters[0] ?? textType,
      value,
      ...(isParameter === true ? { isParameter } : {}),
    };
    return { kind: 'call', type, function: scalar, args: [text] };
  }

  /** As {@link Typing.#read}, without looking at the value. @returns undefined: that has to be looked at */
  #readOpen(open: OpenValue, scalar: ScalarFunction, type: SqlType, span: Span): BoundExpression | undefined {
    const read = this.#binding.at(span, () => open.after(cheapCast(scalar)));
    return read && openConstant(type, read, false);
  }

  #castBy(scalar: ScalarFunction, expression: BoundExpression, type: SqlType): BoundExpression {
    return folded({ kind: 'call', type, function: scalar, args: [expression] });
  }
}

/** A cast of values for which it is cheap; of others it makes NULL, so that they are looked at. */
function cheapCast(scalar: ScalarFunction): (value: SqlValue) => SqlValue {
  return (value) => (isCheap(scalar, [value]) ? evaluated(scalar, [value]) : null);
}

/** Whether an expression may still become anything: an untyped NULL, or a text that was given as a parameter. */
function isOpen(expression: BoundExpression): boolean {
  if (expression.kind !== 'constant') return false;
  const isUntyped = expression.type.name === 'unknown';
  return isUntyped ? expression.isParameter === true || isNull(expression) : mayReopen(expression);
}

function typesOf(expressions: readonly BoundExpression[]): readonly SqlType[] {
  return expressions.map(({ type }) => type);
}

/** Whether a constant is a parameter with a type of its own that may also be read as a text. */
function mayReopen(constant: BoundConstant): boolean {
  const { isParameter, type } = constant;
  return isParameter === true && type.name !== 'unknown' && !sameType(type, jsonbType) && !isNull(constant);
}

/** A parameter with a type of its own as one whose type is open; everything else as it is. */
function reopened(expression: BoundExpression): BoundExpression {
  if (expression.kind !== 'constant' || !mayReopen(expression)) return expression;
  // Not an open value any more: it is another one, in which the value has a part.
  return {
    kind: 'constant',
    type: unknownType,
    value: toText(expression.value, expression.type),
    isParameter: true,
  };
}

/** A constant of a known type. */
export function constantOf(type: SqlType, value: SqlValue): BoundConstant {
  return { kind: 'constant', type, value };
}

/** The error for arguments of a number that a function does not take; it has no place yet. */
export function wrongArgumentCount(name: string, expected: string, count: number): Error {
  return invalid(`Invalid argument count for ${name}: expected ${expected}, got ${count}`);
}
