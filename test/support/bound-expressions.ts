import type { BoundExpression, NodesPlan } from '#runtime/sql-plan/bound/bound-statement.ts';
import { type NodeColumn, nodeColumns } from '#runtime/sql-plan/node-columns.ts';
import { resolveCast } from '#runtime/sql-values/casts/resolve-cast.ts';
import { childOf, descendantOf, references } from '#runtime/sql-values/functions/hierarchy-functions.ts';
import { resolveFunction } from '#runtime/sql-values/functions/function-catalog.ts';
import { resolveOperator } from '#runtime/sql-values/operators/resolve-operator.ts';
import type { ScalarFunction } from '#runtime/sql-values/scalar-function.ts';
import type { SqlType } from '#runtime/sql-values/sql-type.ts';
import type { SqlValue } from '#runtime/sql-values/sql-value.ts';
import { booleanType, intType, pathType, textType } from '#runtime/sql-values/types/basic-types.ts';

/** Number of the relation of {@link nodesPlan}. */
export const RELATION = 7;

/** A workspace as a table of a statement. */
export function nodesPlan(workspace: string, more: Partial<NodesPlan> = {}): NodesPlan {
  return {
    kind: 'nodes',
    relation: RELATION,
    columns: nodeColumns,
    workspace,
    alias: workspace,
    branch: undefined,
    revision: undefined,
    locales: undefined,
    ...more,
  };
}

/** Position of a column. */
export function columnAt(name: NodeColumn): number {
  return nodeColumns.findIndex((each) => each.name === name);
}

export function column(name: NodeColumn): BoundExpression {
  const at = columnAt(name);
  return { kind: 'column', relation: RELATION, column: at, type: nodeColumns[at]!.type };
}

export function constant(value: SqlValue, type: SqlType = textType): BoundExpression {
  return { kind: 'constant', type, value };
}

export function call(called: ScalarFunction, ...args: readonly BoundExpression[]): BoundExpression {
  return { kind: 'call', type: called.result, function: called, args };
}

/** An operator; operands are cast as a binder does. */
export function op(name: string, left: BoundExpression, right: BoundExpression): BoundExpression {
  const called = resolveOperator(name, [left.type, right.type]);
  return call(called, left, right);
}

/** `path op 'text'`. */
export function path(operator: string, text: string): BoundExpression {
  return op(operator, column('path'), constant(text, pathType));
}

/** `column op 'text'`. */
export function compare(name: NodeColumn, operator: string, text: string): BoundExpression {
  return op(operator, column(name), constant(text));
}

/** `properties ->> 'key'`. */
export function property(key: string): BoundExpression {
  return op('->>', column('properties'), constant(key));
}

export function cast(expression: BoundExpression, to: SqlType): BoundExpression {
  return call(resolveCast(expression.type, to)!, expression);
}

/** `column IN ('a', 'b')`. */
export function isIn(operand: BoundExpression, ...values: readonly SqlValue[]): BoundExpression {
  const items = values.map((value) => constant(value, operand.type));
  return { kind: 'in', type: booleanType, operand, items };
}

export function isNull(operand: BoundExpression): BoundExpression {
  return { kind: 'is', type: booleanType, test: 'null', operand };
}

export function not(operand: BoundExpression): BoundExpression {
  return { kind: 'not', type: booleanType, operand };
}

export function or(...operands: readonly BoundExpression[]): BoundExpression {
  return { kind: 'or', type: booleanType, operands };
}

export function isChildOf(parent: string): BoundExpression {
  return call(childOf, column('path'), constant(parent, pathType));
}

export function isDescendantOf(ancestor: string, levels: number | null = null): BoundExpression {
  return call(descendantOf, column('path'), constant(ancestor, pathType), constant(levels, intType));
}

/** @param target `workspace:/path` */
export function refersTo(target: string): BoundExpression {
  return call(references, column('properties'), constant(target));
}

export function pathStartsWith(prefix: string): BoundExpression {
  const called = resolveFunction('PATH_STARTS_WITH', [pathType, textType]);
  return call(called, column('path'), constant(prefix));
}
