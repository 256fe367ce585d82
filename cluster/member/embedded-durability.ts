import type { Options } from '#runtime/config/options.ts';
import type { JournalDurability } from '#runtime/embedded/journal-options.ts';

/** The durability class of a member that runs alone; nothing chosen is the safe one. */
export function embeddedDurability({ cluster }: Options): JournalDurability {
  return cluster.durability === 'relaxed' ? 'relaxed' : 'local';
}
