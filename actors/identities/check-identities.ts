import { parseEmail } from '#runtime/access/identity/email-address.ts';
import {
  checkJsonRows,
  damagedRow,
  eachRow,
  everyKey,
  type OnDamage,
  ownTables,
  shownKey,
} from '#runtime/check/check-rows.ts';
import { commonTableNames } from '#runtime/commit/behaviour.ts';
import { readRecord, recordKey } from '#runtime/commit/record-store.ts';
import type { Write } from '#runtime/log/log-entry.ts';
import { bytesText, END } from '#runtime/shard/binary-key.ts';
import { decodeJsonRow, encodeJsonRow } from '#runtime/shard/json-row.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { counted, countedKinds, countedRow } from './agenda.ts';
import {
  accessIndexName,
  type AccessRow,
  agendaKey,
  type AgendaKind,
  agendaKindOf,
  agendaTables,
  type AttemptsRow,
  IdentitiesTable,
  identitiesTableNames,
  type IdentityRow,
  type Named,
  type RequestsRow,
  type SessionRow,
  type TokenRow,
} from './identities-tables.ts';
import type { WaitingLink } from './link-messages.ts';
import { kindOf } from './login-attempts.ts';
import type { StatusChange } from './people-messages.ts';
import { isPassing } from './restored-rows.ts';

const tableNames = [...commonTableNames, ...identitiesTableNames];

/** The rows that lead to an identity: its address and its providers. */
function leadsOf(identity: IdentityRow): readonly { readonly table: number; readonly key: string }[] {
  return [
    { table: IdentitiesTable.emails, key: recordKey(parseEmail(identity.email).key) },
    ...identity.linked_providers.map(({ strategy_id: strategy, external_id: id }) => ({
      table: IdentitiesTable.providers,
      key: recordKey(strategy, id),
    })),
  ];
}

/**
 * Verifies the identities of a tenant: every row has a valid checksum; an identity is found by its address and its
 * providers, and by nothing else; whatever ends by itself is in the agenda, once.
 */
export function* checkIdentities(reader: TableReader, tell: OnDamage): Generator<undefined, void> {
  yield* checkJsonRows(reader, tableNames, ownTables(tableNames), tell);
  yield* eachRow(reader, IdentitiesTable.identities, 'identities', tell, ({ key, value }) => {
    const identity = decodeJsonRow(value) as IdentityRow;
    if (recordKey(identity.identity_id) !== key)
      throw damagedRow(`it holds identity ${identity.identity_id}`);
    for (const lead of leadsOf(identity))
      if (identityAt(reader, lead.table, lead.key) !== identity.identity_id)
        tell(
          tableNames[lead.table] as string,
          `${shownKey(lead.key)} does not lead to ${identity.identity_id}`,
        );
  });
  for (const table of [IdentitiesTable.emails, IdentitiesTable.providers])
    yield* eachRow(reader, table, tableNames[table] as string, tell, ({ key }) => {
      if (!isLead(reader, table, key)) throw damagedRow('no identity has it');
    });
  yield* eachRow(reader, IdentitiesTable.sessions, 'sessions', tell, ({ key, value }) => {
    const { forget_ms: atMs, identity_id: owner, session_id: id } = decodeJsonRow(value) as SessionRow;
    if (recordKey(owner, id) !== key) throw damagedRow(`it holds session ${id} of ${owner}`);
    if (readRecord(reader, IdentitiesTable.identities, owner) === undefined)
      throw damagedRow(`there is no identity ${owner}`);
    requirePlanned(reader, 'session', atMs, [owner, id]);
  });
  yield* eachRow(reader, IdentitiesTable.tokens, 'tokens', tell, ({ key, value }) => {
    const name = namesIn(key);
    requirePlanned(reader, 'token', (decodeJsonRow(value) as TokenRow).expires_ms, name);
    const led = readRecord<readonly string[]>(reader, IdentitiesTable.tokenHashes, name.at(-1) as string);
    if (led === undefined || recordKey(...led) !== key) throw damagedRow('its hash does not lead to it');
  });
  yield* eachRow(reader, IdentitiesTable.tokenHashes, 'token_hashes', tell, ({ value }) => {
    const name = decodeJsonRow(value) as readonly string[];
    if (readRecord(reader, IdentitiesTable.tokens, ...name) === undefined)
      throw damagedRow('there is no such token');
  });
  yield* eachRow(reader, IdentitiesTable.access, 'access', tell, ({ key, value }) => {
    const row = decodeJsonRow(value) as AccessRow;
    requirePlanned(reader, 'access', row.forget_ms, namesIn(key));
    const led = readRecord<readonly string[]>(reader, IdentitiesTable.accessIndex, ...accessIndexName(row));
    if (led === undefined || recordKey(...led) !== key) throw damagedRow('its index does not lead to it');
  });
  yield* eachRow(reader, IdentitiesTable.accessIndex, 'access_index', tell, ({ key, value }) => {
    const name = decodeJsonRow(value) as readonly string[];
    const row = readRecord<AccessRow>(reader, IdentitiesTable.access, ...name);
    if (row === undefined || recordKey(...accessIndexName(row)) !== key)
      throw damagedRow('there is no such request');
  });
  yield* eachRow(reader, IdentitiesTable.statusChanges, 'status_changes', tell, ({ key, value }) => {
    const { identityId } = decodeJsonRow(value) as StatusChange;
    if (recordKey(identityId) !== key) throw damagedRow(`it holds a change of ${identityId}`);
  });
  const found = new Map<AgendaKind, number>();
  const planned = (kind: AgendaKind, atMs: number, name: readonly string[]): void => {
    found.set(kind, (found.get(kind) ?? 0) + 1);
    requirePlanned(reader, kind, atMs, name);
  };
  yield* eachRow(reader, IdentitiesTable.attempts, 'attempts', tell, ({ key, value }) => {
    const row = decodeJsonRow(value) as AttemptsRow;
    planned(kindOf(row), row.forget_ms, namesIn(key));
  });
  yield* eachRow(reader, IdentitiesTable.linkRequests, 'link_requests', tell, ({ key, value }) => {
    const row = decodeJsonRow(value) as RequestsRow;
    planned(row.kind, row.forget_ms, namesIn(key));
  });
  yield* eachRow(reader, IdentitiesTable.waitingLinks, 'waiting_links', tell, ({ key, value }) => {
    const { expires_ms: atMs, id } = decodeJsonRow(value) as WaitingLink;
    if (recordKey(id) !== key) throw damagedRow(`it holds link ${id}`);
    planned('link', atMs, [id]);
  });
  for (const kind of countedKinds) {
    const rows = found.get(kind) ?? 0;
    if (rows !== counted(reader, kind))
      tell('meta', `there are ${rows} rows of ${kind}, and ${counted(reader, kind)} are counted`);
  }
  yield* eachRow(reader, IdentitiesTable.agenda, 'agenda', tell, ({ key, value }) => {
    if (!isPlanned(reader, key, decodeJsonRow(value) as readonly string[]))
      throw damagedRow('nothing ends then');
  });
}

