import type { Clock } from '#runtime/base/clock.ts';
import type { Write } from '#runtime/log/log-entry.ts';
import type { Shard, ShardPosition } from '#runtime/shard/shard.ts';
import { crashPoint } from './crash-point.ts';
import type { Memtable } from './memtable.ts';
import { sortedChanges } from './sorted-changes.ts';

/** Writes of one LMDB transaction: enqueuing them holds the event loop for two to four milliseconds. */
const WRITES_PER_TRANSACTION = 4000;

/**
 * Bytes of values after which a transaction takes no more: until it is committed LMDB has all its pages in memory, besides
 * the values themselves, and does not give it back to the system.
 */
export const TRANSACTION_BYTES_MAX: number = 8 * 1024 * 1024;

/**
 * Applies a stack of memtables to a shard, in transactions of a bounded size. Only the last one carries the new
 * position, so that what a crash leaves half applied is written again from the log; without a change there still
 * is a transaction for that.
 *
 * @param memtables newest first; they must not change meanwhile
 * @param position what the shard has afterwards
 * @returns resolves when all of it is committed and on disk
 * @throws {ServiceError} what the shard fails with
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
  try {
    let waiting: readonly Write[] | undefined;
    for (const part of sortedChanges(memtables, WRITES_PER_TRANSACTION, TRANSACTION_BYTES_MAX)) {
      if (part.length === 0) {
        await new Promise<void>((resolve) => clock.soon(resolve));
        continue;
      }
      if (waiting !== undefined) await apply(waiting, shard.position);
      waiting = part;
    }
    await apply(waiting ?? [], position);
    // Of every part: a later flush that works does not make up for an earlier one that failed.
    await Promise.all(flushes);
  } catch (cause) {
    await Promise.allSettled(flushes);
    throw cause;
  }
}
