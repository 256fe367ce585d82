import { ServiceError } from '#runtime/errors/service-error.ts';

/** Longest address, in UTF-16 units: the limit of a path in SMTP (RFC 5321 section 4.5.3.1.3) without its brackets. */
export const EMAIL_CHARACTERS_MAX = 254;

/**
 * Two parts around one at-sign, without spaces, control characters, lone surrogates and what quotes or lists addresses.
 * Characters that are not assigned yet may get another case in a later version of Unicode, and an account another key.
 */
const shape = /^[^\s@\p{Cc}\p{Cf}\p{Cn}\p{Cs}<>()[\]\\,;:"]+@[^\s@\p{Cc}\p{Cf}\p{Cn}\p{Cs}<>()[\]\\,;:"]+$/u;

/** An e-mail address as it is stored, and the key under which it is unique. */
export interface EmailAddress {
  /** As it was given, without spaces around it. Mail goes to this address only. */
  readonly address: string;
  /** Two addresses with the same key belong to one account. */
  readonly key: string;
}

/**
 * Reads an e-mail address. Addresses are compared without regard to case, in Unicode normalization form C: mail servers
 * in practice do the same, and a second account for another spelling would let a stranger take the place of a person.
 *
 * @throws {ServiceError} `INVALID_EMAIL`
 * @see docs/decisions/0068-identities.md
 */
export function parseEmail(text: string): EmailAddress {
  const address = text.length > 2 * EMAIL_CHARACTERS_MAX ? '' : text.trim();
  if (address.length > EMAIL_CHARACTERS_MAX || !shape.test(address)) {
    throw new ServiceError('INVALID_EMAIL', 'The email address is not valid', { field: 'email' });
  }
  return { address, key: address.normalize('NFC').toLowerCase().normalize('NFC') };
}

/** The key of an address, or undefined for a text that is no address, so that no account can have it. */
export function emailKeyOf(text: string): string | undefined {
  try {
    return parseEmail(text).key;
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'INVALID_EMAIL') return undefined;
    throw error;
  }
}

/**
 * The spellings in which user nodes may have an address, for look-ups: as it is given, then in lower case. Nobody else has
 * the second one, because addresses of accounts are unique without regard to case.
 */
export function spellingsOf(text: string): ReadonlySet<string> {
  return new Set([text, emailKeyOf(text) ?? text]);
}

/** The part before the at-sign. */
export function localPartOf(address: string): string {
  return address.slice(0, address.lastIndexOf('@'));
}

/** The part after the at-sign, in lower case. */
export function domainOf(address: string): string {
  return address.slice(address.lastIndexOf('@') + 1).toLowerCase();
}
