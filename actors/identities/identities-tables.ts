import { FIRST_OWN_TABLE, type Turn } from '#runtime/commit/behaviour.ts';
import { recordKey } from '#runtime/commit/record-store.ts';
import type { JsonObject } from '#runtime/content/values/json-value.ts';
import { sortableUint48 } from '#runtime/shard/binary-key.ts';
import { encodeJsonRow } from '#runtime/shard/json-row.ts';
import type { LinkedProvider, SessionEnd } from './messages.ts';
import type { AccessEntry } from './people-messages.ts';

/** Own tables of the identities of a tenant. Values are JSON with a checksum. */
export const IdentitiesTable = {
  /** identity id → {@link IdentityRow} */
  identities: FIRST_OWN_TABLE,
  /** key of an e-mail address → {@link Named} */
  emails: FIRST_OWN_TABLE + 1,
  /** strategy, id at the provider → {@link Named} */
  providers: FIRST_OWN_TABLE + 2,
  /** identity id, session id → {@link SessionRow} */
  sessions: FIRST_OWN_TABLE + 3,
  /** key of an e-mail address, kind, hash of the token → {@link TokenRow} */
  tokens: FIRST_OWN_TABLE + 4,
  /** hash of a one-time token → its name in `tokens` */
  tokenHashes: FIRST_OWN_TABLE + 5,
  /** hash of the key of an address, place or {@link EVERYWHERE} → {@link AttemptsRow} */
  attempts: FIRST_OWN_TABLE + 6,
  /** {@link agendaKey} → name of the row that is removed at that time */
  agenda: FIRST_OWN_TABLE + 7,
  /** {@link AUTHENTICATION} → AuthConfiguration, once it was stored; {@link UNBOUND_ISSUERS} → issuers by provider id */
  settings: FIRST_OWN_TABLE + 8,
  /** {@link AccessName} → {@link AccessRow} */
  access: FIRST_OWN_TABLE + 9,
  /** {@link accessIndexName} → {@link AccessName} */
  accessIndex: FIRST_OWN_TABLE + 10,
  /** identity id → StatusChange */
  statusChanges: FIRST_OWN_TABLE + 11,
  /** hash of the key of an address, or a place; `address` or `client` → {@link RequestsRow} */
  linkRequests: FIRST_OWN_TABLE + 12,
  /** id → WaitingLink */
  waitingLinks: FIRST_OWN_TABLE + 13,
} as const;

/** Names of the tables, in the order of their numbers. */
export const identitiesTableNames: readonly string[] = Object.freeze([
  'identities',
  'emails',
  'providers',
  'sessions',
  'tokens',
  'token_hashes',
  'attempts',
  'agenda',
  'settings',
  'access',
  'access_index',
  'status_changes',
  'link_requests',
  'waiting_links',
]);

/** Name of the configuration in `settings`. */
export const AUTHENTICATION = 'authentication';

/** Name in `settings` of the issuers that links without an issuer belong to. */
export const UNBOUND_ISSUERS = 'unbound-issuers';

/** The place of attempts from where nobody has logged in before. No hash of a place has this character. */
export const EVERYWHERE = '*';

/** A row that leads to an identity. */
export interface Named {
  readonly identityId: string;
}

/** A password of an identity. */
export interface LocalCredentials {
  readonly password_hash: string;
  readonly must_change_password: boolean;
  readonly password_changed_ms: number;
}

/** An identity as stored. */
export interface IdentityRow {
  readonly identity_id: string;
  readonly email: string;
  readonly email_verified: boolean;
  readonly display_name: string;
  readonly avatar_url: string | null;
  readonly is_active: boolean;
  readonly is_tenant_admin: boolean;
  readonly linked_providers: readonly LinkedProvider[];
  /** null: nobody can log in with a password. */
  readonly local_credentials: LocalCredentials | null;
  readonly metadata: JsonObject;
  readonly created_at: string;
  readonly updated_at: string;
  readonly last_login_at: string | null;
}

/** A session as stored. Times are in milliseconds since the Unix epoch. */
export interface SessionRow {
  readonly session_id: string;
  readonly identity_id: string;
  readonly auth_strategy: string;
  readonly repository: string | null;
  readonly user_agent: string | null;
  readonly ip_address: string | null;
  /** When credentials were entered. */
  readonly created_ms: number;
  readonly last_active_ms: number;
  readonly expires_ms: number;
  /** When the row is removed: no refresh token of the session is valid any more. */
  readonly forget_ms: number;
  readonly revoked: { readonly reason: SessionEnd; readonly at_ms: number } | null;
  readonly token_family: string;
  readonly token_generation: number;
  /** Hash of the secret part of the newest refresh token. */
  readonly token_hash: string;
}

