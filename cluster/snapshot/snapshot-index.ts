import type { SnapshotRecord } from './snapshot-manifest.ts';

/** Entry of a partition in the index. */
export interface IndexEntry {
  /** Newest first, at most `SNAPSHOTS_KEPT`; each was verified before it was added. */
  readonly records: readonly SnapshotRecord[];
  /** Changes with every change of the records; 0 while there are none. */
  readonly version: number;
}

/** The index of snapshots, shared by all members. */
export interface SnapshotIndex {
  /**
   * Reads the entry of a partition.
   *
   * @throws {ServiceError} `DATA_CORRUPTED`, `OVERLOADED`
   */
  read(partition: number): Promise<IndexEntry>;
  /**
   * Replaces the records that were read.
   *
   * @param version of the entry that was read
   * @returns false, with nothing changed, when it was changed concurrently
   * @throws {ServiceError} `STORAGE_FULL`; `OVERLOADED` when the outcome is unknown
   */
  replace(partition: number, version: number, records: readonly SnapshotRecord[]): Promise<boolean>;
  /**
   * Returns the entry of each partition, by its number, as of a recent moment. Damaged entries are omitted.
   *
   * @throws {ServiceError} `OVERLOADED`
   */
  all(): Promise<ReadonlyMap<number, IndexEntry>>;
}
