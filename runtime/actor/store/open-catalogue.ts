import type { Clock } from '#runtime/base/time/clock.ts';
import type { Random } from '#runtime/base/random.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { LeavingRecords, Log, LogRetention } from '#runtime/log/ports.ts';
import { shardPath } from '#runtime/shard/shard-identity.ts';
import { type StoredHead, storedHead } from '#runtime/shard/stored-head.ts';
import {
  ActorCatalogue,
  type CatalogueChanges,
  catalogueDamaged,
  type CatalogueFacts,
  type CatalogueRow,
  FLOOR_NOT_EMPTY,
} from '../catalogue/actor-catalogue.ts';
import { CatalogueFile } from '../catalogue/catalogue-file.ts';
import type { ActorStore } from './actor-store.ts';
import { MadeActors } from '../catalogue/made-actors.ts';
import type { ActorId } from '../ports.ts';

/** Random bytes of the id of a data directory. */
const DIRECTORY_BYTES = 16;

/** Shards checked in one turn of the event loop. */
const LOOKED_AT_ONCE = 64;

/** Checked first when a catalogue is missing: every start opens it, so it is the first one with an identity. */
const FIRST_OPENED: ActorId = 'default/tenant';

/** Dependencies for opening a catalogue. */
export interface CatalogueEnvironment {
  /** Folder of the actors. */
  readonly folder: string;
  readonly store: ActorStore;
  readonly log: Pick<Log, 'lastSequence' | 'read' | 'damage'>;
  readonly retention: LogRetention;
  readonly random: Random;
  readonly clock: Clock;
  /** Check value of the encryption key in use. */
  readonly keyCheck?: string | undefined;
  /** Check value of the key before it, with which something may be encrypted. */
  readonly previousKeyCheck?: string | undefined;
}

/** The result of checking the catalogue without opening it. */
export interface FoundCatalogue {
  /** The caller must close it; undefined in a directory without a catalogue. */
  readonly file: CatalogueFile | undefined;
  /** Existing actors of a directory without a catalogue. */
  readonly unlisted: FoundActors | undefined;
}

/**
 * Reads the catalogue of a data directory and compares it with the log, before either is used. All of it is verified
 * without LMDB, which crashes the process on some damaged pages. A directory of an older version has no catalogue: its
 * actors are adopted as they are, once. Nothing is changed.
 *
 * @throws {ServiceError} `DATA_CORRUPTED` when the catalogue or the log is missing, damaged, older than the other, or
 *   from another data directory
 */
export async function findCatalogue(environment: CatalogueEnvironment): Promise<FoundCatalogue> {
  const file = CatalogueFile.in(environment.folder);
  try {
    const damage = file && (await environment.store.damageOfCatalogue());
    if (damage !== undefined) throw catalogueDamaged(environment.folder, `is damaged (${damage.what})`);
    if (file?.directory !== undefined) {
      requireSameHistory(environment, file);
      return { file, unlisted: undefined };
    }
    return { file, unlisted: await neverListed(environment) };
  } catch (error) {
    file?.close();
    throw error;
  }
}

/**
 * Opens the catalogue found by {@link findCatalogue}. From then on the log keeps records until the catalogue contains
 * the resulting state.
 *
 * @throws {ServiceError} `DATA_CORRUPTED`
 */
export async function openCatalogue(
  environment: CatalogueEnvironment,
  { unlisted }: FoundCatalogue,
): Promise<ActorCatalogue> {
  const { clock, folder, log, retention } = environment;
  const catalogue = new ActorCatalogue(folder, clock);
  try {
    if (unlisted !== undefined) await begin(environment, catalogue, unlisted);
    else if (hasOtherKeys(environment, catalogue))
      await catalogue.note(keysOf(environment), log.lastSequence);
  } catch (error) {
    await catalogue.close();
    throw error;
  }
  retention.beforeLeaving((records) => raiseFloors(environment, catalogue, records));
  return catalogue;
}

/** The keys in use, as they are recorded. A recorded previous key stays until nothing is encrypted with it any more. */
function keysOf({
  keyCheck,
  previousKeyCheck,
}: CatalogueEnvironment): Pick<CatalogueChanges, 'keyCheck' | 'previousKeyCheck'> {
  return {
    ...(keyCheck === undefined ? {} : { keyCheck }),
    ...(previousKeyCheck === undefined ? {} : { previousKeyCheck }),
  };
}

/** Whether a key in use is not recorded. It has to be before anything is encrypted with it. */
function hasOtherKeys(environment: CatalogueEnvironment, catalogue: CatalogueFacts): boolean {
  const { keyCheck, previousKeyCheck } = keysOf(environment);
  return (
    (keyCheck !== undefined && keyCheck !== catalogue.keyCheck) ||
    (previousKeyCheck !== undefined && previousKeyCheck !== catalogue.previousKeyCheck)
  );
}

