import type { SqlValue } from '#runtime/sql-values/sql-value.ts';
import type { Row } from '../../operator.ts';
import type { SortedRow } from '../sorting/sort-entry.ts';

/** Estimated bytes of a partition for each of its rows, besides the rows: positions in arrays. */
export const PARTITION_ROW_BYTES = 24;

/** A row with its position in the input. */
export interface PartitionRow extends SortedRow {
  readonly position: number;
}

/** The rows of a partition in their order. Places are positions within it, from 0. */
export interface WindowPartition {
  readonly rows: readonly PartitionRow[];
  /** For each place the place of the first row that is equal in the order: its first peer. */
  readonly firstPeers: Int32Array;
  /** For each place the place behind its last peer. */
  readonly behindPeers: Int32Array;
}

/** The row at a place of a partition. */
export function rowAt(partition: WindowPartition, place: number): Row {
  return (partition.rows[place] as PartitionRow).row;
}

/** Takes the values of a window for the rows of a partition, in their order. */
export type PutResult = (place: number, value: SqlValue) => void;
