import { unreachable } from '#runtime/base/assert.ts';
import { isLargeJson } from '#runtime/base/text/sliced-json.ts';
import { isJsonArray, isJsonObject, type JsonValue } from '#runtime/content/values/json-value.ts';
import { Jsonb, type SqlValue } from '#runtime/sql-values/sql-value.ts';
import { typeText } from '#runtime/sql-values/types/type-names.ts';
import type { BoundCase, BoundExpression } from '../bound/bound-statement.ts';

/** The expressions that an expression is made of, in order; those of its queries are not among them. */
export function partsOf(expression: BoundExpression): readonly BoundExpression[] {
  switch (expression.kind) {
    case 'constant':
    case 'column':
    case 'scalar-subquery':
    case 'exists-subquery':
      return [];
    case 'call':
      return expression.args;
    case 'and':
    case 'or':
    case 'coalesce':
      return expression.operands;
    case 'not':
    case 'is':
      return [expression.operand];
    case 'case':
      return [...expression.branches.flatMap(({ when, then }) => [when, then]), expression.otherwise];
    case 'in':
      return [expression.operand, ...expression.items];
    case 'array':
      return expression.items;
    case 'quantified':
      return [expression.left, expression.array];
    case 'quantified-subquery':
      return [expression.left];
    default:
      return unreachable(expression);
  }
}

/** A branch of a CASE. */
export function caseBranch(when: BoundExpression, then: BoundExpression): BoundCase['branches'][number] {
  return { when, then };
}

/** The expression with other parts, as many and in the same order as {@link partsOf} gives them. */
function withParts(expression: BoundExpression, parts: readonly BoundExpression[]): BoundExpression {
  switch (expression.kind) {
    case 'constant':
    case 'column':
    case 'scalar-subquery':
    case 'exists-subquery':
      return expression;
    case 'call':
      return { ...expression, args: parts };
    case 'and':
    case 'or':
    case 'coalesce':
      return { ...expression, operands: parts };
    case 'not':
    case 'is':
      return { ...expression, operand: parts[0]! };
    case 'case':
      return {
        ...expression,
        branches: expression.branches.map((_, index) => caseBranch(parts[2 * index]!, parts[2 * index + 1]!)),
        otherwise: parts.at(-1)!,
      };
    case 'in':
      return { ...expression, operand: parts[0]!, items: parts.slice(1) };
    case 'array':
      return { ...expression, items: parts };
    case 'quantified':
      return { ...expression, left: parts[0]!, array: parts[1]! };
    case 'quantified-subquery':
      return { ...expression, left: parts[0]! };
    default:
      return unreachable(expression);
  }
}

/**
 * Computes something of an expression from the results of its parts. It does not recurse, because expressions may be
 * nested deeper than the stack; an expression that appears in several places is visited once.
 *
 * @param enter may give the result of an expression without its parts being visited
 * @param leave gives the result from those of the parts
 */
export function foldExpression<T>(
  root: BoundExpression,
  enter: (expression: BoundExpression) => T | undefined,
  leave: (expression: BoundExpression, results: readonly T[], parts: readonly BoundExpression[]) => T,
): T {
  const done = new Map<BoundExpression, T>();
  const open: { readonly expression: BoundExpression; parts: readonly BoundExpression[] | undefined }[] = [
    { expression: root, parts: undefined },
  ];
  while (open.length > 0) {
    const top = open.at(-1)!;
    if (top.parts !== undefined) {
      open.pop();
      const results = top.parts.map((part) => done.get(part)!);
      done.set(top.expression, leave(top.expression, results, top.parts));
      continue;
    }
    const early = done.has(top.expression) ? done.get(top.expression) : enter(top.expression);
    if (early !== undefined) {
      open.pop();
      done.set(top.expression, early);
      continue;
    }
    top.parts = partsOf(top.expression);
    // The first part is pushed last, so that parts are visited in order.
    for (let index = top.parts.length - 1; index >= 0; index -= 1)
      open.push({ expression: top.parts[index]!, parts: undefined });
  }
  return done.get(root)!;
}

/**
 * An expression with parts of it replaced, from the outside to the inside.
 *
 * @param replace the expression to put in the place of one; undefined: it stays, and its parts are looked at
 */
