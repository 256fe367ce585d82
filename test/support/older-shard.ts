import { renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { LmdbShard } from '#runtime/shard/lmdb-shard.ts';
import { ShardFile } from '#runtime/shard/shard-file.ts';

/**
 * Makes a shard one as an older version left it: it does not say whose it is.
 *
 * @param path of its file
 * @param tables names of its tables, in the order of their numbers
 */
export async function makeShardOlder(path: string, tables: readonly string[]): Promise<void> {
  const shard = new ShardFile(path, tables);
  const rows = tables.flatMap((_, table) => [...shard.rows(table)].map((row) => ({ table, ...row })));
  const old = new LmdbShard(`${path}.old`, tables);
  await old.apply(rows, shard.position).flushed;
  shard.close();
  await old.close();
  renameSync(join(`${path}.old`, 'data.mdb'), path);
  rmSync(`${path}.old`, { recursive: true });
}
