import type { TableReader } from '#runtime/shard/shard.ts';
import type { NodeRecord } from '#runtime/tree/record/node-record.ts';
import type { PlaceSource } from './places.ts';

/**
 * A source whose nodes are found by a table that has the present state only. `OverlaidPlaces` makes it one that can be
 * read at any moment. A node is at one position of it at most.
 */
export interface IndexedSource {
  readonly workspace: string;
  /** The places of the present state. */
  readonly rows: PlaceSource;
  /**
   * Looks at the catalog of a snapshot: whether the table has all nodes of the source. Called before {@link rows} are
   * read.
   */
  hasAll(reader: TableReader): boolean;
  /** The position of a state of a node; undefined when it is not in the source. Yields only for a large node. */
  positionOf(record: NodeRecord): Generator<undefined, string | undefined>;
  /** The same nodes in the same order, without the table. */
  withoutTable(): PlaceSource;
}
