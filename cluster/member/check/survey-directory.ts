import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { ActorStore } from '#runtime/actor/actor-store.ts';
import type { CatalogueRow } from '#runtime/actor/actor-catalogue.ts';
import { dependentActors } from '#runtime/actor/damaged-log.ts';
import { type MadeActor, MadeActors } from '#runtime/actor/made-actors.ts';
import type { ActorId } from '#runtime/actor/ports.ts';
import type { Clock } from '#runtime/base/clock.ts';
import { realFileSystem } from '#runtime/base/file-system.ts';
import { defaultLimits } from '#runtime/config/options.ts';
import { acquireForReading, LOCK_FILE_NAME } from '#runtime/embedded/data-directory-lock.ts';
import { type JournalSurvey, surveyJournal } from '#runtime/embedded/journal-survey.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { lifecycleOf } from '#runtime/log/lifecycle-entry.ts';
import { PageFile } from '#runtime/shard/page-file.ts';
import { actorKinds } from '../actor-kinds.ts';
import { claimName } from '../claimed-name.ts';
import { readCatalogue } from './read-catalogue.ts';
import { shardPathOf } from './shard-path.ts';

/** What a check works with. */
export interface CheckEnvironment {
  readonly dataDir: string;
  readonly clock: Clock;
  /** Gives it up. */
  readonly signal: AbortSignal;
  /** Told how far it is: bytes of shards read, of all, and what is read now. */
  readonly onProgress: (bytes: number, total: number, current: string) => void;
  /** Names of keys that a server on the directory is given by its environment: their files may be missing. */
  readonly givenKeys?: ReadonlySet<string>;
  /** Whether writers are kept away meanwhile; default: they are. Without, the caller knows that nobody writes. */
  readonly takesLock?: boolean;
  /** Told why no lock could be taken although one was wanted. */
  readonly onUnlocked?: (why: string) => void;
}

/**
 * Keeps writers away from the directory that is looked at.
 *
 * @returns lets them have it again
 * @throws {ServiceError} `CONFLICT` when a process has it, it is not there or is of another kind
 */
export async function holdDirectory(environment: CheckEnvironment): Promise<() => void> {
  const { dataDir, onUnlocked, takesLock = true } = environment;
  if (!existsSync(dataDir)) throw new ServiceError('CONFLICT', `There is no directory ${dataDir}`);
  // Who takes the lock leaves its file, in a directory of another kind as well. Where there is one, whoever has it is told
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
      ? `${dataDir} belongs to a member of a cluster: start it and have it checked there (--url); it makes damaged shards anew from the log by itself`
      : `${dataDir} is not a data directory: it has no folder actors`,
  );
}

/** A directory that is looked at: its actors, and what its journal says of them. */
export interface DirectorySurvey {
  readonly store: ActorStore;
  readonly actors: readonly ActorId[];
  /** What the catalogue lists, as far as it can be read; an actor in it may have no folder. */
  readonly listed: ReadonlyMap<ActorId, CatalogueRow>;
  /** Tells the master key the directory was made with; undefined where none is noted. */
  readonly keyCheck: string | undefined;
  readonly journal: JournalSurvey;
  /** Actors that have lost acknowledged writes with the journal, with why. */
  readonly dependent: ReadonlyMap<ActorId, string>;
  /** Actors that the journal makes, and how. An opening makes the file of one that is not lost. */
  readonly made: ReadonlyMap<ActorId, MadeActor>;
  /** Writes in the journal. */
  readonly writes: number;
}

/**
 * Looks at a data directory of a single member that no process has open. Nothing is changed.
 *
 * @throws {ServiceError} `DATA_CORRUPTED`
 */
export async function surveyDirectory({ clock, dataDir }: CheckEnvironment): Promise<DirectorySurvey> {
  const store = new ActorStore(join(dataDir, 'actors'), actorKinds(defaultLimits), clock);
  const journal = await surveyJournal(realFileSystem, join(dataDir, 'journal'));
  const actors = await store.all();
  // What is wrong with the catalogue is told where that is checked.
  const { actors: listed, keyCheck } = readCatalogue(join(dataDir, 'actors'), false);
  const stored = {
    all: () => Promise.resolve(actors),
    listed: () => listed,
    reached: (actor: ActorId) => reachedBy(store, actor),
  };
  const dependent = new Map([...journal.refused, ...(await dependentActors(journal, journal.lost, stored))]);
  return { store, actors, listed, keyCheck, journal, dependent, ...(await madeIn(journal, store)) };
}

async function madeIn(
  journal: JournalSurvey,
  store: ActorStore,
): Promise<Pick<DirectorySurvey, 'made' | 'writes'>> {
  const made = new MadeActors({
    reached: (actor) => store.headOf(actor)?.sequence,
    isDamage: (sequence) => journal.lost.some(({ first, last }) => first <= sequence && sequence <= last),
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
