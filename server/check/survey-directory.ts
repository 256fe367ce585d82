import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { ActorStore } from '#runtime/actor/store/actor-store.ts';
import type { CatalogueRow } from '#runtime/actor/catalogue/actor-catalogue.ts';
import { dependentActors } from '#runtime/actor/damage/damaged-log.ts';
import { type MadeActor, MadeActors } from '#runtime/actor/catalogue/made-actors.ts';
import type { ActorId } from '#runtime/actor/ports.ts';
import type { Clock } from '#runtime/base/time/clock.ts';
import { realFileSystem } from '#runtime/base/files/file-system.ts';
import { defaultLimits } from '#runtime/config/options.ts';
import { acquireForReading, LOCK_FILE_NAME } from '#runtime/embedded/data-directory-lock.ts';
import { type JournalSurvey, surveyJournal } from '#runtime/embedded/recovery/journal-survey.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { lifecycleOf } from '#runtime/log/lifecycle-entry.ts';
import { PageFile } from '#runtime/shard/page-file.ts';
import { actorKinds } from '#server/host/actor-kinds.ts';
import { claimName } from '#server/host/claimed-name.ts';
import { readCatalogue } from './read-catalogue.ts';
import { shardPathOf } from './shard-path.ts';

/** Dependencies of a check. */
export interface CheckEnvironment {
  readonly dataDir: string;
  readonly clock: Clock;
  /** Cancels it. */
  readonly signal: AbortSignal;
  /** Receives the progress: bytes of shards read, in total, and the current item. */
  readonly onProgress: (bytes: number, total: number, current: string) => void;
  /** Names of keys that a server on the directory gets from its environment: their files may be missing. */
  readonly givenKeys?: ReadonlySet<string>;
  /** Whether writers are locked out meanwhile; default: true. Without it the caller knows that no process writes. */
  readonly takesLock?: boolean;
  /** Called with the reason when no lock could be taken although one was requested. */
  readonly onUnlocked?: (why: string) => void;
}

/**
 * Locks writers out of a directory.
 *
 * @returns releases the lock
 * @throws {ServiceError} `CONFLICT` when a process has it, or it is missing or of another kind
 */
export async function holdDirectory(environment: CheckEnvironment): Promise<() => void> {
  const { dataDir, onUnlocked, takesLock = true } = environment;
  if (!existsSync(dataDir)) throw new ServiceError('CONFLICT', `There is no directory ${dataDir}`);
  // Taking the lock creates its file, even in a directory of another kind. With an existing lock file its holder is
  // reported first: a running member of a cluster checks its own data.
  // of first: a running member of a cluster checks what it has itself.
  if (!takesLock || !existsSync(join(dataDir, LOCK_FILE_NAME))) requireDataDirectory(dataDir);
  if (!takesLock) return () => {};
  const lock = await acquireForReading(dataDir, claimName);
  try {
    requireDataDirectory(dataDir);
  } catch (error) {
    lock.release();
    throw error;
  }
  if (!lock.hasFile)
    onUnlocked?.(
      `${dataDir} cannot be written to and has no lock file, so it is read without a lock; nobody may write to it meanwhile`,
    );
  return () => lock.release();
}

/** @throws {ServiceError} `CONFLICT` for a directory of another kind */
export function requireDataDirectory(dataDir: string): void {
  if (existsSync(join(dataDir, 'actors'))) return;
  const isMember = existsSync(join(dataDir, 'partitions'));
  throw new ServiceError(
    'CONFLICT',
    isMember
      ? `${dataDir} belongs to a member of a cluster: start the member, and let it make the check (--url); it rebuilds damaged shards from the log by itself`
      : `${dataDir} is not a data directory: it has no folder actors`,
  );
}

/** A surveyed directory: its actors, and the related facts of its journal. */
export interface DirectorySurvey {
  readonly store: ActorStore;
  readonly actors: readonly ActorId[];
  /** Readable rows of the catalogue; a listed actor may have no folder. */
  readonly listed: ReadonlyMap<ActorId, CatalogueRow>;
  /** Check value of the directory's master key; undefined when none is stored. */
  readonly keyCheck: string | undefined;
  /** Check value of the key before it, with which something is encrypted; undefined when nothing is. */
  readonly previousKeyCheck: string | undefined;
  readonly journal: JournalSurvey;
  /** Actors that lost acknowledged writes with the journal, with the reason. */
  readonly dependent: ReadonlyMap<ActorId, string>;
  /** Actors that the journal creates, and how. An opening creates the file of one that is not lost. */
  readonly made: ReadonlyMap<ActorId, MadeActor>;
  /** Number of writes in the journal. */
  readonly writes: number;
}

/**
 * Surveys the data directory of a single member that no process has open. It changes nothing.
 *
 * @throws {ServiceError} `DATA_CORRUPTED`
 */
export async function surveyDirectory({ clock, dataDir }: CheckEnvironment): Promise<DirectorySurvey> {
  const store = new ActorStore(join(dataDir, 'actors'), actorKinds(defaultLimits), clock);
  const journal = await surveyJournal(realFileSystem, join(dataDir, 'journal'));
  const actors = await store.all();
  // Damage of the catalogue is reported where it is checked.
  const catalogue = readCatalogue(join(dataDir, 'actors'), false);
  const { actors: listed, keyCheck, previousKeyCheck } = catalogue;
  const stored = {
    all: () => Promise.resolve(actors),
    listed: () => listed,
    reached: (actor: ActorId) => reachedBy(store, actor),
  };
  const appliedThrough = journal.holes.at(-1)?.last ?? 0;
  const found = await dependentActors(journal, { appliedThrough, lost: journal.lost }, stored);
  const dependent = new Map([...journal.refused, ...found]);
  const keys = { keyCheck, previousKeyCheck };
  return { store, actors, listed, ...keys, journal, dependent, ...(await madeIn(journal, store)) };
}

async function madeIn(
  journal: JournalSurvey,
  store: ActorStore,
): Promise<Pick<DirectorySurvey, 'made' | 'writes'>> {
  const made = new MadeActors({
    reached: (actor) => store.headOf(actor)?.sequence,
    lost: journal.lost,
  });
  let writes = 0;
  for await (const record of journal.read()) {
    made.take(record);
    for (const entry of record.entries) if (lifecycleOf(entry) === undefined) writes += entry.writes.length;
  }
  return { made: made.all, writes };
}

function reachedBy(store: ActorStore, actor: ActorId): number {
  const path = shardPathOf(store, actor);
  if (!existsSync(path)) return 0;
  const file = new PageFile(path, store.tablesOf(actor), () => {});
  try {
    return file.position.sequence;
  } finally {
    file.close();
  }
}
