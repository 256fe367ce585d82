import { unreachable } from '#runtime/base/assert.ts';
import type {
  BetweenNode,
  BinaryNode,
  CaseNode,
  CastNode,
  DistinctFromNode,
  Expression,
  InListNode,
  InQueryNode,
  IsNode,
  LikeNode,
  LiteralNode,
  PropertyPathNode,
  QuantifiedNode,
  SubscriptNode,
} from '#runtime/sql-syntax/nodes/syntax-nodes.ts';
import type { SqlType } from '#runtime/sql-values/sql-type.ts';
import {
  bigintType,
  booleanType,
  doubleType,
  intervalType,
  intType,
  unknownType,
} from '#runtime/sql-values/types/basic-types.ts';
import { typeNamed } from '#runtime/sql-values/types/type-names.ts';
import type { BoundExpression, BoundLogic } from '../../bound/bound-statement.ts';
import { caseBranch } from '../expression-walk.ts';
import { bindCall } from './call-binder.ts';
import type { ExpressionContext } from './expression-context.ts';
import { bindArray, bindInList, bindInQuery, bindQuantified } from './membership-binder.ts';
import { constantOf } from './typing.ts';

/** An expression that begins with an operand: `a + b`, `a::int`, `a IS NULL`. */
type Leading =
  | BinaryNode
  | LikeNode
  | BetweenNode
  | IsNode
  | CastNode
  | SubscriptNode
  | InListNode
  | InQueryNode
  | DistinctFromNode
  | QuantifiedNode;

/**
 * Binds an expression: finds its columns and functions and brings its operands to the types that they need.
 *
 * Chains that lean to the left, such as a sum of thousands of terms, are bound in a loop, because they may be deeper than
 * the stack. All other nesting is bounded by the parser.
 *
 * @throws {ServiceError} `VALIDATION_FAILED` with the place
 */
export function bindExpression(node: Expression, context: ExpressionContext): BoundExpression {
  const chain: Leading[] = [];
  let first: Expression = node;
  while (isLeading(first)) {
    chain.push(first);
    first = leadingOperand(first);
  }
  let bound = bindFirst(first, context);
  const logic = new LogicChain();
  for (let link = chain.pop(); link !== undefined; link = chain.pop()) {
    if (link.kind === 'binary' && (link.operator === 'AND' || link.operator === 'OR')) {
      bound = logic.extended(link, bound, context);
    } else {
      bound = bindLink(link, bound, context);
    }
  }
  return bound;
}

function isLeading(node: Expression): node is Leading {
  switch (node.kind) {
    case 'binary':
    case 'like':
    case 'between':
    case 'is':
    case 'cast':
    case 'subscript':
    case 'in-list':
    case 'in-query':
    case 'distinct-from':
    case 'quantified':
      return true;
    default:
      return false;
  }
}

function leadingOperand(node: Leading): Expression {
  return 'left' in node ? node.left : node.operand;
}

/** Binds what a chain begins with. */
function bindFirst(node: Exclude<Expression, Leading>, context: ExpressionContext): BoundExpression {
  const { binding, typing } = context;
  switch (node.kind) {
    case 'literal':
      return constantOf(literalType(node), node.value);
    case 'interval':
      return typing.coerce(constantOf(unknownType, node.text), intervalType, node.span);
    case 'parameter':
      return binding.parameter(node.index, node.span);
    case 'column':
      return context.scope.column(binding, node.table, node.name, node.span);
    case 'property-path':
      return bindPropertyPath(node, context);
    case 'unary': {
      const operand = context.bind(node.operand, context);
      if (node.operator !== 'NOT') return typing.operator(node.operator, [operand], node.span);
      return not(typing.condition(operand, 'NOT', node.operand.span));
    }
    case 'case':
      return bindCase(node, context);
    case 'array':
      return bindArray(node, undefined, context);
    case 'call':
      return bindCall(node, context);
    case 'row':
      throw binding.error(rowText, node.span);
    case 'subquery': {
      binding.countSubquery(node.span);
      const query = context.bindSubquery(node.query, node.span);
      const count = query.output.length;
      if (count !== 1)
        throw binding.error(`Subquery must return exactly one column, got ${count}`, node.span);
      return { kind: 'scalar-subquery', type: query.output[0]!.expression.type, query };
    }
    case 'exists': {
      binding.countSubquery(node.span);
      const query = context.bindSubquery(node.query, node.span);
      return { kind: 'exists-subquery', type: booleanType, query };
    }
    default:
      return unreachable(node);
  }
}

const rowText =
  'Row values such as (a, b) are not supported. Compare the columns one by one, ' +
  'for example (a < $1 OR (a = $1 AND b < $2))';