/**
 * Makes the rows that lead to identities agree with the identities, and ends every session and one-time token: those
 * that are left may be older than what was lost, and an exchanged refresh token would be good again.
 */
export function* repairIdentities(reader: TableReader): Generator<Write, void> {
  const repaired = new Set<string>();
  for (const { value } of reader.range(IdentitiesTable.identities, everyKey)) {
    const identity = decodeJsonRow(value) as IdentityRow;
    const named: Named = { identityId: identity.identity_id };
    for (const { key, table } of leadsOf(identity)) {
      // Of two identities with one address, after a part was lost, the stored row decides.
      if (isLead(reader, table, key)) continue;
      repaired.add(`${table} ${key}`);
      yield { table, key, value: encodeJsonRow(named) };
    }
  }
  for (const table of [IdentitiesTable.emails, IdentitiesTable.providers])
    for (const { key } of reader.range(table, everyKey))
      if (!repaired.has(`${table} ${key}`) && !isLead(reader, table, key)) yield { table, key, value: null };
  for (const table of ownTables(tableNames))
    if (isPassing(table))
      for (const { key } of reader.range(table, everyKey)) yield { table, key, value: null };
  for (const kind of countedKinds) if (counted(reader, kind) > 0) yield countedRow(kind, 0);
}

/** The identity that a row leads to; undefined for a row that is missing. */
function identityAt(reader: TableReader, table: number, key: string): string | undefined {
  const bytes = reader.get(table, key);
  return bytes === undefined ? undefined : (decodeJsonRow(bytes) as Named).identityId;
}

/** Whether a row leads to an identity that has the address or the provider. */
function isLead(reader: TableReader, table: number, key: string): boolean {
  const identityId = identityAt(reader, table, key);
  const identity =
    identityId === undefined
      ? undefined
      : readRecord<IdentityRow>(reader, IdentitiesTable.identities, identityId);
  return identity !== undefined && leadsOf(identity).some((lead) => lead.table === table && lead.key === key);
}

/** @throws {ServiceError} `DATA_CORRUPTED` for a row that does not end at its time */
function requirePlanned(reader: TableReader, kind: AgendaKind, atMs: number, name: readonly string[]): void {
  if (reader.get(IdentitiesTable.agenda, agendaKey(kind, atMs, name)) === undefined)
    throw damagedRow('it is not in the agenda');
}

/** Whether an entry of the agenda belongs to a row that ends at its time. */
function isPlanned(reader: TableReader, key: string, name: readonly string[]): boolean {
  const kind = agendaKindOf(key);
  const bytes = kind === undefined ? undefined : reader.get(agendaTables[kind], recordKey(...name));
  if (kind === undefined || bytes === undefined) return false;
  const row = decodeJsonRow(bytes) as { readonly forget_ms?: number; readonly expires_ms: number };
  return agendaKey(kind, row.forget_ms ?? row.expires_ms, name) === key;
}

/** The parts of the name in the key of a row. */
function namesIn(key: string): readonly string[] {
  return bytesText(key.slice(0, -END.length)).split(END);
}
