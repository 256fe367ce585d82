import type { Log, PendingRange } from '#runtime/log/ports.ts';
import type { Write } from '#runtime/log/log-entry.ts';
import type { Shard, ShardPosition } from '#runtime/shard/shard.ts';
import { crashPoint } from './crash-point.ts';

/** Shards open at once; the log is read once for each such group. */
const GROUP_SHARDS_MAX = 256;

/** Bytes gathered over all shards of a group before they are applied. */
const GATHERED_BYTES_MAX = 32 * 1024 * 1024;

/** Bytes one write is counted with besides its key and value. */
const WRITE_OVERHEAD_BYTES = 64;

interface Missing {
  readonly writes: Write[];
  position: ShardPosition;
}

/**
 * Brings every shard the log still holds entries for up to the end of the log, and releases those entries. Cost
 * follows the retained tail of the log, not what is stored. An entry that a shard has already is skipped, and one
 * that is applied twice gives the same bytes, so being interrupted does no harm.
 *
 * @param openShard answers undefined for an actor that is gone
 * @throws {ServiceError} `DATA_CORRUPTED`, and what a shard fails with; no entry is released too early
 */
export async function replayLog(log: Log, openShard: (actor: string) => Shard | undefined): Promise<void> {
  // Oldest first, so that a group's entries lie close together.
  const pending = [...log.pending()].sort(([, a], [, b]) => a.first - b.first);
  for (let start = 0; start < pending.length; start += GROUP_SHARDS_MAX) {
    await replayGroup(log, pending.slice(start, start + GROUP_SHARDS_MAX), openShard);
  }
}

async function replayGroup(
  log: Log,
  group: readonly (readonly [string, PendingRange])[],
  openShard: (actor: string) => Shard | undefined,
): Promise<void> {
  const shards = new Map<string, Shard>();
  try {
    let after = Number.POSITIVE_INFINITY;
    for (const [actor, { first, last }] of group) {
      const shard = openShard(actor);
      if (shard === undefined) {
        log.released(actor, last);
        continue;
      }
      shards.set(actor, shard);
      const { sequence } = shard.position;
      if (sequence < last) after = Math.min(after, Math.max(sequence, first - 1));
    }
    if (after !== Number.POSITIVE_INFINITY) await catchUp(log, after, shards);
    for (const [actor, shard] of shards) log.released(actor, shard.position.sequence);
  } finally {
    for (const shard of shards.values()) await shard.close();
  }
}

async function catchUp(log: Log, after: number, shards: ReadonlyMap<string, Shard>): Promise<void> {
  const missing = new Map<Shard, Missing>();
  let bytes = 0;
  const apply = async (): Promise<void> => {
    for (const [shard, { writes, position }] of missing) {
      crashPoint('in-recovery');
      await shard.apply(writes, position).flushed;
    }
    missing.clear();
    bytes = 0;
  };
  for await (const { sequence, entries } of log.read(after)) {
    for (const { actor, writes, clock } of entries) {
      const shard = shards.get(actor);
      if (shard === undefined || shard.position.sequence >= sequence) continue;
      const gathered = missing.get(shard) ?? { writes: [], position: { sequence, clock } };
      missing.set(shard, gathered);
      gathered.position = { sequence, clock };
      for (const write of writes) {
        gathered.writes.push(write);
        bytes += WRITE_OVERHEAD_BYTES + write.key.length + (write.value?.length ?? 0);
      }
    }
    // Between records only: two entries of one record carry the same position.
    if (bytes >= GATHERED_BYTES_MAX) await apply();
  }
  await apply();
}
