import type { ActorId } from '#runtime/actor/ports.ts';
import type { ActorStore } from '#runtime/actor/store/actor-store.ts';
import { type OnPageDamage, PageFile } from '#runtime/shard/page-file.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { shardPathOf } from './shard-path.ts';

/**
 * Reads from the file of an actor that no process has open. What is below a damaged page is left out.
 *
 * @param onDamage default: that is reported elsewhere
 * @returns undefined when it cannot be read, which is reported elsewhere
 */
export function readShard<T>(
  store: ActorStore,
  actor: ActorId,
  read: (reader: TableReader) => T,
  onDamage: OnPageDamage = () => {},
): T | undefined {
  let file: PageFile | undefined;
  try {
    file = new PageFile(shardPathOf(store, actor), store.tablesOf(actor), onDamage);
    return read(file);
  } catch {
    return undefined;
  } finally {
    file?.close();
  }
}
