import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { SYSTEM_TENANT } from '#runtime/access/system-tenant.ts';
import { actorId } from '#runtime/actor/actor-id.ts';
import type { ActorId } from '#runtime/actor/ports.ts';
import { type ActorKind, commonTableNames } from '#runtime/commit/behaviour.ts';
import { refusedFile, sizeOfFile } from '#runtime/errors/refused-file.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { LogDamage } from '#runtime/log/ports.ts';
import { inspectHead, trustedRoot } from '#runtime/shard/lmdb-head.ts';
import { PageFile } from '#runtime/shard/page-file.ts';
import { checkActor } from '#server/check/check-actor.ts';

/** Extent of a data directory's journal. */
export interface JournalExtent {
  /** Sequence of the oldest record. */
  readonly firstSequence: number;
  readonly lastSequence: number;
  /** Its parts that do not verify. */
  readonly damage?: Pick<LogDamage, 'lost' | 'refused'> | undefined;
}

/** The actor that lists tenants, accounts and repositories: nothing can be served without it. */
export const REGISTRY: ActorId = actorId(SYSTEM_TENANT, 'tenant');

const KIND = 'tenant';

const remedy = 'nothing was changed; bring the file back, or restore a backup';

/**
 * Refuses a data directory that has data but whose registry is missing or damaged. With an empty registry this would
 * look like the first start of an empty directory; one with damaged pages would end the process when LMDB reads them.
 * The registry is read completely, without LMDB. To be called before anything is opened: it changes nothing.
 *
 * @throws {ServiceError} `DATA_CORRUPTED` naming the file and the remedy; `WRITES_STOPPED` when the system refuses
 *   access
 */
export function requireRegistry(dataDir: string, journal: JournalExtent, kinds: readonly ActorKind[]): void {
  const folder = join(dataDir, 'actors', SYSTEM_TENANT);
  const file = join(folder, 'tenant', 'data.mdb');
  if (sizeOfFile(file) > 0) {
    requireReadable(file, kinds);
    return;
  }
  // A journal that has everything since the beginning rebuilds it.
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
    const head = inspectHead(path);
    // Created, but never written to.
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
    // Pages missing at the end may be free; a missing page that is used is detected when it is read.
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

/** Returns whether records of the journal are lost, at this opening or at an earlier one. */
function hasLost({ damage }: JournalExtent): boolean {
  return damage !== undefined && (damage.lost.length > 0 || damage.refused.size > 0);
}

/** Returns whether there is any actor besides the registry. */
function hasOthers(actors: string, folder: string): boolean {
  const names = (path: string): string[] => (existsSync(path) ? readdirSync(path) : []);
  return (
    names(actors).some((name) => !name.startsWith('.') && name !== SYSTEM_TENANT) ||
    names(folder).some((name) => name !== 'tenant')
  );
}
