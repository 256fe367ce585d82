import type { TableRead } from '#runtime/sql-exec/ports.ts';
import { type AccessPath, Rank } from './access-path.ts';
import type { NodeTable } from './node-table.ts';

/** An access path with what it is expected to cost. */
export interface ChosenPath {
  readonly path: AccessPath;
  /** About how many rows it gives. */
  readonly rows: number;
  /** Estimated nanoseconds. */
  readonly cost: number;
}

/** What estimates are for a caller who may not know how many nodes there are. */
const UNTOLD_ROWS = 1_000;
const UNTOLD_COST = 5_000_000;

/** Nodes that are counted by keys at most: above it one source is as bad as another. */
const COUNTED_MAX = 1_024;

/** Of the nodes for which some conditions hold, the part for which the others are taken to hold too. */
export const REST_SHARE: number = 1 / 10;

/** Estimated nanoseconds to make a row, and to compare two while they are sorted. */
const ROW_WORK = 3_000;
const COMPARE_WORK = 500;

/**
 * Chooses the cheapest of several access paths. For a caller who may not read every node nothing is counted, because the choice
 * can be seen: then the rank decides.
 */
export function* choosePath(
  table: NodeTable,
  paths: readonly AccessPath[],
  { limit, order }: Pick<TableRead, 'limit' | 'order'>,
): Generator<undefined, ChosenPath> {
  if (!table.seesAll) {
    const path = bestRanked(paths, order.length > 0 && limit !== undefined);
    const { nodeWork, rowsMax = UNTOLD_ROWS } = path;
    if (rowsMax >= UNTOLD_ROWS) return { path, rows: UNTOLD_ROWS, cost: UNTOLD_COST };
    return { path, rows: rowsMax, cost: Math.min(rowsMax * (nodeWork + ROW_WORK), UNTOLD_COST) };
  }
  let best: ChosenPath | undefined;
  // The paths have the same rows: what one is found to have is the most for those behind it.
  let most = Number.POSITIVE_INFINITY;
  for (const path of paths) {
    const isRest = table.conditions.length > path.exact.length;
    const isEarly = limit !== undefined && (order.length === 0 || path.isOrdered);
    const counted = countedFor(path, isEarly ? limit / (isRest ? REST_SHARE : 1) : undefined, best?.cost);
    const size = yield* path.rows(counted);
    table.moment.rest();
    yield undefined;
    const rows = Math.min(isRest ? size * REST_SHARE : size, most);
    if (size < counted && path.endsEarly?.() !== true) most = Math.min(most, size);
    const made = isEarly ? Math.min(rows, limit) : rows;
    const read = rows === 0 ? size : (size * made) / rows;
    const sorting = order.length === 0 || path.isOrdered ? 0 : rows * Math.log2(rows + 1) * COMPARE_WORK;
    const cost = (path.handicap ?? 0) + read * path.nodeWork + made * ROW_WORK + sorting;
    if (best === undefined || cost < best.cost) best = { path, rows: Math.ceil(rows), cost };
  }
  return best as ChosenPath;
}

/**
 * Up to how many nodes it matters how many a path has.
 *
 * @param read nodes after which the scan ends; undefined: it does not end early
 * @param cost of the best path so far
 */
function countedFor({ nodeWork }: AccessPath, read: number | undefined, cost: number | undefined): number {
  const dearer = cost === undefined ? COUNTED_MAX : Math.ceil(cost / nodeWork);
  return Math.min(COUNTED_MAX, dearer, read === undefined ? COUNTED_MAX : Math.ceil(read));
}

/** @param isFirstWanted whether only the first rows of an order are wanted */
function bestRanked(paths: readonly AccessPath[], isFirstWanted: boolean): AccessPath {
  const isBetter = (a: AccessPath, b: AccessPath): boolean => {
    const isLate = a.rank >= Rank.pathRange && b.rank >= Rank.pathRange;
    if ((isLate || a.rank === b.rank) && isFirstWanted && a.isOrdered !== b.isOrdered) return a.isOrdered;
    return a.rank < b.rank;
  };
  return paths.reduce((best, path) => (isBetter(path, best) ? path : best));
}
