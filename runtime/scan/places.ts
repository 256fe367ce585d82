import { LargeValue, type StoredValue } from '#runtime/shard/large-value.ts';
import type { NodeRecord } from '#runtime/tree/record/node-record.ts';

/** Bytes of rows that a part has read with its places after which it takes no further place. */
export const PART_BYTES: number = 256 * 1024;

/** Where a node stands in a source. */
export interface Place {
  /**
   * Position in the source, a binary string. Places come in byte order of their positions, and the position of a place is
   * the cursor behind which a scan goes on. It stays valid when nodes are added, moved or removed.
   */
  readonly position: string;
  readonly id: string;
  /** The present row of the node where the source reads it anyway. At a revision it may be of another state. */
  readonly present?: StoredValue | undefined;
  /** Whether the node has children, where the source reads that anyway. */
  readonly hasChildren?: boolean | undefined;
}

/** Bytes that a row takes in memory: a large one was not read. */
export function readBytes(value: StoredValue | undefined): number {
  return value === undefined || value instanceof LargeValue ? 0 : value.length;
}

/** Consecutive places. */
export interface PlacePart {
  readonly places: readonly Place[];
  /** The position behind which the next part begins; absent at the end. It may be present when no place was found. */
  readonly next?: string;
}

/** The part of a source to read next. */
export interface PartBounds {
  /** Only places behind this position, in the direction of the walk. */
  readonly after: string | undefined;
  readonly reverse: boolean;
  /** The most places to read, visible or not. */
  readonly most: number;
}

/**
 * An ordered list of nodes at one moment. It is read in parts. Nothing stays open between two parts, so the moment may
 * move to another snapshot of the store meanwhile.
 */
export interface PlaceSource {
  /** Reads a part. Yields only while it reads nodes whose positions are too long for a key. */
  part(bounds: PartBounds): Generator<undefined, PlacePart>;
  /**
   * Whether the source has a state of a node that was found at one of its places at a revision: a part may have places of
   * nodes that the source had at other revisions. Absent when it has all of them.
   */
  has?(record: NodeRecord): boolean;
}
