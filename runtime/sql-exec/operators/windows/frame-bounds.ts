import { assert } from '#runtime/base/assert.ts';
import type { BoundFrameEdge, BoundWindow } from '#runtime/sql-plan/bound/bound-statement.ts';
import type { SortKey } from '../sort-key.ts';
import { rangeDistanceEdge } from './range-distance.ts';
import type { WindowPartition } from './window-partition.ts';

/** Estimated nanoseconds to find an edge by bisection, for each halving. */
const BISECTION_WORK = 60;

/**
 * The rows of a partition that a function sees from each row: places from `start(place)` until before `end(place)`. Both never
 * decrease from one place to the next, and the end is never before the start.
 */
export interface FrameBounds {
  /** Whether every frame starts with the partition. */
  readonly isFromStart: boolean;
  /** Estimated nanoseconds to find both edges of a frame. */
  readonly work: number;
  start(place: number): number;
  end(place: number): number;
}

/** The frames of the rows of a partition. @param orderBy the order of the window */
export function frameBounds(
  frame: BoundWindow['frame'],
  partition: WindowPartition,
  orderBy: readonly SortKey[],
): FrameBounds {
  const isRange = frame.unit === 'range';
  const start = edgeOf(frame.start, isRange, partition, orderBy, 0);
  const end = edgeOf(frame.end, isRange, partition, orderBy, 1);
  const bisections = isRange ? Number('distance' in frame.start) + Number('distance' in frame.end) : 0;
  return {
    isFromStart: frame.start.kind === 'unbounded-preceding',
    work: bisections * BISECTION_WORK * Math.ceil(Math.log2(partition.rows.length + 1)),
    start,
    end: (place) => Math.max(start(place), end(place)),
  };
}

/** @param behind 1 for an end, which is behind the row that it names; 0 for a start */
function edgeOf(
  edge: BoundFrameEdge,
  isRange: boolean,
  partition: WindowPartition,
  orderBy: readonly SortKey[],
  behind: 0 | 1,
): (place: number) => number {
  const { length } = partition.rows;
  // The edge of the peers of each row is what RANGE means by the current row.
  const peers = behind === 1 ? partition.behindPeers : partition.firstPeers;
  switch (edge.kind) {
    case 'unbounded-preceding':
      return () => 0;
    case 'unbounded-following':
      return () => length;
    case 'current-row':
      return isRange ? (place) => peers[place] as number : (place) => place + behind;
    case 'preceding':
    case 'following': {
      if (isRange) {
        const [key] = orderBy;
        assert(key !== undefined, 'a distance is one of the values of a key');
        return rangeDistanceEdge(edge, behind === 1, key, partition);
      }
      const rows = Number(edge.distance);
      const distance = edge.kind === 'preceding' ? -rows : rows;
      return (place) => Math.min(length, Math.max(0, place + distance + behind));
    }
  }
}
