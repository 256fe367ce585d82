import type { StoredRow } from '#runtime/actor/copies/restored-row.ts';
import { FIRST_OWN_TABLE } from '#runtime/commit/behaviour.ts';
import { IdentitiesTable } from './identities-tables.ts';

/** Tables that a restore and a salvage keep. */
const keptTables: ReadonlySet<number> = new Set([
  IdentitiesTable.identities,
  IdentitiesTable.emails,
  IdentitiesTable.providers,
  IdentitiesTable.settings,
]);

/** Whether a table holds sessions, one-time tokens or failed logins, which only the present state may decide on. */
export function isPassing(table: number): boolean {
  return !keptTables.has(table);
}

/**
 * Rows of restored identities: accounts and the configuration are kept. Sessions and one-time tokens are removed: a
 * backup may have some that were ended or used since, and refresh tokens that were exchanged since would be good again.
 * Everybody logs in again.
 */
export function restoredIdentitiesRow({ table, value }: StoredRow): Uint8Array | null {
  // The small state of the actor is about these rows as well.
  return table < FIRST_OWN_TABLE || isPassing(table) ? null : value;
}
