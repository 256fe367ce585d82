import { existsSync, statSync } from 'node:fs';
import type { ActorId } from '#runtime/actor/ports.ts';
import { shownKey } from '#runtime/check/check-rows.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { decodeJsonRow } from '#runtime/shard/json-row.ts';
import { PageFile } from '#runtime/shard/page-file.ts';
import { SHARD_FORMAT } from '#runtime/shard/lmdb-tables.ts';
import { checkActor } from './check-actor.ts';
import type { DamageFound } from './check-report.ts';

/** What the journal says an actor must have: the last value of each key it wrote up to a position. */
export type ExpectedRows = ReadonlyMap<number, ReadonlyMap<string, Uint8Array | null>>;

/** A shard that is looked at. */
export interface CheckedShard {
  readonly actor: ActorId;
  /** Its file. */
  readonly path: string;
  readonly tableNames: readonly string[];
  /** What the journal says; asked for when the position of the shard is known. */
  readonly expected: (position: number) => ExpectedRows | undefined;
  /** What the catalogue of the directory says of it; undefined where there is none, or it does not name it. */
  readonly listed?: { readonly directory: string; readonly created: number; readonly floor: number };
  /** Newest sequence of the journal; undefined where it is not known. */
  readonly lastSequence: number | undefined;
}

/** Findings of one table above which only their number is told. */
const FINDINGS_PER_TABLE_MAX = 20;

/** Gathers what is found in one shard. */
class Findings {
  readonly found: DamageFound[] = [];
  readonly #counts = new Map<string, number>();
  readonly #shard: CheckedShard;

  constructor(shard: CheckedShard) {
    this.#shard = shard;
  }

  add(table: string, what: string): void {
    const count = (this.#counts.get(table) ?? 0) + 1;
    this.#counts.set(table, count);
    const { actor, path: file } = this.#shard;
    if (count <= FINDINGS_PER_TABLE_MAX) this.found.push({ file, actor, table, what });
  }

  end(): void {
    const { actor, path: file } = this.#shard;
    for (const [table, count] of this.#counts) {
      const more = count - FINDINGS_PER_TABLE_MAX;
      if (more > 0) this.found.push({ file, actor, table, what: `and ${more} more` });
    }
  }
}

/**
 * Verifies the file of a shard that nobody writes to: its pages, its rows, and what the journal says it must have.
 *
 * @returns rests often enough to be done in slices; what it found
 */
export function* checkShard(shard: CheckedShard): Generator<undefined, readonly DamageFound[]> {
  const findings = new Findings(shard);
  const { actor, lastSequence, path, tableNames } = shard;
  let file: PageFile | undefined;
  try {
    if (!existsSync(path)) throw new ServiceError('DATA_CORRUPTED', `${path} is missing`);
    if (statSync(path).size === 0) throw new ServiceError('DATA_CORRUPTED', `${path} is empty`);
    file = new PageFile(path, tableNames, (table, what) => findings.add(table, what));
    const { format } = file;
    if (format === undefined) findings.add('', 'its format cannot be read');
    else if (format > SHARD_FORMAT) findings.add('', `it has format ${format}; check it with a newer build`);
    for (const key of file.unknownKeys) findings.add('_shard', `${shownKey(key)} is none of its keys`);
    const { sequence } = file.position;
    checkListed(file, shard, findings);
    if (lastSequence !== undefined && sequence > lastSequence)
      findings.add('', `it reaches log record ${sequence}, but the journal ends at ${lastSequence}`);
    yield* checkEntries(file, tableNames, findings);
    yield* checkActor(actor, file, tableNames, (table, what) => findings.add(table, what));
    yield* checkExpected(file, tableNames, shard.expected(sequence), findings);
  } catch (error) {
    findings.add('', (error as Error).message);
  } finally {
    file?.close();
  }
  findings.end();
  return findings.found;
}

/** The catalogue says whose file it must be, and how far it must reach. */
function checkListed(file: PageFile, { actor, listed }: CheckedShard, findings: Findings): void {
  if (listed === undefined) return;
  const { created, directory, floor } = listed;
  if (file.position.sequence < floor)
    findings.add('', `it reaches log record ${file.position.sequence}, and reached ${floor} before`);
  const { identity } = file;
  if (identity === undefined) {
    if (created > 0) findings.add('', 'it does not say whose it is');
    return;
  }
  const [ofDirectory, ofActor, ofRecord] = decodeJsonRow(identity) as [string, string, number];
  if (ofActor !== actor) findings.add('', `it is the file of ${ofActor}`);
  else if (ofDirectory !== directory) findings.add('', 'it is of another data directory');
  else if (ofRecord !== created) findings.add('', 'it is of an earlier actor of that name');
}

/** Every table says how many rows it has. */
function* checkEntries(
  file: PageFile,
  tableNames: readonly string[],
  findings: Findings,
): Generator<undefined, void> {
  for (const [table, name] of tableNames.entries()) {
    let rows = 0;
    for (const _ of file.rows(table)) {
      rows += 1;
      if (rows % 1024 === 0) yield;
    }
    const wanted = file.entriesOf(table);
    if (rows !== wanted) findings.add(name, `it says that it has ${wanted} rows, ${rows} can be read`);
  }
}

function* checkExpected(
  file: PageFile,
  tableNames: readonly string[],
  expected: ExpectedRows | undefined,
  findings: Findings,
): Generator<undefined, void> {
  let rows = 0;
  for (const [table, keys] of expected ?? []) {
    for (const [key, value] of keys) {
      rows += 1;
      if (rows % 256 === 0) yield;
      const found = file.get(table, key);
      const isSame =
        value === null ? found === undefined : found !== undefined && Buffer.compare(found, value) === 0;
      if (!isSame) findings.add(tableNames[table] ?? '', `${shownKey(key)} is not what the journal says`);
    }
  }
}
