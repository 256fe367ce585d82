import {
  ActorCatalogue,
  catalogueTables,
  type CatalogueRow,
  DIRECTORY_KEY,
  KEY_CHECK_KEY,
} from '#runtime/actor/catalogue/actor-catalogue.ts';
import type { ActorId } from '#runtime/actor/ports.ts';
import { decodeJsonRow } from '#runtime/shard/json-row.ts';
import { PageFile } from '#runtime/shard/page-file.ts';
import type { DamageFound } from './check-report.ts';

/** The readable part of a catalogue whose directory no process has open. */
export interface ReadCatalogue {
  /** Undefined without a catalogue: the directory is of an older version. */
  readonly directory: string | undefined;
  /** Check value of the directory's master key; undefined when none is stored. */
  readonly keyCheck: string | undefined;
  readonly actors: ReadonlyMap<ActorId, CatalogueRow>;
  readonly damage: readonly DamageFound[];
}

/** Reads a catalogue without opening it. @param folder of the actors @param isExpected whether there must be one */
export function readCatalogue(folder: string, isExpected: boolean): ReadCatalogue {
  const file = ActorCatalogue.pathIn(folder);
  const damage: DamageFound[] = [];
  const say = (what: string): void => void damage.push({ file, what });
  const actors = new Map<ActorId, CatalogueRow>();
  if (!ActorCatalogue.isIn(folder)) {
    if (isExpected) say('it is missing or empty: it says which actors there should be');
    return { directory: undefined, keyCheck: undefined, actors, damage };
  }
  let directory: string | undefined;
  let keyCheck: string | undefined;
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
    }
    for (const table of [0, 1]) {
      const found = [...catalogue.rows(table)].length;
      if (found !== catalogue.entriesOf(table)) say(`table ${catalogueTables[table]} lacks rows`);
    }
  } catch (error) {
    say((error as Error).message);
  } finally {
    catalogue?.close();
  }
  return { directory, keyCheck, actors, damage };
}

function decodeJsonRowOf(value: Uint8Array): CatalogueRow {
  const [created, floor] = decodeJsonRow(value) as [number, number];
  return { created, floor };
}