/** Binds one link of a chain, whose leading operand is bound. */
function bindLink(node: Leading, leading: BoundExpression, context: ExpressionContext): BoundExpression {
  const { binding, typing } = context;
  switch (node.kind) {
    case 'binary':
      return bindBinary(node, leading, context);
    case 'like': {
      const pattern = context.bind(node.pattern, context);
      const like = typing.operator(node.ignoresCase ? 'ILIKE' : 'LIKE', [leading, pattern], node.span);
      return node.isNegated ? not(like) : like;
    }
    case 'between': {
      binding.countCopies(leading, 1, node.span);
      const low = typing.operator('>=', [leading, context.bind(node.low, context)], node.span);
      const high = typing.operator('<=', [leading, context.bind(node.high, context)], node.span);
      const both: BoundLogic = { kind: 'and', type: booleanType, operands: [low, high] };
      return node.isNegated ? not(both) : both;
    }
    case 'is': {
      const test = node.test === 'unknown' ? 'null' : node.test;
      const operand =
        node.test === 'null'
          ? typing.settled(leading, node.span)
          : typing.condition(leading, `IS ${node.test.toUpperCase()}`, node.operand.span);
      const is: BoundExpression = { kind: 'is', type: booleanType, test, operand };
      return node.isNegated ? not(is) : is;
    }
    case 'distinct-from': {
      const operator = node.isNegated ? 'IS NOT DISTINCT FROM' : 'IS DISTINCT FROM';
      return typing.operator(operator, [leading, context.bind(node.right, context)], node.span);
    }
    case 'cast':
      return bindCast(node, leading, context);
    case 'subscript': {
      const index = context.bind(node.index, context);
      return typing.operator('[]', [leading, index], node.span);
    }
    case 'in-list':
      return bindInList(node, leading, context);
    case 'in-query':
      return bindInQuery(node, leading, context);
    case 'quantified':
      return bindQuantified(node, leading, context);
    default:
      return unreachable(node);
  }
}

/** The operands of nested ANDs or ORs as one list. */
class LogicChain {
  #open: { readonly logic: BoundLogic; readonly operands: BoundExpression[] } | undefined;

  /** `left AND right`, where `left` was bound before: when it is a list of the same kind, the list grows. */
  extended(node: BinaryNode, left: BoundExpression, context: ExpressionContext): BoundExpression {
    const { typing } = context;
    const kind = node.operator === 'AND' ? 'and' : 'or';
    const right = context.bind(node.right, context);
    const operand = typing.condition(right, node.operator, node.right.span);
    const added = operand.kind === kind ? operand.operands : [operand];
    if (this.#open?.logic === left && left.kind === kind) {
      this.#open.operands.push(...added);
      return left;
    }
    const first = typing.condition(left, node.operator, node.left.span);
    const operands = [...(first.kind === kind ? first.operands : [first]), ...added];
    const logic: BoundLogic = { kind, type: booleanType, operands };
    this.#open = { logic, operands };
    return logic;
  }
}

function bindBinary(node: BinaryNode, left: BoundExpression, context: ExpressionContext): BoundExpression {
  if (node.left.kind === 'row' || node.right.kind === 'row') throw context.binding.error(rowText, node.span);
  const { right } = node;
  const isExtraction = node.operator === '->' || node.operator === '->>';
  // `properties->>'k'::int` casts what is extracted, although the cast is written at the key.
  if (isExtraction && right.kind === 'cast' && right.operand.kind === 'literal') {
    const key = context.bind(right.operand, context);
    return bindCast(right, context.typing.operator(node.operator, [left, key], node.span), context);
  }
  return context.typing.operator(node.operator, [left, context.bind(right, context)], node.span);
}

function bindCast(node: CastNode, operand: BoundExpression, context: ExpressionContext): BoundExpression {
  const { binding, typing } = context;
  const type = binding.at(node.type.span, () => typeNamed(node.type.name, node.type.isArray));
  return typing.cast(operand, type, node.span);
}

function bindPropertyPath(node: PropertyPathNode, context: ExpressionContext): BoundExpression {
  const [column, ...steps] = node.steps;
  let value: BoundExpression = context.scope.column(context.binding, undefined, String(column), node.span);
  for (const step of steps) {
    const key = typeof step === 'number' ? constantOf(intType, step) : constantOf(unknownType, step);
    value = context.typing.operator('->', [value, key], node.span);
  }
  return value;
}

function bindCase(node: CaseNode, context: ExpressionContext): BoundExpression {
  const { binding, typing } = context;
  const operand = node.operand === undefined ? undefined : context.bind(node.operand, context);
  if (operand !== undefined) binding.countCopies(operand, node.branches.length - 1, node.span);
  const conditions = node.branches.map(({ when }) => {
    const bound = context.bind(when, context);
    if (operand === undefined) return typing.condition(bound, 'CASE', when.span);
    return typing.operator('=', [operand, bound], when.span);
  });
  const values = node.branches.map(({ then }) => context.bind(then, context));
  const otherwise =
    node.otherwise === undefined ? constantOf(unknownType, null) : context.bind(node.otherwise, context);
  const { type, expressions } = typing.common([...values, otherwise], node.span);
  return {
    kind: 'case',
    type,
    branches: conditions.map((when, index) => caseBranch(when, expressions[index]!)),
    otherwise: expressions.at(-1)!,
  };
}

function literalType(node: LiteralNode): SqlType {
  switch (node.type) {
    case 'int':
      return intType;
    case 'bigint':
      return bigintType;
    case 'double':
      return doubleType;
    case 'boolean':
      return booleanType;
    default:
      return unknownType;
  }
}

function not(operand: BoundExpression): BoundExpression {
  return { kind: 'not', type: booleanType, operand };
}
