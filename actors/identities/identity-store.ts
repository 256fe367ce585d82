import { emailKeyOf, type EmailAddress, parseEmail } from '#runtime/access/identity/email-address.ts';
import {
  type AuthConfiguration,
  defaultAuthConfiguration,
} from '#runtime/access/identity/auth-configuration.ts';
import type { Turn } from '#runtime/commit/behaviour.ts';
import { readRecord } from '#runtime/commit/record-store.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import {
  AUTHENTICATION,
  dropRow,
  IdentitiesTable,
  type IdentityRow,
  type Named,
  putRow,
} from './identities-tables.ts';
import type { Identity } from './messages.ts';

/** An identity without what could be used to log in. */
export function shownIdentity({ local_credentials: credentials, ...identity }: IdentityRow): Identity {
  return {
    ...identity,
    has_password: credentials !== null,
    must_change_password: credentials?.must_change_password ?? false,
  };
}

/** An identity by its id. */
export function findIdentity(reader: TableReader, identityId: string): IdentityRow | undefined {
  return identityId === ''
    ? undefined
    : readRecord<IdentityRow>(reader, IdentitiesTable.identities, identityId);
}

/** An identity by its id. @throws {ServiceError} `IDENTITY_NOT_FOUND` */
export function requireIdentity(reader: TableReader, identityId: string): IdentityRow {
  const identity = findIdentity(reader, identityId);
  if (identity === undefined) throw new ServiceError('IDENTITY_NOT_FOUND');
  return identity;
}

/** An identity by the key of its address. */
export function identityOfEmail(reader: TableReader, emailKey: string): IdentityRow | undefined {
  const named = readRecord<Named>(reader, IdentitiesTable.emails, emailKey);
  return named === undefined ? undefined : findIdentity(reader, named.identityId);
}

/** An identity by an address as it was typed. */
export function identityOfText(reader: TableReader, email: string): IdentityRow | undefined {
  const key = emailKeyOf(email);
  return key === undefined ? undefined : identityOfEmail(reader, key);
}

/** An identity by its id at a provider. */
export function identityOfProvider(
  reader: TableReader,
  strategy: string,
  externalId: string,
): IdentityRow | undefined {
  const named = readRecord<Named>(reader, IdentitiesTable.providers, strategy, externalId);
  return named === undefined ? undefined : findIdentity(reader, named.identityId);
}

/** Creates an identity. @throws {ServiceError} `EMAIL_EXISTS` */
export function addIdentity(turn: Turn, { key }: EmailAddress, identity: IdentityRow): void {
  if (readRecord(turn, IdentitiesTable.emails, key) !== undefined) {
    throw new ServiceError('EMAIL_EXISTS', 'An account with this email already exists', { field: 'email' });
  }
  const named: Named = { identityId: identity.identity_id };
  putRow(turn, IdentitiesTable.emails, named, key);
  saveIdentity(turn, identity);
}

/** Stores an identity with its providers. Its address never changes, and a provider stays until it is removed. */
export function saveIdentity(turn: Turn, identity: IdentityRow): void {
  const { identity_id: identityId, linked_providers: providers } = identity;
  putRow(turn, IdentitiesTable.identities, identity, identityId);
  const named: Named = { identityId };
  for (const { strategy_id: strategy, external_id: id } of providers)
    if (readRecord(turn, IdentitiesTable.providers, strategy, id) === undefined)
      putRow(turn, IdentitiesTable.providers, named, strategy, id);
}

/** Removes an identity with the rows that lead to it. */
export function removeIdentity(turn: Turn, identity: IdentityRow): void {
  dropRow(turn, IdentitiesTable.identities, identity.identity_id);
  dropRow(turn, IdentitiesTable.emails, parseEmail(identity.email).key);
  for (const { strategy_id: strategy, external_id: id } of identity.linked_providers)
    dropRow(turn, IdentitiesTable.providers, strategy, id);
}

/** The stored configuration; undefined while there is none. */
export function storedConfiguration(reader: TableReader): AuthConfiguration | undefined {
  return readRecord<AuthConfiguration>(reader, IdentitiesTable.settings, AUTHENTICATION);
}

/** The configuration in force. */
export function configurationOf(reader: TableReader): AuthConfiguration {
  return storedConfiguration(reader) ?? defaultAuthConfiguration;
}

/** The time of a command, in ISO 8601. */
export function timestampOf(turn: Turn): string {
  return new Date(turn.wallMs).toISOString();
}
