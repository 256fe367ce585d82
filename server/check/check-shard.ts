import { existsSync, statSync } from 'node:fs';
import type { ActorId } from '#runtime/actor/ports.ts';
import { shownKey } from '#runtime/check/check-rows.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { decodeJsonRow } from '#runtime/shard/json-row.ts';
import { PageFile } from '#runtime/shard/page-file.ts';
import { SHARD_FORMAT } from '#runtime/shard/lmdb-tables.ts';
import { checkActor } from './check-actor.ts';
import type { DamageFound } from './check-report.ts';
import { Findings } from './findings.ts';

/** A shard to check. */
export interface CheckedShard {
  readonly actor: ActorId;
  /** Its file. */
  readonly path: string;
  readonly tableNames: readonly string[];
  /** Called with the position of the shard, if it can be read. */
  readonly onPosition?: (sequence: number) => void;
  /** Its row in the directory's catalogue; undefined when there is no catalogue, or no row. */
  readonly listed?: { readonly directory: string; readonly created: number; readonly floor: number };
  /** Newest sequence of the journal; undefined when it is unknown. */
  readonly lastSequence: number | undefined;
}

/**
 * Verifies the file of a shard that is not written to: its pages and its rows.
 *
 * @returns the findings; pauses often enough to be run in slices
 */
export function* checkShard(shard: CheckedShard): Generator<undefined, readonly DamageFound[]> {
  const { actor, lastSequence, onPosition, path, tableNames } = shard;
  const findings = new Findings(path, actor);
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
    yield* file.verifyPieces();
    yield* checkActor(actor, file, tableNames, (table, what) => findings.add(table, what));
    onPosition?.(sequence);
  } catch (error) {
    findings.add('', (error as Error).message);
  } finally {
    file?.close();
  }
  return findings.all();
}

/** Compares the file with its catalogue row: its actor, and the position it must reach. */
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

/** Compares the number of rows of every table with the stored one. */
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
