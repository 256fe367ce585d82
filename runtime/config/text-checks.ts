import { OptionError } from './option.ts';

/** Minimum length of the first administrator's password. */
const adminPasswordCharactersMin = 12;

/** Bytes of the master key: one AES-256 key. */
const masterKeyBytes = 32;

/**
 * An origin: scheme, host and port of an http or https address, without anything after it.
 *
 * @returns the canonical form, without a trailing slash
 * @throws {OptionError} when it is anything else
 */
export function checkOrigin(text: string): string {
  const url = URL.parse(text) ?? undefined;
  const isBare =
    url !== undefined &&
    (url.protocol === 'http:' || url.protocol === 'https:') &&
    url.pathname === '/' &&
    url.search === '' &&
    url.hash === '' &&
    url.username === '' &&
    url.password === '';
  if (!isBare) {
    // The text is not repeated: an address with a password would appear in the log.
    throw new OptionError(['must be an origin like https://content.example.org, without path or user']);
  }
  return url.origin;
}

/** As {@link checkOrigin}; `*` stands for every origin. @throws {OptionError} */
export function checkOriginOrAny(text: string): string {
  return text === '*' ? text : checkOrigin(text);
}

/**
 * The first administrator's password: at least 12 characters, with lower case, upper case, digits and others.
 * The message does not repeat the password.
 *
 * @throws {OptionError} naming the unmet rules
 */
export function checkAdminPassword(text: string): string {
  const unmet: string[] = [];
  if ([...text].length < adminPasswordCharactersMin) {
    unmet.push(`at least ${adminPasswordCharactersMin} characters`);
  }
  if (!/\p{Ll}/u.test(text)) unmet.push('a lower-case letter');
  if (!/\p{Lu}/u.test(text)) unmet.push('an upper-case letter');
  if (!/\p{Nd}/u.test(text)) unmet.push('a digit');
  if (!/[^\p{L}\p{Nd}]/u.test(text)) unmet.push('a character that is neither letter nor digit');
  if (unmet.length > 0) {
    throw new OptionError([`is too weak; it also needs ${unmet.join(', ')}`]);
  }
  return text;
}

/** Minimum length of the signing key: one shorter than the hash can be found by search (RFC 7518 section 3.2). */
const jwtSecretBytesMin = 32;

/** Minimum number of different bytes of a key: 32 random bytes have about 30, typed text has fewer. */
const differentBytesMin = 8;

function hasFewBytes(bytes: Uint8Array): boolean {
  return new Set(bytes).size < differentBytesMin;
}

/**
 * The key that signs access tokens. The owner of a token can guess keys offline, so the key must be long and not a
 * repeated character. The message does not contain it.
 *
 * @throws {OptionError}
 */
export function checkJwtSecret(text: string): string {
  const bytes = Buffer.from(text);
  if (bytes.length >= jwtSecretBytesMin && !hasFewBytes(bytes)) return text;
  throw new OptionError([
    `is too weak: it needs ${jwtSecretBytesMin} bytes or more, ${differentBytesMin} of them different, and can be guessed from a token else; make one with: openssl rand -base64 48`,
  ]);
}

/** The master key as text: 64 hex digits or base64 of 32 bytes, without a pattern. @throws {OptionError} */
export function checkMasterKey(text: string): string {
  if (!hasFewBytes(decodeMasterKey(text))) return text;
  throw new OptionError([
    `is too weak: fewer than ${differentBytesMin} of its bytes are different; make one with: openssl rand -hex 32`,
  ]);
}

/**
 * Decodes the 32 bytes of a master key. Standard and URL-safe base64 are accepted, padded or not.
 *
 * @throws {OptionError} when it is neither; the message does not contain the key
 */
export function decodeMasterKey(text: string): Uint8Array {
  if (/^[0-9a-fA-F]{64}$/.test(text)) return new Uint8Array(Buffer.from(text, 'hex'));
  if (/^[A-Za-z0-9+/_-]{43}=?$/.test(text)) {
    const bytes = new Uint8Array(Buffer.from(text, 'base64'));
    if (bytes.length === masterKeyBytes) return bytes;
  }
  throw new OptionError([
    `must be ${masterKeyBytes} bytes, written as 64 hex digits or as base64; make one with: openssl rand -hex 32`,
  ]);
}

/** Minimum length of the operator token. */
const metricsTokenCharactersMin = 16;

/** The operator token: sent in a header, and hard to guess. The message does not contain it. @throws {OptionError} */
export function checkMetricsToken(text: string): string {
  if (text.length >= metricsTokenCharactersMin && /^[\x21-\x7e]+$/.test(text)) return text;
  throw new OptionError([
    `must be at least ${metricsTokenCharactersMin} printable characters without spaces; make one with: openssl rand -hex 32`,
  ]);
}

/** A host name or address to listen on, without scheme or port. @throws {OptionError} */
export function checkHost(text: string): string {
  if (/^[0-9A-Za-z._:%-]{1,253}$/.test(text) && !/^[^:]*:\d+$/.test(text)) return text;
  throw new OptionError([
    `must be a host name or an IP address without scheme and port, not '${text.slice(0, 80)}'`,
  ]);
}

/** Longest name of a member, in characters. */
const memberIdCharactersMax = 200;

/**
 * The address of a NATS server. The message does not contain it, because it may hold a password. @throws {OptionError}
 */
export function checkNatsUrl(text: string): string {
  const url = URL.parse(text) ?? undefined;
  if (url !== undefined && /^(?:nats|tls):$/.test(url.protocol) && url.hostname !== '') return text;
  throw new OptionError(['must be addresses like nats://host:4222 or tls://host:4222']);
}

/** An HTTP or HTTPS URL. @throws {OptionError} */
export function checkHttpUrl(text: string): string {
  const url = URL.parse(text) ?? undefined;
  if (url !== undefined && /^https?:$/.test(url.protocol)) return text.replace(/\/+$/, '');
  throw new OptionError(['must be an address like http://host:8222']);
}

/** The name of a member. @throws {OptionError} */
export function checkMemberId(text: string): string {
  if (text.length <= memberIdCharactersMax && /^[\x21-\x7e]+$/.test(text)) return text;
  throw new OptionError([`must be 1 to ${memberIdCharactersMax} printable ASCII characters without spaces`]);
}

/** The prefix of names in NATS. @throws {OptionError} */
export function checkClusterName(text: string): string {
  if (/^[a-z][a-z0-9-]{0,31}$/.test(text)) return text;
  throw new OptionError(["must be 1 to 32 lower-case letters, digits and '-', beginning with a letter"]);
}

/**
 * A host that requests may go to: a name or an IP address.
 *
 * @returns as the parser of URLs writes it, without brackets and without a dot at the end
 * @throws {OptionError}
 */
export function checkAllowedHost(text: string): string {
  const bare = text.replace(/^\[(.*)\]$/, '$1');
  // A name with a port is not an IPv6 address, so it is refused.
  const authority = bare.includes(':') ? `[${bare}]` : bare;
  const url = /^[^/\\?#@*\s]+$/.test(bare) ? URL.parse(`https://${authority}`) : null;
  if (url !== null) return url.hostname.replace(/^\[|\]$|\.$/g, '');
  throw new OptionError([
    `must be host names or IP addresses without scheme, port and path, not '${text.slice(0, 80)}'`,
  ]);
}
