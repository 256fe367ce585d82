import type { BoundExpression } from '#runtime/sql-plan/bound/bound-statement.ts';
import { type NodeColumn, nodeColumns } from '#runtime/sql-plan/node-columns.ts';
import type { SqlValue } from '#runtime/sql-values/sql-value.ts';

/** The column of a workspace that an expression is. */
export function columnNamed(expression: BoundExpression, relation: number): NodeColumn | undefined {
  if (expression.kind !== 'column' || expression.relation !== relation) return undefined;
  return nodeColumns[expression.column]?.name;
}

/** The property that an expression is: `properties -> 'key'` or `properties ->> 'key'`. */
export function propertyOf(
  expression: BoundExpression,
  relation: number,
): { readonly key: string; readonly isText: boolean } | undefined {
  if (expression.kind !== 'call') return undefined;
  const { name } = expression.function;
  if (name !== '->' && name !== '->>') return undefined;
  const [object, key] = expression.args;
  if (object === undefined || columnNamed(object, relation) !== 'properties') return undefined;
  const text = constantText(key);
  // An index is the place in an array, which no properties are.
  return text === undefined ? undefined : { key: text, isText: name === '->>' };
}

/** The text that a constant is. */
export function constantText(expression: BoundExpression | undefined): string | undefined {
  return expression?.kind === 'constant' && typeof expression.value === 'string'
    ? expression.value
    : undefined;
}

/** Comparisons of an expression with constants. */
export interface KnownComparison {
  /** The condition itself. */
  readonly condition: BoundExpression;
  readonly operand: BoundExpression;
  readonly operator: '=' | '<' | '<=' | '>' | '>=';
  /** One value but for `=`. None is NULL. */
  readonly values: readonly SqlValue[];
}

const turned = { '=': '=', '<': '>', '<=': '>=', '>': '<', '>=': '<=' } as const;

/** The conditions of a conjunction. */
export function conjunctsOf(conditions: readonly BoundExpression[]): readonly BoundExpression[] {
  return conditions.flatMap((each) => (each.kind === 'and' ? conjunctsOf(each.operands) : [each]));
}

/**
 * A condition as a comparison with constants.
 *
 * @returns undefined for any other condition
 */
export function comparisonOf(condition: BoundExpression): KnownComparison | undefined {
  if (condition.kind === 'in')
    return equalToSome(condition, condition.operand, condition.items.map(constantOf));
  if (condition.kind === 'quantified') {
    const { array, left, quantifier } = condition;
    const isEqual = quantifier === 'any' && condition.function.name === '=';
    if (!isEqual || array.kind !== 'constant' || !Array.isArray(array.value)) return undefined;
    return equalToSome(condition, left, array.value as readonly SqlValue[]);
  }
  if (condition.kind !== 'call') return undefined;
  const { name } = condition.function;
  if (!isComparison(name)) return undefined;
  const [left, right] = condition.args as [BoundExpression, BoundExpression];
  const [a, b] = [constantOf(left), constantOf(right)];
  if (b !== undefined && b !== null) return { condition, operand: left, operator: name, values: [b] };
  if (a !== undefined && a !== null)
    return { condition, operand: right, operator: turned[name], values: [a] };
  return undefined;
}

function isComparison(name: string): name is KnownComparison['operator'] {
  return Object.hasOwn(turned, name);
}

function constantOf(expression: BoundExpression): SqlValue | undefined {
  return expression.kind === 'constant' ? expression.value : undefined;
}

/** NULL equals nothing, so it is left out. */
function equalToSome(
  condition: BoundExpression,
  operand: BoundExpression,
  values: readonly (SqlValue | undefined)[],
): KnownComparison | undefined {
  const known = values.filter((value) => value !== null);
  if (known.some((value) => value === undefined)) return undefined;
  return { condition, operand, operator: '=', values: known as readonly SqlValue[] };
}

/** The column that an expression is, also under a cast from path to text: both are compared by code point. */
export function comparedColumn(expression: BoundExpression, relation: number): NodeColumn | undefined {
  if (expression.kind === 'call' && expression.function.name === 'CAST') {
    const [inner] = expression.args as [BoundExpression];
    const isKept = inner.type.name === 'path' && expression.type.name === 'text';
    return isKept ? columnNamed(inner, relation) : undefined;
  }
  return columnNamed(expression, relation);
}

/** Whether an expression is the path of the parent: `PARENT(path)`, also under a cast to text. */
export function parentOf(expression: BoundExpression, relation: number): boolean {
  if (expression.kind !== 'call') return false;
  const [path, levels] = expression.args;
  if (expression.function.name === 'CAST' && expression.type.name === 'text')
    return path?.type.name === 'path' && parentOf(path, relation);
  if (expression.function.name !== 'PARENT' || path === undefined) return false;
  const isOneLevel = levels === undefined || (levels.kind === 'constant' && levels.value === 1);
  return isOneLevel && columnNamed(path, relation) === 'path';
}
