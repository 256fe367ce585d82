import type { Random } from '#runtime/base/random.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { LeavingRecords, Log, LogRetention } from '#runtime/log/ports.ts';
import { hasIdentity, shardPath } from '#runtime/shard/shard-identity.ts';
import { ActorCatalogue, catalogueDamaged, type CatalogueRow } from './actor-catalogue.ts';
import type { ActorStore } from './actor-store.ts';
import type { ActorId } from './ports.ts';

/** Random bytes of the name of a data directory. */
const DIRECTORY_BYTES = 16;

/** Shards looked at to tell a directory that never had a catalogue from one that lost it. */
const LOOKED_AT_MAX = 64;

/** What a catalogue is opened with. */
export interface CatalogueEnvironment {
  /** Of the actors. */
  readonly folder: string;
  readonly store: ActorStore;
  readonly log: Pick<Log, 'lastSequence'>;
  readonly retention: LogRetention;
  readonly random: Random;
}

/**
 * Opens the catalogue of a data directory and compares it with the log, before either is relied on. A directory of an
 * older version has none: what is there is taken as it is, once. From then on the log keeps records until the catalogue
 * says what they leave behind.
 *
 * @throws {ServiceError} `DATA_CORRUPTED` when the catalogue or the log is missing, older than the other, or of another
 *   data directory; nothing was changed
 */
export async function openCatalogue(environment: CatalogueEnvironment): Promise<ActorCatalogue> {
  const { folder, retention } = environment;
  if (!ActorCatalogue.isIn(folder)) requireNeverThere(environment, await environment.store.all());
  const catalogue = new ActorCatalogue(folder);
  try {
    if (catalogue.directory === undefined) await begin(environment, catalogue);
    requireSameHistory(environment, catalogue);
  } catch (error) {
    await catalogue.close();
    throw error;
  }
  retention.beforeLeaving((records) => raiseFloors(catalogue, records));
  return catalogue;
}

async function begin(environment: CatalogueEnvironment, catalogue: ActorCatalogue): Promise<void> {
  const { log, random, retention, store } = environment;
  const there = await store.all();
  requireNeverThere(environment, there);
  const directory = Buffer.from(random.bytes(DIRECTORY_BYTES)).toString('hex');
  const actors = adopted(environment, there);
  const { beginning: journal } = retention;
  await catalogue.begin(
    directory,
    journal === undefined ? { actors } : { actors, journal },
    log.lastSequence,
  );
}

/** Before records leave the log: from then on their shards cannot be made again. */
async function raiseFloors(
  catalogue: ActorCatalogue,
  { beginning, lastSequence, newest }: LeavingRecords,
): Promise<void> {
  const actors = new Map<ActorId, CatalogueRow>();
  for (const [actor, sequence] of newest) {
    const row = catalogue.get(actor);
    // What made it is no content: it may be the only record there is of an actor that has none.
    if (row === undefined || sequence <= row.created || sequence <= row.floor) continue;
    actors.set(actor, { created: row.created, floor: sequence });
  }
  await catalogue.note({ actors, journal: beginning }, lastSequence);
}

function requireNeverThere({ folder, store }: CatalogueEnvironment, actors: readonly ActorId[]): void {
  const isKnown = actors
    .slice(0, LOOKED_AT_MAX)
    .some((actor) => hasIdentity(shardPath(store.folders.of(actor))));
  if (isKnown) throw catalogueDamaged(folder, 'is missing or empty: it says which actors there should be');
}

/** What is known of the actors of a directory that had no catalogue. */
function adopted(
  { retention, store }: CatalogueEnvironment,
  actors: readonly ActorId[],
): ReadonlyMap<ActorId, CatalogueRow> {
  const isWhole = retention.beginning?.firstSequence === 1;
  return new Map(
    actors.map((actor) => {
      // A folder with nothing in it is of an actor that was made and never used.
      const isWithoutLoss = store.isMissing(actor) && (isWhole || store.folders.isBare(actor));
      return [actor, { created: 0, floor: isWithoutLoss ? 0 : 1 }];
    }),
  );
}

function requireSameHistory(
  { folder, log, retention }: CatalogueEnvironment,
  { journal, sequence }: ActorCatalogue,
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
  // One that cannot be read says nothing; who depends on it is found out record by record.
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
