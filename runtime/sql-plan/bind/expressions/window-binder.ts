import type { CallNode, WindowClause } from '#runtime/sql-syntax/nodes/syntax-nodes.ts';
import { isAggregate } from '#runtime/sql-values/aggregates/resolve-aggregate.ts';
import type { SqlType } from '#runtime/sql-values/sql-type.ts';
import { bigintType, doubleType, intType } from '#runtime/sql-values/types/basic-types.ts';
import type { BoundExpression, BoundWindow } from '../../bound/bound-statement.ts';
import { AGGREGATES_MAX, KEYS_MAX } from '../limits.ts';
import { bindSortKey } from '../sort-key.ts';
import { bindAggregateCall } from './aggregate-binder.ts';
import type { ExpressionContext } from './expression-context.ts';
import { bindFrame } from './window-frame.ts';
import { constantOf, wrongArgumentCount } from './typing.ts';

type WindowFunction = Extract<BoundWindow['function'], { kind: 'window' }>;
type WindowName = WindowFunction['name'];

/** How many arguments each window function takes: the least, and the most. */
const argumentCounts: Readonly<Record<WindowName, readonly [number, number]>> = {
  ROW_NUMBER: [0, 0],
  RANK: [0, 0],
  DENSE_RANK: [0, 0],
  PERCENT_RANK: [0, 0],
  CUME_DIST: [0, 0],
  NTILE: [1, 1],
  LAG: [1, 3],
  LEAD: [1, 3],
  FIRST_VALUE: [1, 1],
  LAST_VALUE: [1, 1],
  NTH_VALUE: [2, 2],
};

/** Whether a name is that of a function that needs a window; aggregates are none of them. */
export function isWindowFunction(name: string): name is WindowName {
  return Object.hasOwn(argumentCounts, name);
}

/** Binds a call with OVER. @throws {ServiceError} `VALIDATION_FAILED` */
export function bindWindow(node: CallNode, over: WindowClause, context: ExpressionContext): BoundExpression {
  const { binding, windows, clause } = context;
  if (windows === undefined)
    throw binding.error(`Window function ${node.name} not allowed in ${clause}`, node.span);
  // A window is computed over the groups of the query, so that its aggregates may be named within it.
  const inner: ExpressionContext = { ...context, windows: undefined, clause: 'a window function' };
  const called = isWindowFunction(node.name)
    ? bindWindowFunction(node, node.name, inner)
    : bindWindowAggregate(node, context);
  if (over.partitionBy.length + over.orderBy.length > KEYS_MAX)
    throw binding.error(`A window may have at most ${KEYS_MAX} expressions`, over.span);
  const orderBy = over.orderBy.map((item) => bindSortKey(item, inner));
  const column = windows.column({
    ...called,
    partitionBy: over.partitionBy.map((key) => context.typing.settled(context.bind(key, inner), key.span)),
    orderBy,
    frame: bindFrame(over, orderBy, context),
  });
  if (windows.windows.length > AGGREGATES_MAX)
    throw binding.error(`A SELECT may have at most ${AGGREGATES_MAX} windows`, node.span);
  return column;
}

type Called = Pick<BoundWindow, 'function' | 'type'>;

function bindWindowAggregate(node: CallNode, context: ExpressionContext): Called {
  const { binding } = context;
  if (!isAggregate(node.name))
    throw binding.error(`Window function ${node.name} is not supported`, node.span);
  if (node.isDistinct) throw binding.error('DISTINCT is not supported in window functions', node.span);
  if (node.orderBy.length > 0)
    throw binding.error('ORDER BY within an aggregate is not supported in window functions', node.span);
  const aggregate = bindAggregateCall(node, context);
  return { function: { kind: 'aggregate', aggregate }, type: aggregate.function.result };
}

function bindWindowFunction(node: CallNode, name: WindowName, inner: ExpressionContext): Called {
  const { binding } = inner;
  const [least, most] = argumentCounts[name];
  const count = node.args.length;
  if (most === 0 && (count > 0 || node.isStar))
    throw binding.error(`${name}() does not take arguments`, node.span);
  if (count < least || count > most)
    throw binding.at(node.span, () => {
      throw wrongArgumentCount(name, least === most ? `${least}` : `${least} to ${most}`, count);
    });
  if (node.isDistinct) throw binding.error('DISTINCT is not supported in window functions', node.span);
  if (node.orderBy.length > 0)
    throw binding.error(`ORDER BY is not supported in the arguments of ${name}`, node.span);
  if (node.filter !== undefined)
    throw binding.error(`FILTER is only supported for aggregates, and ${name} is none`, node.span);
  const { args, type } = bindArguments(node, name, inner);
  return { function: { kind: 'window', name, args }, type };
}

function bindArguments(
  node: CallNode,
  name: WindowName,
  inner: ExpressionContext,
): { readonly args: readonly BoundExpression[]; readonly type: SqlType } {
  const { typing } = inner;
  const bound = node.args.map((argument) => inner.bind(argument, inner));
  const count = (index: number): BoundExpression =>
    typing.coerce(bound[index]!, intType, node.args[index]!.span);
  const value = (): BoundExpression => typing.settled(bound[0]!, node.args[0]!.span);
  switch (name) {
    case 'ROW_NUMBER':
    case 'RANK':
    case 'DENSE_RANK':
      return { args: [], type: bigintType };
    case 'PERCENT_RANK':
    case 'CUME_DIST':
      return { args: [], type: doubleType };
    case 'NTILE':
      return { args: [count(0)], type: intType };
    case 'NTH_VALUE': {
      const of = value();
      return { args: [of, count(1)], type: of.type };
    }
    case 'LAG':
    case 'LEAD': {
      const distance = bound.length > 1 ? count(1) : constantOf(intType, 1);
      if (bound.length < 3) {
        const of = value();
        return { args: [of, distance], type: of.type };
      }
      const { type, expressions } = typing.common([bound[0]!, bound[2]!], node.span);
      return { args: [expressions[0]!, distance, expressions[1]!], type };
    }
    default: {
      const of = value();
      return { args: [of], type: of.type };
    }
  }
}
