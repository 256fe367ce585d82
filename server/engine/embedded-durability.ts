import type { Options } from '#runtime/config/options.ts';
import type { JournalDurability } from '#runtime/embedded/journal/journal-options.ts';

/** Returns the durability class of a member that runs alone; the default is the safe one. */
export function embeddedDurability({ cluster }: Options): JournalDurability {
  return cluster.durability === 'relaxed' ? 'relaxed' : 'local';
}