/** A one-time token as stored. */
export interface TokenRow {
  readonly expires_ms: number;
  readonly payload: JsonObject;
}

/** Failed logins to one address, from one place or from everywhere else. */
export interface AttemptsRow {
  readonly failed: number;
  /** When the last failure that locked it was counted. */
  readonly locked_ms: number | null;
  /** When the row is removed. */
  readonly forget_ms: number;
  /** Whether there is an account with the address. */
  readonly is_account: boolean;
}

/** A request for access, or an invitation, as stored. */
export interface AccessRow extends AccessEntry {
  /** When the row is removed; an invitation ends then. */
  readonly forget_ms: number;
  /** Unix timestamp in milliseconds of the last login that began to use the invitation; absent: none is using it. */
  readonly taken_ms?: number;
}

/** Name of a row: whose it is, the id of the identity or the key of the address, the repository. */
export type AccessName = readonly [subject: 'identity' | 'email', of: string, repository: string];

/** Name in the index of a repository: ids sort by their time. */
export function accessIndexName({ id, repository, status }: AccessRow): readonly string[] {
  return [repository, status, id];
}

/** Requests for links to one address, or of one client. */
export interface RequestsRow {
  /** When they were made, oldest first. */
  readonly times_ms: readonly number[];
  /** When the row is removed. */
  readonly forget_ms: number;
  /** The agenda that removes the row. */
  readonly kind: 'account-requests' | 'other-requests' | 'client-requests';
}

/** What an entry of the agenda removes; what is of no account is apart, so that it can be bounded. */
export type AgendaKind =
  | 'session'
  | 'token'
  | 'account-attempts'
  | 'other-attempts'
  | 'account-requests'
  | 'other-requests'
  | 'client-requests'
  | 'link'
  | 'access';

const letters: Readonly<Record<AgendaKind, string>> = {
  session: 's',
  token: 't',
  'account-attempts': 'a',
  'other-attempts': 'o',
  access: 'r',
  'account-requests': 'b',
  'other-requests': 'p',
  'client-requests': 'c',
  link: 'l',
};

/** Every kind of entry. */
export const agendaKinds: readonly AgendaKind[] = Object.keys(letters) as AgendaKind[];

/** The table of the rows that an entry of a kind removes. */
export const agendaTables: Readonly<Record<AgendaKind, number>> = Object.freeze({
  session: IdentitiesTable.sessions,
  token: IdentitiesTable.tokens,
  'account-attempts': IdentitiesTable.attempts,
  'other-attempts': IdentitiesTable.attempts,
  access: IdentitiesTable.access,
  'account-requests': IdentitiesTable.linkRequests,
  'other-requests': IdentitiesTable.linkRequests,
  'client-requests': IdentitiesTable.linkRequests,
  link: IdentitiesTable.waitingLinks,
});

/** Key of an entry: its kind, its time, the name of the row. */
export function agendaKey(kind: AgendaKind, atMs: number, name: readonly string[]): string {
  return letters[kind] + sortableUint48(atMs) + recordKey(...name);
}

/** The entries of a kind before a time, the earliest first. Default: all of the kind. */
export function agendaBefore(
  kind: AgendaKind,
  atMs?: number,
): { readonly start: string; readonly end: string } {
  const letter = letters[kind];
  const end =
    atMs === undefined
      ? `${letter}\u00ff\u00ff\u00ff\u00ff\u00ff\u00ff\u00ff`
      : letter + sortableUint48(atMs);
  return { start: letter, end };
}

/** The kind of an entry; undefined for a key that is none. */
export function agendaKindOf(key: string): AgendaKind | undefined {
  return agendaKinds.find((kind) => letters[kind] === key[0]);
}

/** Stores a row. */
export function putRow(turn: Turn, table: number, row: unknown, ...name: readonly string[]): void {
  turn.put(table, recordKey(...name), encodeJsonRow(row));
}

/** Removes a row; no error when there is none. */
export function dropRow(turn: Turn, table: number, ...name: readonly string[]): void {
  turn.remove(table, recordKey(...name));
}
