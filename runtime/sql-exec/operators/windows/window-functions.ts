import { assert } from '#runtime/base/assert.ts';
import { invalid } from '#runtime/errors/service-error.ts';
import type { SqlType } from '#runtime/sql-values/sql-type.ts';
import type { SqlValue } from '#runtime/sql-values/sql-value.ts';
import type { Execution } from '../../execution.ts';
import type { Row } from '../../operator.ts';
import type { CompiledWindow, WindowFunctionName } from '../compiled-window.ts';
import type { RowExpression } from '../row-expression.ts';
import { type FrameBounds, frameBounds } from './frame-bounds.ts';
import { rowAt, type WindowPartition, type PutResult } from './window-partition.ts';

/** Estimated nanoseconds of a window function for a row, besides the evaluation of its arguments. */
const FUNCTION_WORK = 150;

/** What a window function is computed from, at a place of a partition. */
interface WindowCall {
  readonly partition: WindowPartition;
  readonly frame: FrameBounds;
  readonly args: readonly RowExpression[];
  readonly type: SqlType;
}

/**
 * Computes a function that exists over windows only for all rows of a partition.
 *
 * @returns yields where the work may pause
 * @throws {ServiceError} `VALIDATION_FAILED` for arguments out of range, `REQUEST_TOO_EXPENSIVE`
 */
export function* windowFunctionValues(
  execution: Execution,
  window: CompiledWindow,
  name: WindowFunctionName,
  args: readonly RowExpression[],
  partition: WindowPartition,
  put: PutResult,
): Generator<undefined, void> {
  const frame = frameBounds(window.frame, partition, window.partitioning.orderBy);
  const call = { partition, frame, args, type: window.type };
  const valueAt = functionsByName[name](call);
  for (let place = 0; place < partition.rows.length; place++) {
    execution.spend(FUNCTION_WORK + frame.work);
    put(place, valueAt(place));
    if (execution.isDue) {
      execution.pausing();
      yield undefined;
    }
  }
}

/** Each function for a partition: gives the value at a place; places are asked for in their order. */
const functionsByName: Readonly<
  Record<WindowFunctionName, (call: WindowCall) => (place: number) => SqlValue>
> = {
  ROW_NUMBER:
    ({ type }) =>
    (place) =>
      whole(place + 1, type),
  RANK:
    ({ partition, type }) =>
    (place) =>
      whole((partition.firstPeers[place] as number) + 1, type),
  DENSE_RANK: denseRank,
  PERCENT_RANK: ({ partition }) => {
    const others = partition.rows.length - 1;
    return (place) => (others === 0 ? 0 : (partition.firstPeers[place] as number) / others);
  },
  CUME_DIST:
    ({ partition }) =>
    (place) =>
      (partition.behindPeers[place] as number) / partition.rows.length,
  NTILE: tile,
  LAG: (call) => neighbour(call, -1),
  LEAD: (call) => neighbour(call, 1),
  FIRST_VALUE: (call) => framed(call, ({ frame }, place) => frame.start(place)),
  LAST_VALUE: (call) => framed(call, ({ frame }, place) => frame.end(place) - 1),
  NTH_VALUE: (call) => framed(call, nthPlace),
};

function denseRank({ partition, type }: WindowCall): (place: number) => SqlValue {
  let rank = 0;
  return (place) => {
    if (partition.firstPeers[place] === place) rank += 1;
    return whole(rank, type);
  };
}

/** NTILE: parts whose sizes differ by one at most, the larger ones first. */
function tile({ args, partition, type }: WindowCall): (place: number) => SqlValue {
  const { length } = partition.rows;
  const parts = wholeArgument(args[0], rowAt(partition, 0));
  if (parts === undefined) return () => null;
  if (parts <= 0) throw invalid('argument of NTILE must be greater than zero');
  const size = Math.floor(length / parts);
  const larger = length % parts;
  const inLarger = larger * (size + 1);
  return (place) => {
    const part =
      place < inLarger ? Math.floor(place / (size + 1)) : larger + Math.floor((place - inLarger) / size);
    return whole(part + 1, type);
  };
}

/** LAG and LEAD: the value some rows before or behind, or the default where there is no row. */
function neighbour({ args, partition }: WindowCall, direction: 1 | -1): (place: number) => SqlValue {
  const [read, distanceOf, otherwise] = args;
  assert(read !== undefined, 'it has an argument');
  return (place) => {
    const row = rowAt(partition, place);
    const distance = wholeArgument(distanceOf, row);
    if (distance === undefined) return null;
    const found = partition.rows[place + direction * distance];
    if (found !== undefined) return read(found.row);
    return otherwise === undefined ? null : otherwise(row);
  };
}

/** The value at a place of the frame; NULL where the frame has no such place. The same place is evaluated once in a row. */
function framed(
  call: WindowCall,
  placeOf: (call: WindowCall, place: number) => number | undefined,
): (place: number) => SqlValue {
  const { args, frame, partition } = call;
  const [read] = args;
  assert(read !== undefined, 'it has an argument');
  let last: number | undefined;
  let value: SqlValue = null;
  return (place) => {
    const wanted = placeOf(call, place);
    if (wanted === undefined || wanted < frame.start(place) || wanted >= frame.end(place)) return null;
    if (wanted !== last) value = read(rowAt(partition, wanted));
    last = wanted;
    return value;
  };
}

function nthPlace({ args, frame, partition }: WindowCall, place: number): number | undefined {
  const nth = wholeArgument(args[1], rowAt(partition, place));
  if (nth === undefined) return undefined;
  if (nth <= 0) throw invalid('argument of NTH_VALUE must be greater than zero');
  return frame.start(place) + nth - 1;
}

/** A number of rows that a function is given, 1 when it is absent; undefined for NULL. */
function wholeArgument(read: RowExpression | undefined, row: Row): number | undefined {
  if (read === undefined) return 1;
  const value = read(row);
  return value === null ? undefined : Math.trunc(Number(value));
}

function whole(value: number, type: SqlType): SqlValue {
  return type.name === 'bigint' ? BigInt(value) : value;
}
