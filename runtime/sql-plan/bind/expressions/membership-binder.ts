import { isJsonArray } from '#runtime/content/values/json-value.ts';
import type {
  ArrayNode,
  InListNode,
  InQueryNode,
  QuantifiedNode,
} from '#runtime/sql-syntax/nodes/syntax-nodes.ts';
import { resolveOperator } from '#runtime/sql-values/operators/resolve-operator.ts';
import type { SqlType } from '#runtime/sql-values/sql-type.ts';
import { Jsonb } from '#runtime/sql-values/sql-value.ts';
import { arrayOf, booleanType, textType } from '#runtime/sql-values/types/basic-types.ts';
import { typeText } from '#runtime/sql-values/types/type-names.ts';
import type { BoundConstant, BoundExpression, BoundQuery } from '../../bound/bound-statement.ts';
import { FOLDED_LENGTH_MAX } from '../limits.ts';
import type { ExpressionContext } from './expression-context.ts';
import { elementsOf } from './json-elements.ts';

/** `x IN (a, b)`. */
export function bindInList(
  node: InListNode,
  operand: BoundExpression,
  context: ExpressionContext,
): BoundExpression {
  const { typing } = context;
  const items = node.items.map((item) => context.bind(item, context));
  const { expressions } = typing.common([operand, ...items], node.span);
  const [first, ...others] = expressions;
  // Types without equality are refused here; all have the same type from here on.
  context.binding.at(node.span, () => resolveOperator('=', [first!.type, first!.type]));
  return negated(node.isNegated, {
    kind: 'in',
    type: booleanType,
    operand: first!,
    items: others,
  });
}

/** `x IN (query)`. */
export function bindInQuery(
  node: InQueryNode,
  operand: BoundExpression,
  context: ExpressionContext,
): BoundExpression {
  const { binding } = context;
  binding.countSubquery(node.span);
  const query = context.bindSubquery(node.query, node.query.span);
  const count = query.output.length;
  if (count !== 1)
    throw binding.error(`IN subquery must return exactly one column, got ${count}`, node.query.span);
  return negated(node.isNegated, comparedQuery('=', 'any', operand, query, node, context));
}

/** `x op ANY (…)`, `x op ALL (…)`. */
export function bindQuantified(
  node: QuantifiedNode,
  left: BoundExpression,
  context: ExpressionContext,
): BoundExpression {
  const { binding, typing } = context;
  const { operator, quantifier, right } = node;
  if (right.kind === 'query') {
    binding.countSubquery(node.span);
    const query = context.bindSubquery(right, right.span);
    const count = query.output.length;
    const name = quantifier.toUpperCase();
    if (count !== 1)
      throw binding.error(`${name} subquery must return exactly one column, got ${count}`, right.span);
    return comparedQuery(operator, quantifier, left, query, node, context);
  }
  const array =
    right.kind === 'array'
      ? bindArray(right, left, context)
      : arrayFor(context.bind(right, context), left, node, context);
  const element = array.type.element;
  if (element === undefined)
    throw binding.error(
      `${quantifier.toUpperCase()} needs an array, got ${typeText(array.type)}`,
      right.span,
    );
  const { scalar, args } = typing.findOperator(operator, [left, sample(element)], node.span);
  const [leftType, elementType] = scalar.parameters;
  return {
    kind: 'quantified',
    type: booleanType,
    quantifier,
    function: scalar,
    left: typing.cast(args[0]!, leftType!, node.left.span),
    array: typing.cast(array, arrayOf(elementType!), right.span),
  };
}

/** An operand of ANY or ALL as an array: an array of JSON becomes one of values like those that it is compared with. */
function arrayFor(
  right: BoundExpression,
  left: BoundExpression,
  node: QuantifiedNode,
  context: ExpressionContext,
): BoundExpression {
  if (right.type.name === 'unknown') {
    const type = context.binding.at(node.right.span, () => arrayOf(settledType(left)));
    return context.typing.coerce(right, type, node.right.span);
  }
  if (right.type.name !== 'jsonb') return right;
  const elements = elementsOf(left.type);
  // A parameter with a list is taken apart once, and not for every row.
  if (right.kind === 'constant' && right.value instanceof Jsonb && isJsonArray(right.value.value)) {
    if (context.binding.mayList(right.value.value.length))
      return { kind: 'constant', type: elements.result, value: elements.evaluate(right.value) };
  }
  return context.typing.call(elements, [right], node.right.span);
}

function settledType(left: BoundExpression): SqlType {
  return left.type.name === 'unknown' ? textType : left.type;
}

/**
 * `ARRAY[…]`.
 *
 * @param beside what its elements are compared with; the elements are brought to a common type with it
 */
export function bindArray(
  node: ArrayNode,
  beside: BoundExpression | undefined,
  context: ExpressionContext,
): BoundExpression {
  const { binding, typing } = context;
  const items = node.items.map((item) => context.bind(item, context));
  const all = beside === undefined ? items : [beside, ...items];
  const common = typing.common(all, node.span);
  const expressions = beside === undefined ? common.expressions : common.expressions.slice(1);
  const type = binding.at(node.span, () => arrayOf(common.type));
  const constants = expressions.filter((item): item is BoundConstant => item.kind === 'constant');
  if (constants.length === expressions.length && constants.length <= FOLDED_LENGTH_MAX)
    return { kind: 'constant', type, value: constants.map(({ value }) => value) };
  return { kind: 'array', type, items: expressions };
}

function comparedQuery(
  operator: QuantifiedNode['operator'],
  quantifier: 'any' | 'all',
  left: BoundExpression,
  query: BoundQuery,
  node: InQueryNode | QuantifiedNode,
  context: ExpressionContext,
): BoundExpression {
  const { typing } = context;
  const [column] = query.output;
  const { scalar, args } = typing.findOperator(operator, [left, sample(column!.expression.type)], node.span);
  const [leftType, columnType] = scalar.parameters;
  const expression = typing.cast(column!.expression, columnType!, node.span);
  return {
    kind: 'quantified-subquery',
    type: booleanType,
    quantifier,
    function: scalar,
    left: typing.cast(args[0]!, leftType!, node.span),
    query: { plan: query.plan, output: [{ name: column!.name, expression }] },
  };
}

/** Stands for values of a type that are not there yet, while an operator is looked for. */
function sample(type: SqlType): BoundConstant {
  return { kind: 'constant', type, value: null };
}

function negated(isNegated: boolean, operand: BoundExpression): BoundExpression {
  return isNegated ? { kind: 'not', type: booleanType, operand } : operand;
}
