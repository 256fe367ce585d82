import type { BoundExpression } from '#runtime/sql-plan/bound/bound-statement.ts';
import { isVolatileOrQuery, walk, withParts } from './expression-parts.ts';

/** Most parts of an expression that may be computed twice: where it is used, and in a condition that was moved below it. */
const CHEAP_PARTS_MAX = 8;

/**
 * Most parts of an expression that becomes larger. An expression that names a column twice doubles with each derived table that
 * it is moved below.
 */
const GROWN_PARTS_MAX = 200;

/** Whether an expression may be computed once more to find rows that are not needed earlier. */
export function isCheap(expression: BoundExpression): boolean {
  let parts = 0;
  for (const _ of walk(expression)) {
    parts += 1;
    if (parts > CHEAP_PARTS_MAX) return false;
  }
  return !isVolatileOrQuery(expression);
}

/**
 * An expression over a relation as one over what the relation is made of.
 *
 * @param definitions expressions of the columns of the relation
 */
export function substitute(
  expression: BoundExpression,
  relation: number,
  definitions: readonly BoundExpression[],
): BoundExpression {
  if (expression.kind === 'column') {
    return expression.relation === relation ? definitions[expression.column]! : expression;
  }
  return withParts(expression, (part) => substitute(part, relation, definitions));
}

/**
 * As {@link substitute}.
 *
 * @returns undefined: a column that it names is not cheap, or is none of the definitions, or it would become too large
 */
export function substituteCheaply(
  expression: BoundExpression,
  relation: number,
  definitions: readonly BoundExpression[],
): BoundExpression | undefined {
  let parts = 0;
  let grown = 0;
  for (const part of walk(expression)) {
    parts += 1;
    if (part.kind !== 'column') continue;
    const definition = part.relation === relation ? definitions[part.column] : undefined;
    if (definition === undefined || !isCheap(definition)) return undefined;
    grown += partsOf(definition) - 1;
  }
  if (grown > 0 && parts + grown > GROWN_PARTS_MAX) return undefined;
  return substitute(expression, relation, definitions);
}

function partsOf(expression: BoundExpression): number {
  let parts = 0;
  for (const _ of walk(expression)) parts += 1;
  return parts;
}
