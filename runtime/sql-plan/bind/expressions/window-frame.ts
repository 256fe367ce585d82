import type { Expression, FrameBound, WindowClause } from '#runtime/sql-syntax/nodes/syntax-nodes.ts';
import type { SqlType } from '#runtime/sql-values/sql-type.ts';
import type { SqlValue } from '#runtime/sql-values/sql-value.ts';
import { intervalType } from '#runtime/sql-values/types/basic-types.ts';
import { typeText } from '#runtime/sql-values/types/type-names.ts';
import type { BoundFrameEdge, BoundSort, BoundWindow } from '../../bound/bound-statement.ts';
import type { ExpressionContext } from './expression-context.ts';

type Frame = BoundWindow['frame'];

/** What binds the distance of an edge. */
type BindDistance = (node: Expression) => number | bigint;

const numberTypes: ReadonlySet<string> = new Set(['int', 'bigint', 'double']);
const timeTypes: ReadonlySet<string> = new Set(['date', 'timestamp', 'timestamptz', 'interval']);

/**
 * Binds the frame of a window. Without one in the statement it is RANGE from the start of the partition to the current row.
 *
 * @param orderBy the keys of the order of the window
 * @throws {ServiceError} `VALIDATION_FAILED`
 */
export function bindFrame(
  { frame, span }: WindowClause,
  orderBy: readonly BoundSort[],
  context: ExpressionContext,
): Frame {
  const { binding } = context;
  if (frame === undefined)
    return { unit: 'range', start: { kind: 'unbounded-preceding' }, end: { kind: 'current-row' } };
  const bindDistance: BindDistance =
    frame.unit === 'rows'
      ? (node) => numberOfRows(node, context)
      : (node) => rangeDistance(node, orderBy, context);
  const start = bindEdge(frame.start, bindDistance);
  const end = bindEdge(frame.end, bindDistance);
  if (start.kind === 'unbounded-following')
    throw binding.error('A frame cannot start with UNBOUNDED FOLLOWING', span);
  if (end.kind === 'unbounded-preceding')
    throw binding.error('A frame cannot end with UNBOUNDED PRECEDING', span);
  // A frame whose bounds are in the wrong order is refused by their kinds; with distances it is just empty.
  if (edgeRank(start) > edgeRank(end))
    throw binding.error('A frame cannot start behind the row that it ends with', span);
  return { unit: frame.unit, start, end };
}

function edgeRank(edge: BoundFrameEdge): number {
  const order = ['unbounded-preceding', 'preceding', 'current-row', 'following', 'unbounded-following'];
  return order.indexOf(edge.kind);
}

function bindEdge(edge: FrameBound, bindDistance: BindDistance): BoundFrameEdge {
  if (!('distance' in edge)) return edge;
  return { kind: edge.kind, distance: bindDistance(edge.distance) };
}

/** The distance of ROWS. */
function numberOfRows(node: Expression, context: ExpressionContext): number {
  const { binding } = context;
  if (node.kind === 'literal' || node.kind === 'parameter') {
    const bound = context.bind(node, context);
    const value = bound.kind === 'constant' ? bound.value : undefined;
    if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value;
    if (typeof value === 'bigint' && value >= 0n) return Number.MAX_SAFE_INTEGER;
  }
  throw binding.error('Frame bound must be a constant integer', node.span);
}

/** The distance of RANGE: a number for a key that is one, an interval for a time. */
function rangeDistance(
  node: Expression,
  orderBy: readonly BoundSort[],
  context: ExpressionContext,
): number | bigint {
  const { binding } = context;
  const [key] = orderBy;
  if (key === undefined || orderBy.length > 1)
    throw binding.error('RANGE with a distance requires exactly one ORDER BY expression', node.span);
  const { type } = key.expression;
  const { value, type: given } = constantDistance(node, type, context);
  if (value === null) throw binding.error('Frame bound must not be NULL', node.span);
  const distance = distanceFor(type, given, value);
  if (distance < 0 || Number.isNaN(distance))
    throw binding.error('Frame bound must not be negative', node.span);
  return distance;
}

function constantDistance(
  node: Expression,
  type: SqlType,
  context: ExpressionContext,
): { readonly type: SqlType; readonly value: SqlValue } {
  const { binding, typing } = context;
  const bound = context.bind(node, context);
  const isTime = timeTypes.has(type.name);
  if (!isTime && !numberTypes.has(type.name)) {
    const text = `RANGE with a distance is not supported for ${typeText(type)}: it needs a number or a time`;
    throw binding.error(text, node.span);
  }
  const wanted = isTime ? intervalType : numberTypes.has(bound.type.name) ? bound.type : type;
  const distance = typing.coerce(bound, wanted, node.span);
  if (distance.kind !== 'constant') throw binding.error('Frame bound must be a constant', node.span);
  return distance;
}

/** A distance as it is added to the values of a key: see {@link BoundFrameEdge}. */
function distanceFor(key: SqlType, given: SqlType, value: SqlValue): number | bigint {
  if (timeTypes.has(key.name)) return value as bigint;
  if (key.name === 'bigint' && given.name !== 'double') return BigInt(value as number | bigint);
  return Number(value);
}
