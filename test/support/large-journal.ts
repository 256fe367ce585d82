import { join } from 'node:path';
import { actorKinds } from '#server/host/actor-kinds.ts';
import { systemClock } from '#runtime/base/time/clock.ts';
import { realFileSystem } from '#runtime/base/files/file-system.ts';
import { systemRandom } from '#runtime/base/random.ts';
import { ActorStore } from '#runtime/actor/store/actor-store.ts';
import { FIRST_OWN_TABLE } from '#runtime/commit/behaviour.ts';
import { defaultLimits } from '#runtime/config/options.ts';
import { revisionZero } from '#runtime/content/revision.ts';
import { Journal } from '#runtime/embedded/journal/journal.ts';
import { lifecycleEntry } from '#runtime/log/lifecycle-entry.ts';
import type { Write } from '#runtime/log/log-entry.ts';
import { encodeJsonRow } from '#runtime/shard/json-row.ts';
import { LmdbShard } from '#runtime/shard/lmdb-shard.ts';

/** An actor with one row for each of its keys. */
export const largeActor = 'large/shop~0000000000/main~0000000000/locks';

/** Keys of its rows. */
export const LARGE_KEYS = 1_000;

/** Makes a row as large as a small one of content. */
const REST = 'x'.repeat(40);

/** Writes of one record of its journal. */
const RECORD_WRITES = 100;

/**
 * Makes a data directory with one actor, whose journal has written the same keys again and again. The
 * shard has the first half of it.
 *
 * @param folder a new one
 * @param writes how many
 */
export async function makeLargeJournal(folder: string, writes: number): Promise<void> {
  const store = new ActorStore(join(folder, 'actors'), actorKinds(defaultLimits), systemClock);
  const journal = await Journal.open({
    folder: join(folder, 'journal'),
    durability: 'relaxed',
    files: realFileSystem,
    clock: systemClock,
    random: systemRandom,
    report: () => {},
  });
  const shard = new LmdbShard(store.folders.of(largeActor), store.tablesOf(largeActor));
  await journal.append(lifecycleEntry(largeActor, { kind: 'create' }, revisionZero));
  for (let first = 0; first < writes; first += RECORD_WRITES) {
    const sequence = await journal.append({
      actor: largeActor,
      clock: revisionZero,
      writes: writesFrom(first, RECORD_WRITES),
    });
    const reached = first + RECORD_WRITES;
    if (reached === writes / 2)
      await shard.apply(writesFrom(reached - LARGE_KEYS, LARGE_KEYS), { sequence, clock: revisionZero })
        .flushed;
  }
  await shard.close();
  await journal.close();
}

function writesFrom(first: number, count: number): Write[] {
  return Array.from({ length: count }, (_, index) => ({
    table: FIRST_OWN_TABLE,
    key: `key ${(first + index) % LARGE_KEYS}`,
    value: encodeJsonRow({ written: first + index, rest: REST }),
  }));
}
