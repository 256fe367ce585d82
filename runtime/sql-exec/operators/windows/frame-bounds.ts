import { assert } from '#runtime/base/assert.ts';
import type { BoundFrameEdge, BoundWindow } from '#runtime/sql-plan/bound/bound-statement.ts';
import type { WindowPartition } from './window-partition.ts';

/**
 * The rows of a partition that a function sees from each row: places from `start(place)` until before `end(place)`. Both never
 * decrease from one place to the next, and the end is never before the start.
 */
export interface FrameBounds {
  /** Whether every frame starts with the partition. */
  readonly isFromStart: boolean;
  start(place: number): number;
  end(place: number): number;
}

/** The frames of the rows of a partition. */
export function frameBounds(frame: BoundWindow['frame'], partition: WindowPartition): FrameBounds {
  const isRange = frame.unit === 'range';
  const start = edgeOf(frame.start, isRange, partition, partition.firstPeers, 0);
  const end = edgeOf(frame.end, isRange, partition, partition.behindPeers, 1);
  return {
    isFromStart: frame.start.kind === 'unbounded-preceding',
    start,
    end: (place) => Math.max(start(place), end(place)),
  };
}

/**
 * @param peers the edge of the peers of each row, which is what RANGE means by the current row
 * @param behind 1 for an end, which is behind the row that it names; 0 for a start
 */
function edgeOf(
  edge: BoundFrameEdge,
  isRange: boolean,
  partition: WindowPartition,
  peers: Int32Array,
  behind: 0 | 1,
): (place: number) => number {
  const { length } = partition.rows;
  switch (edge.kind) {
    case 'unbounded-preceding':
      return () => 0;
    case 'unbounded-following':
      return () => length;
    case 'current-row':
      return isRange ? (place) => peers[place] as number : (place) => place + behind;
    case 'preceding':
    case 'following': {
      assert(!isRange, 'a distance counts rows');
      const distance = edge.kind === 'preceding' ? -edge.distance : edge.distance;
      return (place) => Math.min(length, Math.max(0, place + distance + behind));
    }
  }
}
