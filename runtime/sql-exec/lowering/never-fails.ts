import { partsOf } from '#runtime/sql-plan/bind/expression-walk.ts';
import type { BoundExpression } from '#runtime/sql-plan/bound/bound-statement.ts';

/** Functions and operators that have a value for all arguments of their types. */
const sureFunctions: ReadonlySet<string> = new Set([
  '=',
  '<>',
  '<',
  '<=',
  '>',
  '>=',
  'IS DISTINCT FROM',
  'IS NOT DISTINCT FROM',
  '->',
  '->>',
  'CHILD_OF',
  'DESCENDANT_OF',
  'PATH_STARTS_WITH',
]);

/**
 * Whether a condition has a value for every row, and no subquery: so it may be checked before others that were written before it.
 */
export function neverFails(condition: BoundExpression): boolean {
  const rest = [condition];
  for (let next = rest.pop(); next !== undefined; next = rest.pop()) {
    if ('query' in next) return false;
    if (next.kind === 'call' && !sureFunctions.has(next.function.name) && !isFromPath(next)) return false;
    if (next.kind === 'quantified' && !sureFunctions.has(next.function.name)) return false;
    rest.push(...partsOf(next));
  }
  return true;
}

/** Whether an expression is the text of a path, which is the path. */
function isFromPath(expression: BoundExpression): boolean {
  if (expression.kind !== 'call' || expression.function.name !== 'CAST') return false;
  return expression.type.name === 'text' && expression.args[0]?.type.name === 'path';
}
