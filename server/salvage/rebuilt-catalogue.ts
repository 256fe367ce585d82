import { existsSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import {
  ActorCatalogue,
  CATALOGUE,
  type CatalogueRow,
  FLOOR_NOT_EMPTY,
} from '#runtime/actor/catalogue/actor-catalogue.ts';
import type { ActorId } from '#runtime/actor/ports.ts';
import type { Clock } from '#runtime/base/time/clock.ts';
import { realFileSystem } from '#runtime/base/files/file-system.ts';
import type { Random } from '#runtime/base/random.ts';
import { acquireDataDirectory } from '#runtime/embedded/data-directory-lock.ts';
import { Journal } from '#runtime/embedded/journal/journal.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { decodeJsonRow } from '#runtime/shard/json-row.ts';
import { storedHead } from '#runtime/shard/stored-head.ts';
import { claimName } from '#server/host/claimed-name.ts';
import { missingActors } from '#server/check/check-directory.ts';
import { shardPathOf } from '#server/check/shard-path.ts';
import {
  type DirectorySurvey,
  requireDataDirectory,
  surveyDirectory,
} from '#server/check/survey-directory.ts';
import { fateOf } from './missing-fate.ts';

/** Dependencies of a rebuild. */
export interface RebuildEnvironment {
  readonly dataDir: string;
  readonly clock: Clock;
  readonly random: Random;
}

/** A rebuilt catalogue. */
export interface RebuiltCatalogue {
  /** Number of actors it lists. */
  readonly actors: number;
  /** Remarks for the operator, one line each. */
  readonly remarks: readonly string[];
  /** Place of the previous catalogue; undefined when there was none. */
  readonly keptAt: string | undefined;
  /** Whether it has the check value of the master key, which only the previous catalogue contains. */
  readonly knowsKey: boolean;
}

interface Identity {
  readonly directory: string;
  readonly actor: string;
  readonly created: number;
}

/**
 * Rebuilds the catalogue of a stopped data directory from its other files: each shard stores its directory, its
 * actor, the record that created it and its position. The previous catalogue is kept beside it.
 *
 * A lost actor that nothing names cannot be detected: registries name repositories and branches, but
 * not their locks and jobs.
 *
 * @throws {ServiceError} `CONFLICT` when a process has the directory, or no shard in it has an identity;
 *   `DATA_CORRUPTED`
 */
export async function rebuildCatalogue(environment: RebuildEnvironment): Promise<RebuiltCatalogue> {
  const { clock, dataDir } = environment;
  requireDataDirectory(dataDir);
  const lock = await acquireDataDirectory(dataDir, claimName);
  try {
    const folder = join(dataDir, 'actors');
    const signal = new AbortController().signal;
    const survey = await surveyDirectory({ dataDir, clock, signal, onProgress: () => {} });
    const journal = await openedJournal(environment);
    const { directory, remarks, rows } = listed(survey, dataDir);
    const { keyCheck, previousKeyCheck } = survey;
    const keptAt = setAside(folder, clock);
    const catalogue = new ActorCatalogue(folder, clock);
    try {
      const { beginning } = journal.retention;
      const changes = {
        actors: rows,
        ...(beginning === undefined ? {} : { journal: beginning }),
        ...(keyCheck === undefined ? {} : { keyCheck }),
        ...(previousKeyCheck === undefined ? {} : { previousKeyCheck }),
      };
      await catalogue.begin(directory, changes, journal.lastSequence);
    } finally {
      await catalogue.close();
      await journal.close();
    }
    return { actors: rows.size, remarks, keptAt, knowsKey: keyCheck !== undefined };
  } finally {
    lock.release();
  }
}

/** Opens the journal without changing it. */
function openedJournal({ clock, dataDir, random }: RebuildEnvironment): Promise<Journal> {
  return Journal.look({
    folder: join(dataDir, 'journal'),
    durability: 'local',
    files: realFileSystem,
    clock,
    random,
    report: () => {},
    containsDamage: true,
  });
}

function listed(
  survey: DirectorySurvey,
  dataDir: string,
): { directory: string; rows: Map<ActorId, CatalogueRow>; remarks: string[] } {
  const { actors, made, store } = survey;
  const directory = mostFrequent(
    actors.flatMap((actor) => identityOf(shardPathOf(store, actor))?.directory ?? []),
  );
  if (directory === undefined)
    throw new ServiceError(
      'CONFLICT',
      `No file in ${dataDir} says of which data directory it is: a version without a catalogue made it, and a start lists what is there`,
    );
  const rows = new Map<ActorId, CatalogueRow>();
  const remarks: string[] = [];
  for (const actor of actors) {
    const path = shardPathOf(store, actor);
    const head = storedHead(path);
    const identity = identityOf(path);
    const { isLost = true, sequence: created = 0 } = made.get(actor) ?? {};
    if (identity !== undefined && (identity.actor !== actor || identity.directory !== directory)) {
      rows.set(actor, { created, floor: FLOOR_NOT_EMPTY });
      remarks.push(
        `${path} is the file of ${identity.actor}, or of another data directory, so ${actor} is not served: ` +
          'bring its own file back, and run this again',
      );
    } else if (head !== undefined)
      rows.set(actor, { created: identity?.created ?? created, floor: head.sequence });
    else if (!isLost) rows.set(actor, { created, floor: 0 });
    else {
      rows.set(actor, { created, floor: FLOOR_NOT_EMPTY });
      remarks.push(
        `${path} is missing or damaged, so ${actor} is not served: bring it back, and run this again`,
      );
    }
  }
  const miss = (actor: ActorId, file: string, what: string): void => {
    rows.set(actor, { created: made.get(actor)?.sequence ?? 0, floor: FLOOR_NOT_EMPTY });
    remarks.push(`${file}: ${what}, so ${actor} is not served: bring it back, and run this again`);
  };
  for (const { actor, file, what } of missingActors(survey, new Map()))
    if (actor !== undefined) miss(actor, file, what);
  const known = new Set(actors);
  for (const [actor, { isLost, sequence }] of made) {
    if (!isLost || known.has(actor) || rows.has(actor)) continue;
    const fate = fateOf(survey, actor, sequence);
    if (fate.kind === 'lost') miss(actor, store.folders.of(actor), 'it is missing, and the journal names it');
    if (fate.kind !== 'unknown') continue;
    if (fate.isListed) rows.set(actor, { created: sequence, floor: FLOOR_NOT_EMPTY });
    remarks.push(fate.remark);
  }
  return { directory, rows, remarks };
}

function identityOf(path: string): Identity | undefined {
  const stored = storedHead(path)?.identity;
  if (stored === undefined) return undefined;
  const [directory, actor, created] = decodeJsonRow(stored) as [string, string, number];
  return { directory, actor, created };
}

function mostFrequent(names: readonly string[]): string | undefined {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return [...counts].sort(([, a], [, b]) => b - a)[0]?.[0];
}

/** @returns its new place */
function setAside(folder: string, clock: Clock): string | undefined {
  const path = join(folder, CATALOGUE);
  if (!existsSync(path)) return undefined;
  const kept = `${path}-replaced-${Math.floor(clock.wallMs())}`;
  renameSync(path, kept);
  return kept;
}
