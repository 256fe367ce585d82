import type { Clock } from '#runtime/base/time/clock.ts';
import type { Write } from '#runtime/log/log-entry.ts';
import type { Shard, ShardPosition } from '#runtime/shard/shard.ts';
import { crashPoint } from './crash-point.ts';
import type { Memtable } from './memtable.ts';
import { sortedChanges } from './sorted-changes.ts';

/** Writes of one LMDB transaction: enqueuing them blocks the event loop for two to four milliseconds. */
const WRITES_PER_TRANSACTION = 4000;

/** Rows that go with a large value of 16 MiB when it is replaced. Its length is not known without another look-up. */
const ROWS_OF_LARGE = 258;

/**
 * Bytes of values above which a transaction takes no more. Until the commit LMDB keeps all its pages in memory, besides
 * the values themselves, and does not return that memory to the system.
 */
export const TRANSACTION_BYTES_MAX: number = 8 * 1024 * 1024;

/**
 * Applies a stack of memtables to a shard, in transactions of a bounded size. Only the last one carries the new
 * position, so a partial application after a crash is rewritten from the log. Without changes there is still one
 * transaction for the position.
 *
 * @param memtables newest first; they must not change meanwhile
 * @param position position of the shard afterwards
 * @returns resolves when everything is committed and on disk
 * @throws {ServiceError} the errors of the shard
 */
export async function applyMemtables(
  shard: Shard,
  memtables: readonly Memtable[],
  position: ShardPosition,
  clock: Clock,
): Promise<void> {
  const flushes: Promise<void>[] = [];
  const apply = async (writes: readonly Write[], reached: ShardPosition): Promise<void> => {
    const applied = shard.apply(writes, reached);
    flushes.push(applied.flushed);
    await applied.committed;
    crashPoint('mid-apply');
  };
  const pause = (): Promise<void> => new Promise((resolve) => clock.soon(resolve));
  const weigh = (table: number, key: string): number =>
    shard.isLarge?.(table, key) === true ? ROWS_OF_LARGE : 1;
  try {
    for (const _ of shard.learnLargeRows?.() ?? []) await pause();
    let waiting: readonly Write[] | undefined;
    for (const part of sortedChanges(memtables, WRITES_PER_TRANSACTION, TRANSACTION_BYTES_MAX, weigh)) {
      if (part.length === 0) {
        await pause();
        continue;
      }
      if (waiting !== undefined) await apply(waiting, shard.position);
      waiting = part;
    }
    await apply(waiting ?? [], position);
    // Await every flush: a later successful flush does not make up for an earlier failed one.
    await Promise.all(flushes);
  } catch (cause) {
    await Promise.allSettled(flushes);
    throw cause;
  }
}
