import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { SYSTEM_TENANT } from '#runtime/access/system-tenant.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { LogDamage } from '#runtime/log/ports.ts';

/** How far back the journal of a data directory goes. */
export interface JournalReach {
  /** Sequence of the oldest record that is there. */
  readonly firstSequence: number;
  readonly lastSequence: number;
  /** What does not verify of it. */
  readonly damage?: Pick<LogDamage, 'lost' | 'refused'> | undefined;
}

/**
 * Refuses a data directory that has data and no registry of it. An empty registry would say that this is the first
 * start, and that nothing else is there. To be asked before anything is opened: nothing is changed.
 *
 * @throws {ServiceError} `DATA_CORRUPTED` naming the file and what to do
 */
export function requireRegistry(dataDir: string, journal: JournalReach): void {
  const folder = join(dataDir, 'actors', SYSTEM_TENANT);
  const file = join(folder, 'tenant', 'data.mdb');
  if (existsSync(file) && statSync(file).size > 0) return;
  // A journal that has everything since the beginning makes it anew.
  if (journal.lastSequence > 0 && journal.firstSequence === 1 && !hasLost(journal)) return;
  if (journal.lastSequence === 0 && !hasOthers(join(dataDir, 'actors'), folder)) return;
  throw new ServiceError(
    'DATA_CORRUPTED',
    `${file} is ${existsSync(file) ? 'empty' : 'missing'}: it says which tenants, accounts and repositories there are, ` +
      'and the journal does not have everything since its beginning; nothing was changed; bring the file back, or restore a backup',
  );
}

/** Whether records of the journal are lost, at this opening or at an earlier one. */
function hasLost({ damage }: JournalReach): boolean {
  return damage !== undefined && (damage.lost.length > 0 || damage.refused.size > 0);
}

/** Whether there is any actor besides the registry. */
function hasOthers(actors: string, folder: string): boolean {
  const names = (path: string): string[] => (existsSync(path) ? readdirSync(path) : []);
  return (
    names(actors).some((name) => !name.startsWith('.') && name !== SYSTEM_TENANT) ||
    names(folder).some((name) => name !== 'tenant')
  );
}