async function begin(
  environment: CatalogueEnvironment,
  catalogue: ActorCatalogue,
  found: FoundActors,
): Promise<void> {
  const { log, random, retention } = environment;
  const directory = Buffer.from(random.bytes(DIRECTORY_BYTES)).toString('hex');
  const { beginning: journal } = retention;
  const changes = {
    actors: await adopted(environment, found),
    ...(journal === undefined ? {} : { journal }),
    ...keysOf(environment),
  };
  await catalogue.begin(directory, changes, log.lastSequence);
}

/** Raises floors before records are removed from the log, because the shards can no longer be rebuilt after that. */
async function raiseFloors(
  { store }: CatalogueEnvironment,
  catalogue: ActorCatalogue,
  { beginning, lastSequence, newest }: LeavingRecords,
): Promise<void> {
  const actors = new Map<ActorId, CatalogueRow>();
  for (const [actor, sequence] of newest) {
    const row = catalogue.get(actor);
    // A creation record is not content: it may be the only record of an empty actor.
    if (row === undefined || sequence <= row.created || sequence <= row.floor) continue;
    // The creation record of an adopted actor is unknown.
    const isUnwritten = row.created === 0 && row.floor === 0 && store.hasNothing(actor);
    if (!isUnwritten) actors.set(actor, { created: row.created, floor: sequence });
  }
  await catalogue.note({ actors, journal: beginning }, lastSequence);
}

/** Actors with a folder, and the heads of their shards; undefined for an empty or unreadable shard. */
export type FoundActors = ReadonlyMap<ActorId, StoredHead | undefined>;

/**
 * Checks every shard of a directory without a catalogue, before anything is written.
 *
 * @throws {ServiceError} `DATA_CORRUPTED` when a shard has an identity, because then a catalogue existed
 */
async function neverListed({ clock, folder, store }: CatalogueEnvironment): Promise<FoundActors> {
  const look = (actor: ActorId): StoredHead | undefined => {
    const head = storedHead(shardPath(store.folders.of(actor)));
    if (head?.identity === undefined) return head;
    throw catalogueDamaged(folder, 'is missing or empty: it says which actors there should be');
  };
  look(FIRST_OPENED);
  const found = new Map<ActorId, StoredHead | undefined>();
  for (const actor of await store.all()) {
    found.set(actor, look(actor));
    if (found.size % LOOKED_AT_ONCE === 0) await new Promise<void>((resolve) => clock.soon(resolve));
  }
  return found;
}

/** The catalogue rows for the actors of a directory without a catalogue. */
async function adopted(
  { log, retention, store }: CatalogueEnvironment,
  found: FoundActors,
): Promise<ReadonlyMap<ActorId, CatalogueRow>> {
  const isWhole = retention.beginning?.firstSequence === 1;
  const made = new MadeActors({
    reached: (actor) => found.get(actor)?.sequence,
    lost: log.damage?.lost ?? [],
  });
  if ([...found.values()].includes(undefined)) for await (const record of log.read(0)) made.take(record);
  const floorOf = (actor: ActorId, head: StoredHead | undefined): number => {
    // Later records are in the journal: older versions kept records until shards had them.
    if (head !== undefined) return head.sequence;
    // An empty folder belongs to an actor that was created but never used. A fork has a file from the beginning.
    const isUnused = isWhole || store.folders.isBare(actor);
    const isWithoutLoss = made.all.get(actor)?.isLost !== true && isUnused;
    return isWithoutLoss && store.isMissing(actor) ? 0 : FLOOR_NOT_EMPTY;
  };
  return new Map([...found].map(([actor, head]) => [actor, { created: 0, floor: floorOf(actor, head) }]));
}

function requireSameHistory(
  { folder, log, retention }: CatalogueEnvironment,
  { journal, sequence }: CatalogueFacts,
): void {
  const { beginning } = retention;
  if (sequence > log.lastSequence) {
    throw new ServiceError(
      'DATA_CORRUPTED',
      `the journal ends at record ${log.lastSequence}, but ${ActorCatalogue.pathIn(folder)} knows of record ${sequence}: ` +
        'its newest files are missing; nothing was changed; bring them back, or restore a backup',
    );
  }
  const chain = journal && retention.chainBefore(journal.firstSequence);
  // A damaged part proves nothing; the actors that depend on it are determined record by record.
  if (journal !== undefined && chain !== journal.chain && chain !== '') {
    throw catalogueDamaged(
      folder,
      `and the journal do not belong together: the catalogue knows another record ${journal.firstSequence}`,
    );
  }
  if (beginning !== undefined && sequence < beginning.firstSequence - 1) {
    throw catalogueDamaged(
      folder,
      `is older than the other files: it knows records up to ${sequence}, and the journal begins with ${beginning.firstSequence}`,
    );
  }
}
