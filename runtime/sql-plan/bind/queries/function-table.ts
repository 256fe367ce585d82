import type { FunctionTableNode } from '#runtime/sql-syntax/nodes/syntax-nodes.ts';
import type { SqlType, SqlTypeName } from '#runtime/sql-values/sql-type.ts';
import { bigintType, intervalType, intType, timestamptzType } from '#runtime/sql-values/types/basic-types.ts';
import { typeText } from '#runtime/sql-values/types/type-names.ts';
import { authTableNames, isAuthTable } from '../../auth-functions.ts';
import type { BoundExpression, LogicalPlan } from '../../bound/bound-statement.ts';
import { constantOf, wrongArgumentCount } from '../expressions/typing.ts';
import { authRows } from '../expressions/auth-rows.ts';
import { NameScope, type NamedRelation } from '../scopes/name-scope.ts';
import { suggestion } from '../scopes/name-suggestions.ts';
import { expressionContext, type QueryContext } from './query-context.ts';

/** A relation that a function in FROM gives. */
export type FunctionRelation = Extract<LogicalPlan, { readonly kind: 'series' | 'values' }>;

/** Binds a function in FROM whose arguments are bound. */
type BindFunction = (
  node: FunctionTableNode,
  args: readonly BoundExpression[],
  context: QueryContext,
) => FunctionRelation;

const functions: Readonly<Record<string, BindFunction>> = { GENERATE_SERIES: bindSeries };

const numberTypes: ReadonlySet<SqlTypeName> = new Set(['int', 'bigint', 'double']);
const timeTypes: ReadonlySet<SqlTypeName> = new Set(['date', 'timestamp', 'timestamptz']);

/**
 * Binds a function in FROM. Its arguments are expressions without columns.
 *
 * @param before the relations to the left, which the arguments cannot use
 * @throws {ServiceError} `VALIDATION_FAILED`
 */
export function bindFunctionTable(
  node: FunctionTableNode,
  before: readonly NamedRelation[],
  context: QueryContext,
): FunctionRelation {
  const { binding } = context;
  const bindFunction = functionNamed(node.name);
  if (bindFunction === undefined) {
    const similar = suggestion(node.name, [...Object.keys(functions), ...authTableNames]);
    throw binding.error(`Function not found in FROM: ${node.name}${similar}`, node.span);
  }
  const around = new NameScope(before, context.outer);
  const scope = new NameScope([], around.aroundSubquery);
  const expressions = expressionContext(context, scope, 'the arguments of a function in FROM');
  const args = node.args.map((argument) => expressions.bind(argument, expressions));
  return bindFunction(node, args, context);
}

function functionNamed(name: string): BindFunction | undefined {
  if (isAuthTable(name)) return (node, args, context) => authRows(node, name, args, context.binding);
  return Object.hasOwn(functions, name) ? functions[name] : undefined;
}

/** GENERATE_SERIES(start, stop [, step]), over numbers or times. */
function bindSeries(
  node: FunctionTableNode,
  args: readonly BoundExpression[],
  context: QueryContext,
): FunctionRelation {
  const { binding, typing } = context;
  if (args.length < 2 || args.length > 3)
    throw binding.at(node.span, () => {
      throw wrongArgumentCount(node.name, '2 to 3', args.length);
    });
  const { type, isTime } = seriesType(node, args, context);
  const given = args[2] ?? constantOf(intType, 1);
  const bounds = [0, 1].map((index) => typing.coerce(args[index]!, type, node.args[index]!.span));
  const step = typing.coerce(given, isTime ? intervalType : type, (node.args[2] ?? node).span);
  return {
    kind: 'series',
    relation: binding.newRelation(),
    columns: [{ name: node.alias ?? node.name.toLowerCase(), type }],
    start: bounds[0]!,
    stop: bounds[1]!,
    step,
  };
}

/** The type of the values of a series: the common one of its bounds, and of a step that is a number. */
function seriesType(
  node: FunctionTableNode,
  args: readonly BoundExpression[],
  { binding, typing }: QueryContext,
): { readonly type: SqlType; readonly isTime: boolean } {
  const bounds = args.slice(0, 2);
  // Bounds without a type are numbers.
  const isOpen = bounds.every(({ type }) => type.name === 'unknown');
  const common = isOpen ? bigintType : typing.common(bounds, node.span).type;
  if (timeTypes.has(common.name)) {
    if (args.length < 3) throw binding.error('A series of times needs a step, an INTERVAL', node.span);
    return { type: common.name === 'date' ? timestamptzType : common, isTime: true };
  }
  if (!numberTypes.has(common.name)) {
    const text = `${node.name} makes numbers or times, not values of type ${typeText(common)}`;
    throw binding.error(text, node.span);
  }
  const step = args[2];
  if (step === undefined || !numberTypes.has(step.type.name)) return { type: common, isTime: false };
  return { type: typing.common([constantOf(common, null), step], node.span).type, isTime: false };
}
