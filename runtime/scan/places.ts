import { LargeValue, type StoredValue } from '#runtime/shard/large-value.ts';
import type { NodeRecord } from '#runtime/tree/record/node-record.ts';
import type { RecordView } from '#runtime/tree/record/record-view.ts';

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
  /** The parent of the node, where the source lists children. */
  readonly parentId?: string | undefined;
  /** Whether the node has children, where the source reads that anyway. */
  readonly hasChildren?: boolean | undefined;
  /** Whether the source may lack the state of the node at the moment, see {@link PlaceSource.has}. */
  readonly isLoose?: boolean | undefined;
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
  /** Nodes that may not have their present state, among those of the places; absent: any of them, at a revision. */
  readonly changed?: ReadonlySet<string>;
}

/** How many places are in a part. */
export interface CountedPart {
  readonly count: number;
  /** Whether a place may be loose, see {@link Place}. */
  readonly isLoose: boolean;
  /** As in {@link PlacePart}. */
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
  /** Reads a part. Yields while it reads nodes: those with positions too long for a key, or not in an index. */
  part(bounds: PartBounds): Generator<undefined, PlacePart>;
  /**
   * Counts the places of a part by their keys, which costs a fraction of reading them. Absent, or without an answer, where places
   * have to be read to be counted.
   */
  countPart?(bounds: Omit<PartBounds, 'reverse'>): CountedPart | undefined;
  /**
   * Whether the source has a state of a node that was found at a place that is loose. Absent when no place is. Yields only
   * for a large node.
   */
  has?(record: NodeRecord): boolean | Generator<undefined, boolean>;
  /** As {@link has}, of a row where it is stored; absent or undefined: that does not tell. */
  hasInPlace?(view: RecordView): boolean | undefined;
}

/** What {@link PlaceSource.has} tells of a node. */
export function* isOf(source: PlaceSource, record: NodeRecord): Generator<undefined, boolean> {
  const found = source.has === undefined || source.has(record);
  return typeof found === 'boolean' ? found : yield* found;
}
