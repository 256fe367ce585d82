import {
  ActorCatalogue,
  catalogueTables,
  type CatalogueRow,
  DIRECTORY_KEY,
  KEY_CHECK_KEY,
  PREVIOUS_KEY_CHECK_KEY,
} from '#runtime/actor/catalogue/actor-catalogue.ts';
import type { ActorId } from '#runtime/actor/ports.ts';
import type { JournalSurvey } from '#runtime/embedded/recovery/journal-survey.ts';
import { decodeJsonRow } from '#runtime/shard/json-row.ts';
import { PageFile } from '#runtime/shard/page-file.ts';
import type { DamageFound } from './check-report.ts';

/** The readable part of a catalogue whose directory no process has open. */
export interface ReadCatalogue {
  /** Undefined without a catalogue: the directory is of an older version. */
  readonly directory: string | undefined;
  /** Check value of the directory's master key; undefined when none is stored. */
  readonly keyCheck: string | undefined;
  /** Check value of the key before it, with which something is encrypted; undefined when nothing is. */
  readonly previousKeyCheck: string | undefined;
  readonly actors: ReadonlyMap<ActorId, CatalogueRow>;
  /** Newest record of the journal that it knows; undefined when it cannot be read. */
  readonly sequence: number | undefined;
  readonly damage: readonly DamageFound[];
}

/** Where a journal begins and ends. */
type JournalEnds = Pick<JournalSurvey, 'findings' | 'firstSequence' | 'lastSequence' | 'segments'>;

/** Reads a catalogue without opening it. @param folder of the actors @param isExpected whether there must be one */
export function readCatalogue(folder: string, isExpected: boolean): ReadCatalogue {
  const file = ActorCatalogue.pathIn(folder);
  const damage: DamageFound[] = [];
  const say = (what: string): void => void damage.push({ file, what });
  const actors = new Map<ActorId, CatalogueRow>();
  if (!ActorCatalogue.isIn(folder)) {
    if (isExpected) say('it is missing or empty: it says which actors there should be');
    const none = { directory: undefined, keyCheck: undefined, previousKeyCheck: undefined };
    return { ...none, actors, sequence: undefined, damage };
  }
  let directory: string | undefined;
  let keyCheck: string | undefined;
  let previousKeyCheck: string | undefined;
  let sequence: number | undefined;
  let catalogue: PageFile | undefined;
  try {
    catalogue = new PageFile(file, catalogueTables, (table, what) => say(`${table}: ${what}`));
    for (const key of catalogue.unknownKeys) say(`'${key}' is none of its keys`);
    for (const { key, value } of catalogue.rows(0))
      actors.set(Buffer.from(key, 'latin1').toString('utf8'), decodeJsonRowOf(value));
    for (const { key, value } of catalogue.rows(1)) {
      const fact = decodeJsonRow(value);
      if (key === DIRECTORY_KEY) directory = fact as string;
      if (key === KEY_CHECK_KEY) keyCheck = fact as string;
      if (key === PREVIOUS_KEY_CHECK_KEY) previousKeyCheck = fact as string;
    }
    // A catalogue names its directory before the first actor is created.
    if (directory !== undefined) ({ sequence } = catalogue.position);
    else if (isExpected) say('it names no directory: another file was copied over it');
    for (const table of [0, 1]) {
      const found = [...catalogue.rows(table)].length;
      if (found !== catalogue.entriesOf(table)) say(`table ${catalogueTables[table]} lacks rows`);
    }
  } catch (error) {
    say((error as Error).message);
  } finally {
    catalogue?.close();
  }
  return { directory, keyCheck, previousKeyCheck, actors, sequence, damage };
}

/**
 * What is wrong with a catalogue and a journal beside each other: a server does not start on what is of two times.
 *
 * @param folder of the actors
 */
export function catalogueAgainstJournal(
  folder: string,
  { sequence }: Pick<ReadCatalogue, 'sequence'>,
  { findings, firstSequence, lastSequence, segments }: JournalEnds,
): readonly DamageFound[] {
  // Damage of the journal is reported with its files, and may hide where it begins and ends.
  if (sequence === undefined || segments === 0 || findings.length > 0) return [];
  const file = ActorCatalogue.pathIn(folder);
  if (sequence > lastSequence) {
    const what = `it knows record ${sequence}, but the journal ends at record ${lastSequence}: its newest files are missing`;
    return [{ file, what }];
  }
  if (sequence >= firstSequence - 1) return [];
  const what = `it is older than the other files: it knows records up to ${sequence}, and the journal begins with ${firstSequence}`;
  return [{ file, what }];
}

function decodeJsonRowOf(value: Uint8Array): CatalogueRow {
  const [created, floor] = decodeJsonRow(value) as [number, number];
  return { created, floor };
}
