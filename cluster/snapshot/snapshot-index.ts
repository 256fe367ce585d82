import type { SnapshotRecord } from './snapshot-manifest.ts';

/** What the index says of a partition. */
export interface IndexEntry {
  /** Newest first, at most `SNAPSHOTS_KEPT`; all of them were verified when they were put in. */
  readonly records: readonly SnapshotRecord[];
  /** Changes with every change of the records; 0 while there are none. */
  readonly version: number;
}

/** Which snapshots there are: the same for all members. */
export interface SnapshotIndex {
  /**
   * What there is of a partition.
   *
   * @throws {ServiceError} `DATA_CORRUPTED`, `OVERLOADED`
   */
  read(partition: number): Promise<IndexEntry>;
  /**
   * Puts others in the place of those that were read.
   *
   * @param version what was read
   * @returns false, and nothing changed, when somebody else did so meanwhile
   * @throws {ServiceError} `STORAGE_FULL`; `OVERLOADED` when nobody knows whether it happened
   */
  replace(partition: number, version: number, records: readonly SnapshotRecord[]): Promise<boolean>;
  /**
   * What there is of each partition, by its number; as of some moment not long ago. Damaged entries are left out.
   *
   * @throws {ServiceError} `OVERLOADED`
   */
  all(): Promise<ReadonlyMap<number, IndexEntry>>;
}
