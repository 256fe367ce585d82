import type { AuthConfiguration } from '#runtime/access/identity/auth-configuration.ts';
import type { RestoreRow } from '#runtime/actor/copies/restored-row.ts';
import { FIRST_OWN_TABLE } from '#runtime/commit/behaviour.ts';
import { recordKey } from '#runtime/commit/record-store.ts';
import { decodeJsonRow, encodeJsonRow } from '#runtime/shard/json-row.ts';
import { AUTHENTICATION, IdentitiesTable } from './identities-tables.ts';

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

/** Changes a configuration before it is stored. */
export type RestoreConfiguration = (configuration: AuthConfiguration) => AuthConfiguration;

/**
 * Rows of restored identities: accounts and the configuration are kept. Sessions and one-time tokens are removed: a
 * backup may have some that were ended or used since, and refresh tokens that were exchanged since would be good again.
 * Everybody logs in again.
 *
 * @param configured encrypts the secrets of the configuration for this server; absent: they stay as they are
 */
export function restoredIdentitiesRow(configured?: RestoreConfiguration): RestoreRow {
  return ({ key, table, value }) => {
    // The small state of the actor is about these rows as well.
    if (table < FIRST_OWN_TABLE || isPassing(table)) return null;
    const isConfiguration = table === IdentitiesTable.settings && key === recordKey(AUTHENTICATION);
    if (configured === undefined || !isConfiguration) return value;
    return encodeJsonRow(configured(decodeJsonRow(value) as AuthConfiguration));
  };
}
