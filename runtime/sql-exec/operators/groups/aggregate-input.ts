import type { SqlValue } from '#runtime/sql-values/sql-value.ts';
import type { Row } from '../../operator.ts';
import type { CompiledAggregate } from '../compiled-aggregate.ts';
import { BYTE_WORK } from '../row-memory.ts';

/** Estimated nanoseconds for taking a row into an aggregate, besides what depends on its values. */
const ADD_WORK = 70;

/** Of an aggregate without arguments, as `COUNT(*)`. */
const noArguments: readonly SqlValue[] = Object.freeze([]);

/** The arguments of a row as an aggregate takes them in; undefined: it leaves the row out. */
export function argumentsOf(aggregate: CompiledAggregate, row: Row): readonly SqlValue[] | undefined {
  const { args, filter, function: taken } = aggregate;
  if (filter !== undefined && filter(row) !== true) return undefined;
  const [first, second] = args;
  if (first === undefined) return noArguments;
  if (second === undefined) {
    const value = first(row);
    return value === null && taken.skipsNulls ? undefined : [value];
  }
  const values = new Array<SqlValue>(args.length);
  for (let at = 0; at < args.length; at++) {
    const value = (args[at] as CompiledAggregate['args'][number])(row);
    if (value === null && taken.skipsNulls) return undefined;
    values[at] = value;
  }
  return values;
}

/**
 * Estimated nanoseconds for taking arguments into an aggregate: texts may be compared with one another.
 *
 * @param grown bytes by which the aggregate has grown
 */
export function addWork(args: readonly SqlValue[], grown: number): number {
  let work = ADD_WORK + Math.max(0, grown) * BYTE_WORK;
  for (const value of args) if (typeof value === 'string') work += value.length * BYTE_WORK;
  return work;
}
