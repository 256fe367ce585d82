import type { BoundCall, BoundColumn, BoundExpression } from '#runtime/sql-plan/bound/bound-statement.ts';
import { isNumberCast } from '../expressions/number-cast.ts';

/** `column -> 'key'` or `column ->> 'key'` with a constant key. */
export interface PropertyAccess {
  readonly call: BoundCall;
  readonly column: BoundColumn;
  readonly key: string;
  readonly isText: boolean;
}

/** How an expression reads one property of a column of JSON; undefined: it is something else. */
export function propertyAccess(expression: BoundExpression): PropertyAccess | undefined {
  if (expression.kind !== 'call') return undefined;
  const { name } = expression.function;
  if (name !== '->' && name !== '->>') return undefined;
  const [column, key] = expression.args;
  if (column?.kind !== 'column' || column.type.name !== 'jsonb') return undefined;
  if (key?.kind !== 'constant' || typeof key.value !== 'string') return undefined;
  return { call: expression, column, key: key.value, isText: name === '->>' };
}

/** The property of which an expression is the cast to a number, `(column ->> 'key')::INT`; undefined: it is something else. */
export function numberAccess(expression: BoundExpression): PropertyAccess | undefined {
  if (!isNumberCast(expression)) return undefined;
  const access = propertyAccess(expression.args[0] as BoundExpression);
  return access?.isText === true ? access : undefined;
}
