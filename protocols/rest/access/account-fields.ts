import { type AccessFlags, accessFlagNames } from '#runtime/access/principal.ts';
import { invalid } from '#runtime/errors/service-error.ts';
import type { BodyFields } from '#protocols/http/requests/body-fields.ts';

/** Names of accounts: typable, without spaces, slashes or control characters. */
const usernameShape = /^[A-Za-z0-9][A-Za-z0-9._@+-]{0,127}$/;

/** Longest email address, in characters. @see RFC 5321 section 4.5.3 */
const EMAIL_CHARACTERS_MAX = 254;

/** Schema of access flags in a response. */
export const flagsSchema = {
  type: 'object',
  properties: Object.fromEntries(accessFlagNames.map((flag) => [flag, { type: 'boolean' }])),
} as const;

/** Schema of access flags in a request. */
export const givenFlagsSchema = { ...flagsSchema, additionalProperties: false } as const;

/** Authors that are no accounts. One with such a name could not be told from the server, or from nobody. */
const reservedUsernames: ReadonlySet<string> = new Set(['system', 'anonymous']);

/** As ids of accounts: what an account with such a name wrote would be taken for what another one did. */
const idShape = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** The name of a new account. @throws {ServiceError} `VALIDATION_FAILED` */
export function requireUsername(username: string, field: string): string {
  if (reservedUsernames.has(username.toLowerCase()))
    throw invalid('The usernames system and anonymous are reserved: they are authors without an account', {
      field,
    });
  if (!usernameShape.test(username))
    throw invalid('A username has 1 to 128 of letters, digits, ., _, @, + and -', { field });
  if (idShape.test(username)) throw invalid('A username does not look like the id of an account', { field });
  return username;
}

/** @throws {ServiceError} `VALIDATION_FAILED` */
export function requireAdminEmail(email: string | null, field: string): string | null {
  if (email !== null && (email.length > EMAIL_CHARACTERS_MAX || !/^[^\s@]+@[^\s@]+$/.test(email)))
    throw invalid('The email address is not one', { field });
  return email;
}

/** The flags that the field `access_flags` gives; undefined without that field. */
export function givenFlags(fields: BodyFields): Partial<AccessFlags> | undefined {
  const flags = fields.optionalFields('access_flags');
  if (flags === undefined) return undefined;
  const given: Partial<Record<keyof AccessFlags, boolean>> = {};
  for (const name of accessFlagNames) {
    const value = flags.optionalBoolean(name);
    if (value !== undefined) given[name] = value;
  }
  return given;
}

/** The flags of a new account: those that are not given are off, except for the ordinary interfaces. */
export function newFlags(given: Partial<AccessFlags>): AccessFlags {
  return {
    console_login: true,
    cli_access: true,
    api_access: true,
    pgwire_access: false,
    can_impersonate: false,
    ...given,
  };
}
