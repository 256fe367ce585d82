import { CommonTable, FIRST_OWN_TABLE } from '#runtime/commit/behaviour.ts';
import { readStamp, STAMP_KEY } from '#runtime/commit/record-store.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { JSON_ROW_FORMAT, decodeJsonRow } from '#runtime/shard/json-row.ts';
import type { Range, Row, TableReader } from '#runtime/shard/shard.ts';

/** Called for damage in an actor, with the table and a description. */
export type OnDamage = (table: string, what: string) => void;

/** Rows processed between two yields. */
const ROWS_PER_REST = 256;

/** Every key of a table. */
export const everyKey: Range = Object.freeze({ start: '', end: '\u00ff'.repeat(2_000) });

/** The error for a damaged row. @param what is wrong with it */
export function damagedRow(what: string): ServiceError {
  return new ServiceError('DATA_CORRUPTED', what);
}

/** A key in readable form. */
export function shownKey(key: string): string {
  const text = key.replaceAll('\u0000', '·').replace(/[^\x20-\x7e·]/g, '?');
  return `'${text.length > 120 ? `${text.slice(0, 119)}…` : text}'`;
}

/**
 * Calls `look` for every row of a table and yields between rows. An error it throws is reported as damage of that row.
 *
 * @returns the number of rows
 */
export function* eachRow(
  reader: TableReader,
  table: number,
  name: string,
  tell: OnDamage,
  look: (row: Row) => void,
): Generator<undefined, number> {
  let rows = 0;
  for (const row of reader.range(table, everyKey)) {
    rows += 1;
    try {
      look(row);
    } catch (error) {
      tell(name, `${shownKey(row.key)}: ${(error as Error).message}`);
    }
    if (rows % ROWS_PER_REST === 0) yield;
  }
  return rows;
}

/** Verifies the checksums of tables with JSON rows. @param tables their numbers */
export function* checkJsonRows(
  reader: TableReader,
  tableNames: readonly string[],
  tables: Iterable<number>,
  tell: OnDamage,
): Generator<undefined, void> {
  for (const table of tables) {
    const name = tableNames[table] ?? `table ${table}`;
    yield* eachRow(reader, table, name, tell, ({ value }) => void decodeJsonRow(value));
  }
}

/**
 * Verifies the checksums of an actor's meta table, for rows that have one.
 *
 * @param verifyOwn verifies rows that only the kind of the actor knows
 */
export function* checkMeta(
  reader: TableReader,
  tell: OnDamage,
  verifyOwn?: (row: Row) => void,
): Generator<undefined, void> {
  yield* eachRow(reader, CommonTable.meta, 'meta', tell, (row) => {
    verifyMetaRow(row);
    verifyOwn?.(row);
  });
}

/** @throws {ServiceError} `DATA_CORRUPTED` for a row of an actor's meta table whose checksum does not match */
export function verifyMetaRow({ key, value }: Row): void {
  if (key === STAMP_KEY) readStamp(value);
  // Other rows are short texts.
  else if (value[0] === JSON_ROW_FORMAT) decodeJsonRow(value);
}

/** Verifies the idempotency table: a value that is JSON must parse. */
export function* checkOutcomes(reader: TableReader, tell: OnDamage): Generator<undefined, void> {
  yield* eachRow(reader, CommonTable.idempotency, 'idempotency', tell, ({ value }) => {
    const text = Buffer.from(value).toString('utf8');
    if (text.startsWith('{') || text.startsWith('[')) JSON.parse(text);
  });
}

/** Table numbers of a kind's own tables. */
export function ownTables(tableNames: readonly string[]): readonly number[] {
  return tableNames.flatMap((_, table) => (table >= FIRST_OWN_TABLE ? [table] : []));
}