export function rewriteExpression(
  root: BoundExpression,
  replace: (expression: BoundExpression) => BoundExpression | undefined,
): BoundExpression {
  return foldExpression<BoundExpression>(root, replace, (expression, results, parts) =>
    results.every((result, index) => result === parts[index]) ? expression : withParts(expression, results),
  );
}

/** Calls `visit` for an expression and all its parts, the outer ones first. Those for which it returns false are not entered. */
export function visitExpression(
  root: BoundExpression,
  visit: (expression: BoundExpression) => boolean,
): void {
  foldExpression<true>(
    root,
    (expression) => (visit(expression) ? undefined : true),
    () => true,
  );
}

/** The number of expressions in an expression, where one that appears in several places counts each time; at most `most`. */
export function expressionSize(root: BoundExpression, most: number): number {
  return foldExpression<number>(
    root,
    () => undefined,
    (_, sizes) => Math.min(most, 1 + sizes.reduce((sum, size) => sum + size, 0)),
  );
}

/** Gives numbers to expressions, equal numbers to those that are written alike and so always have equal values. */
export class ExpressionNumbers {
  readonly #numbers = new Map<string, number>();
  readonly #known = new WeakMap<BoundExpression, number>();
  #next = 0;

  /** The number of an expression. */
  of(root: BoundExpression): number {
    return foldExpression<number>(
      root,
      (expression) => this.#known.get(expression),
      (expression, parts) => {
        const number = this.#numbered(expression, parts);
        this.#known.set(expression, number);
        return number;
      },
    );
  }

  #numbered(expression: BoundExpression, parts: readonly number[]): number {
    const own = ownText(expression);
    this.#next += 1;
    // Two calls of a volatile function are never the same, and queries are not compared.
    if (own === undefined) return this.#next;
    const key = `${expression.kind} ${typeText(expression.type)} ${own} ${parts.join(' ')}`;
    const known = this.#numbers.get(key);
    if (known !== undefined) return known;
    this.#numbers.set(key, this.#next);
    return this.#next;
  }
}

/** What distinguishes an expression from others of its kind and type with the same parts; undefined: it equals no other. */
function ownText(expression: BoundExpression): string | undefined {
  switch (expression.kind) {
    case 'constant':
      return constantText(expression.value);
    case 'column':
      return `${expression.relation}.${expression.column}`;
    case 'call':
      if (expression.function.isVolatile === true) return undefined;
      return `${expression.function.name} ${expression.function.parameters.map(typeText).join(' ')}`;
    case 'is':
      return expression.test;
    case 'quantified':
      return `${expression.quantifier} ${expression.function.name}`;
    case 'scalar-subquery':
    case 'exists-subquery':
    case 'quantified-subquery':
      return undefined;
    default:
      return '';
  }
}

/** Constants longer than this are only equal to themselves, in UTF-16 units or elements. */
const COMPARED_LENGTH_MAX = 1_000;

function constantText(value: SqlValue): string | undefined {
  if (value instanceof Jsonb) {
    return isLargeJson(value.value, COMPARED_LENGTH_MAX) ? undefined : `json ${jsonText(value.value)}`;
  }
  if (typeof value === 'string')
    return value.length > COMPARED_LENGTH_MAX ? undefined : `text ${JSON.stringify(value)}`;
  if (typeof value === 'number') return Object.is(value, -0) ? 'number -0' : `number ${value}`;
  if (typeof value !== 'object' || value === null) return `${typeof value} ${String(value)}`;
  if (value.length > COMPARED_LENGTH_MAX) return undefined;
  const items = value.map(constantText);
  return items.includes(undefined) ? undefined : `[${items.join(',')}]`;
}

/** A text that is the same for equal JSON only. Integers beyond those of a double are not the texts of their digits. */
function jsonText(value: JsonValue): string {
  if (typeof value === 'bigint') return `${value}n`;
  if (isJsonArray(value)) return `[${value.map(jsonText).join(',')}]`;
  if (!isJsonObject(value)) return JSON.stringify(value);
  const members = Object.entries(value).map(([key, part]) => `${JSON.stringify(key)}:${jsonText(part)}`);
  return `{${members.join(',')}}`;
}
