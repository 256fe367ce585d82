import { AFTER_END } from '#runtime/shard/binary-key.ts';
import { BranchTable, propertyPrefix, readPropertyKey, underParts } from '#runtime/shard/key-layout.ts';
import type { Range, TableReader } from '#runtime/shard/shard.ts';
import { decodeTypeCount, hasRows } from './index-catalog.ts';

/** Distinct values looked at, from each end of an index. */
const VALUES_MAX = 64;

/** Rows of one value counted. */
const ROWS_OF_VALUE_MAX = 32;

/** What a planner may know of an index of a workspace. */
export interface IndexStatistics {
  /** Rows of all types; those of pending indexes may be missing. */
  readonly rows: number;
  /** Keys of the smallest and the largest value; undefined in an empty index. */
  readonly smallest: string | undefined;
  readonly largest: string | undefined;
  /** Number of different keys: exact for few of them, otherwise estimated from both ends of the index. */
  readonly distinct: number;
}

/** Number of rows of an index of a workspace. The cost grows with the number of types in the workspace. */
export function indexSize(reader: TableReader, workspace: string, index: string): number {
  let rows = 0;
  for (const { value } of reader.range(BranchTable.counts, underParts(workspace))) {
    const { count, fields } = decodeTypeCount(value);
    if (hasRows(fields, index)) rows += count;
  }
  return rows;
}

/**
 * Reads the statistics of an index. Nothing is stored for them: the rows follow from the counters of the catalog, which
 * every write keeps, and the rest from the keys at both ends of the index. The cost is bounded: some hundred look-ups,
 * whatever the size of the index.
 *
 * @param index its name, see `index-name.ts`
 */
export function indexStatistics(reader: TableReader, workspace: string, index: string): IndexStatistics {
  const rows = indexSize(reader, workspace, index);
  const low = walkValues(reader, workspace, index, false);
  const high = walkValues(reader, workspace, index, true);
  const [smallest, largest] = [low.values[0], high.values[0]];
  const distinct = low.isAll ? low.values.length : estimate(rows, [low, high]);
  return { rows, smallest, largest, distinct };
}

/** Keys of the values of an index; undefined when there are many. */
export function fewValues(
  reader: TableReader,
  workspace: string,
  index: string,
): readonly string[] | undefined {
  const { isAll, values } = walkValues(reader, workspace, index, false);
  return isAll ? values : undefined;
}

interface Walk {
  /** Keys of different values, in the direction of the walk. */
  readonly values: readonly string[];
  /** Number of their rows that were counted. */
  readonly rows: number;
  /** Whether the index has no other values. */
  readonly isAll: boolean;
}

/** Looks at the first different values of an index in one direction, and jumps over further rows of each. */
function walkValues(reader: TableReader, workspace: string, index: string, reverse: boolean): Walk {
  const prefix = propertyPrefix(workspace, index);
  const values: string[] = [];
  let rows = 0;
  let rest: Range = { start: prefix, end: prefix.slice(0, -1) + AFTER_END, reverse };
  while (values.length < VALUES_MAX) {
    let value: string | undefined;
    let rowsOfValue = 0;
    for (const { key } of reader.range(BranchTable.properties, rest)) {
      const found = readPropertyKey(key, prefix).value;
      value ??= found;
      if (found !== value || rowsOfValue === ROWS_OF_VALUE_MAX) break;
      rowsOfValue += 1;
    }
    if (value === undefined) return { values, rows, isAll: true };
    values.push(value);
    rows += rowsOfValue;
    rest = reverse ? { ...rest, end: prefix + value } : { ...rest, start: prefix + value + AFTER_END };
  }
  return { values, rows, isAll: false };
}

/** As many values for each row as at both ends of the index. */
function estimate(rows: number, walks: readonly Walk[]): number {
  const counted = walks.reduce((sum, walk) => sum + walk.rows, 0);
  const values = walks.reduce((sum, walk) => sum + walk.values.length, 0);
  return Math.max(VALUES_MAX, Math.round((rows * values) / counted));
}
