import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { FirstAdmin } from '#actors/tenant/messages.ts';
import { SYSTEM_TENANT } from '#runtime/access/system-tenant.ts';
import { actorId } from '#runtime/actor/actor-id.ts';
import { ActorStore } from '#runtime/actor/store/actor-store.ts';
import { realFileSystem } from '#runtime/base/files/file-system.ts';
import type { Random } from '#runtime/base/random.ts';
import { defaultLimits } from '#runtime/config/options.ts';
import type { Revision } from '#runtime/content/revision.ts';
import { Journal } from '#runtime/embedded/journal/journal.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { lifecycleEntry } from '#runtime/log/lifecycle-entry.ts';
import { actorKinds } from '#server/host/actor-kinds.ts';
import { isBeingRestored, RESTORE_MARKER } from '#server/backup/restore-marker.ts';
import { NewShards } from './new-shards.ts';
import { SalvagedActors } from './salvage-actors.ts';
import { salvageFiles } from './salvage-files.ts';
import { salvageRegistries } from './salvage-registry.ts';
import { MissingList, REPORT_FILE, type SalvageReport } from './salvage-report.ts';
import { type CheckEnvironment, holdDirectory, surveyDirectory } from '#server/check/survey-directory.ts';

/** Source and target of a salvage. */
export interface SalvageEnvironment extends CheckEnvironment {
  /** The new data directory; it must be missing, or empty except for `secrets`. */
  readonly into: string;
  readonly random: Random;
  /** Creates an account for a tenant that lost all its accounts, and shows it to the person at the terminal. */
  readonly newAdmin: (tenant: string) => Promise<FirstAdmin>;
}

/**
 * Copies everything that verifies from a damaged data directory into a new one: rows of shards, page by page, and
 * later records of the journal, up to the first lost record of an actor. Data derived from the nodes of a branch is
 * rebuilt, and a partly lost registry is completed from the other shards. Data that does not verify is not copied,
 * and the old directory is not changed.
 *
 * @throws {ServiceError} `CONFLICT` when a process has the directory or the new one is not empty; `DATA_CORRUPTED` when
 *   nothing can be read at all; `REQUEST_CANCELLED`, `STORAGE_FULL`
 */
export async function salvageDirectory(environment: SalvageEnvironment): Promise<SalvageReport> {
  const { clock, dataDir, into } = environment;
  requireNew(into);
  const release = await holdDirectory(environment);
  try {
    const survey = await surveyDirectory(environment);
    mkdirSync(into, { recursive: true, mode: 0o700 });
    const missing = new MissingList();
    if (isBeingRestored(dataDir))
      missing.add({
        file: join(dataDir, RESTORE_MARKER),
        what: 'a restore into the directory did not finish, so everything here is a part of the backup only: run the restore again instead',
      });
    const { keyCheck, previousKeyCheck } = survey;
    await salvageFiles({ ...environment, keyCheck, previousKeyCheck }, missing);
    const shards = new NewShards(new ActorStore(join(into, 'actors'), actorKinds(defaultLimits), clock));
    try {
      await new SalvagedActors(environment, survey, shards, missing).run();
      if (shards.actors.length === 0)
        throw new ServiceError('DATA_CORRUPTED', `Nothing in ${dataDir} can be read; restore a backup`);
      await salvageRegistries(environment, shards, missing);
      await beginJournal(environment, shards.clock);
    } finally {
      await shards.close();
    }
    const report: SalvageReport = {
      from: dataDir,
      into,
      at: new Date(clock.wallMs()).toISOString(),
      actors: shards.actors.length,
      rows: shards.rows,
      missing: missing.all,
    };
    writeFileSync(join(into, REPORT_FILE), `${JSON.stringify(report, null, 2)}\n`, {
      mode: 0o600,
      flush: true,
    });
    return report;
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code !== 'REQUEST_CANCELLED') throw error;
    throw new ServiceError(
      'REQUEST_CANCELLED',
      `The salvage was given up: ${into} has a part only, and no server starts on it. Begin again with a new directory`,
      { cause: error },
    );
  } finally {
    release();
  }
}

/** @throws {ServiceError} `CONFLICT` */
function requireNew(into: string): void {
  const found = existsSync(into) ? readdirSync(into).filter((name) => name !== 'secrets') : [];
  if (found.length === 0) return;
  throw new ServiceError(
    'CONFLICT',
    `${into} is not empty (it has ${found.slice(0, 3).join(', ')}); name a new directory`,
  );
}

/**
 * Begins the journal: shards store their positions, and a directory whose journal is behind them is refused.
 *
 * @param newest revision of any shard: new ones follow it, whatever the clock of the system
 */
async function beginJournal({ clock, into, random }: SalvageEnvironment, newest: Revision): Promise<void> {
  const journal = await Journal.open({
    folder: join(into, 'journal'),
    durability: 'local',
    files: realFileSystem,
    clock,
    random,
    report: () => {},
  });
  await journal.append(lifecycleEntry(actorId(SYSTEM_TENANT, 'tenant'), { kind: 'create' }, newest));
  await journal.close();
}
