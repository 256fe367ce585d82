import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { SYSTEM_TENANT } from '#runtime/access/system-tenant.ts';
import { actorId } from '#runtime/actor/actor-id.ts';
import type { ActorId } from '#runtime/actor/ports.ts';
import { type ActorKind, commonTableNames } from '#runtime/commit/behaviour.ts';
import { refusedFile, sizeOfFile } from '#runtime/errors/refused-file.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { LogDamage } from '#runtime/log/ports.ts';
import { lookAtHead, trustedRoot } from '#runtime/shard/lmdb-head.ts';
import { PageFile } from '#runtime/shard/page-file.ts';
import { checkActor } from './check/check-actor.ts';

/** How far back the journal of a data directory goes. */
export interface JournalReach {
  /** Sequence of the oldest record that is there. */
  readonly firstSequence: number;
  readonly lastSequence: number;
  /** What does not verify of it. */
  readonly damage?: Pick<LogDamage, 'lost' | 'refused'> | undefined;
}

/** The actor that says which tenants, accounts and repositories there are: nothing can be served without it. */
export const REGISTRY: ActorId = actorId(SYSTEM_TENANT, 'tenant');

const KIND = 'tenant';

const remedy = 'nothing was changed; bring the file back, or restore a backup';

/**
 * Refuses a data directory whose registry is missing beside data, or damaged. An empty registry would say that this is the
 * first start, and that nothing else is there; one with damaged pages would end the process when LMDB reads them. All of
 * it is read, without LMDB. To be asked before anything is opened: nothing is changed.
 *
 * @throws {ServiceError} `DATA_CORRUPTED` naming the file and what to do; `WRITES_STOPPED` when the system refuses it
 */
export function requireRegistry(dataDir: string, journal: JournalReach, kinds: readonly ActorKind[]): void {
  const folder = join(dataDir, 'actors', SYSTEM_TENANT);
  const file = join(folder, 'tenant', 'data.mdb');
  if (sizeOfFile(file) > 0) {
    requireReadable(file, kinds);
    return;
  }
  // A journal that has everything since the beginning makes it anew.
  if (journal.lastSequence > 0 && journal.firstSequence === 1 && !hasLost(journal)) return;
  if (journal.lastSequence === 0 && !hasOthers(join(dataDir, 'actors'), folder)) return;
  throw new ServiceError(
    'DATA_CORRUPTED',
    `${file} is ${existsSync(file) ? 'empty' : 'missing'}: it says which tenants, accounts and repositories there are, ` +
      `and the journal does not have everything since its beginning; ${remedy}`,
  );
}

function requireReadable(path: string, kinds: readonly ActorKind[]): void {
  try {
    const head = lookAtHead(path);
    // Made, and never written to.
    if (head.isSound && trustedRoot(path) === undefined) return;
    const [what] = head.isSound ? damageOf(path, kinds) : [head.reason];
    if (what !== undefined)
      throw new ServiceError(
        'DATA_CORRUPTED',
        `${path} is damaged (${what}): it says which tenants, accounts and repositories there are; ${remedy}`,
      );
  } catch (cause) {
    throw refusedFile(path, cause) ?? cause;
  }
}

function damageOf(path: string, kinds: readonly ActorKind[]): readonly string[] {
  const damage: string[] = [];
  const tableNames = [...commonTableNames, ...(kinds.find(({ kind }) => kind === KIND)?.tables ?? [])];
  const file = new PageFile(path, tableNames, (table, what) => {
    // What lacks at its end may be free; a page that is not is missed when it is read.
    if (table !== '' || !what.startsWith('the file lacks')) damage.push(`${table}: ${what}`);
  });
  try {
    for (const _ of file.verify());
    for (const _ of checkActor(REGISTRY, file, tableNames, (table, what) =>
      damage.push(`${table}: ${what}`),
    ));
    return damage;
  } finally {
    file.close();
  }
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
