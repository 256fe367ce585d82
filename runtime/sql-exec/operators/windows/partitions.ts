import { countedRowKey } from '../../expressions/key-work.ts';
import type { Execution } from '../../execution.ts';
import type { Row } from '../../operator.ts';
import type { WindowPartitioning } from '../compiled-window.ts';
import { BYTE_WORK, keyBytes, NEW_KEY_WORK, ROW_WORK } from '../row-memory.ts';
import { sortEntries } from '../sorting/sort-entries.ts';
import { compareWork, entryBytes, entryOrder, type SortEntry, sortKeysOf } from '../sorting/sort-entry.ts';
import { PARTITION_ROW_BYTES, type PartitionRow, type WindowPartition } from './window-partition.ts';

/** Bytes of a partition besides its rows and its key. */
const PARTITION_BYTES = 200;

/**
 * The partitions of rows, each in its order, one after the other. Rows that are equal in the order keep that of the input.
 *
 * @param keep counts memory that is used until the caller has passed the last partition
 * @yields partitions, and undefined where the work may pause
 * @throws {ServiceError} `REQUEST_TOO_EXPENSIVE`
 */
export function* partitionsOf(
  execution: Execution,
  rows: readonly Row[],
  partitioning: WindowPartitioning,
  keep: (bytes: number) => void,
): Generator<WindowPartition | undefined, void> {
  const partitions = yield* partitionRows(execution, rows, partitioning, keep);
  const order = entryOrder(partitioning.orderBy);
  const isOrdered = partitioning.orderBy.length > 0;
  for (const unordered of partitions) {
    const sorted = isOrdered ? yield* sortEntries(execution, unordered, order) : unordered;
    yield yield* withPeers(execution, sorted, order);
  }
}

function* partitionRows(
  execution: Execution,
  rows: readonly Row[],
  { orderBy, partitionBy, partitionTypes }: WindowPartitioning,
  keep: (bytes: number) => void,
): Generator<undefined, Iterable<PartitionRow[]>> {
  const keyOf = countedRowKey(partitionTypes, execution);
  const partitions = new Map<string, PartitionRow[]>();
  for (let position = 0; position < rows.length; position++) {
    const row = rows[position] as Row;
    const key = keyOf(partitionBy.map((read) => read(row)));
    const keys = sortKeysOf(orderBy, row);
    const bytes = entryBytes(keys) + PARTITION_ROW_BYTES;
    execution.spend(ROW_WORK + (keyBytes(key) + bytes) * BYTE_WORK);
    keep(bytes);
    const entry = { row, position, keys, work: compareWork(keys) };
    const partition = partitions.get(key);
    if (partition !== undefined) partition.push(entry);
    else {
      execution.spend(NEW_KEY_WORK);
      keep(keyBytes(key) + PARTITION_BYTES);
      partitions.set(key, [entry]);
    }
    if (execution.isDue) yield pause(execution);
  }
  return partitions.values();
}

/** Finds the peers of each row: those that are equal to it in the order. Without an order all are. */
function* withPeers(
  execution: Execution,
  rows: readonly PartitionRow[],
  order: (a: SortEntry, b: SortEntry) => number,
): Generator<undefined, WindowPartition> {
  const firstPeers = new Int32Array(rows.length);
  const behindPeers = new Int32Array(rows.length);
  let first = 0;
  for (let place = 1; place <= rows.length; place++) {
    const row = rows[place];
    const isPeer = row !== undefined && order(rows[first] as PartitionRow, row) === 0;
    execution.spend(row?.work ?? 0);
    if (!isPeer) {
      firstPeers.fill(first, first, place);
      behindPeers.fill(place, first, place);
      first = place;
    }
    if (execution.isDue) yield pause(execution);
  }
  return { rows, firstPeers, behindPeers };
}

function pause(execution: Execution): undefined {
  execution.pausing();
  return undefined;
}
