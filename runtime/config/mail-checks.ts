import { OptionError } from './option.ts';

/** How a connection to a mail server is protected: TLS from the beginning, STARTTLS, or not at all. */
export type MailSecurity = 'tls' | 'starttls' | 'none';

/** All values of {@link MailSecurity}. */
export const mailSecurities: readonly MailSecurity[] = Object.freeze(['tls', 'starttls', 'none']);

/** A mail server, with the account that is used there. */
export interface SmtpAddress {
  /** Name or IP address, without brackets. */
  readonly host: string;
  readonly port: number;
  readonly security: MailSecurity;
  /** null: without an account. */
  readonly username: string | null;
  readonly password: string | null;
}

/** A mailbox: an address, with the name of its owner where there is one. */
export interface Mailbox {
  readonly name: string;
  readonly address: string;
}

/** Longest user name or password of a mail server, in UTF-16 units. */
const CREDENTIAL_CHARACTERS_MAX = 1_024;

const MAILBOX_CHARACTERS_MAX = 512;
const URL_CHARACTERS_MAX = 2_048;

const smtpExample = 'smtps://user:password@mail.example.org or smtp://mail.example.org:587';

/**
 * Reads the address of a mail server: `smtps://` is TLS from the beginning, `smtp://` is STARTTLS, `?security=none` is
 * neither. User name and password are percent-encoded. The message of an error does not contain the text, which has a
 * password.
 *
 * @throws {OptionError}
 */
export function parseSmtpUrl(text: string): SmtpAddress {
  const url = URL.parse(text);
  if (url === null || !/^smtps?:$/.test(url.protocol) || url.hostname === '')
    throw new OptionError([`must be an address like ${smtpExample}`]);
  if (!/^\/?$/.test(url.pathname) || url.hash !== '' || !/^(?:\?security=none)?$/.test(url.search))
    throw new OptionError([`must be an address like ${smtpExample}, with ?security=none at most after it`]);
  const isPlain = url.search !== '';
  if (isPlain && url.protocol === 'smtps:')
    throw new OptionError(['contradicts itself: smtps:// is TLS, and ?security=none is not']);
  const security = isPlain ? 'none' : url.protocol === 'smtps:' ? 'tls' : 'starttls';
  const [username, password] = [decoded(url.username), decoded(url.password)];
  if ((username === null) !== (password === null))
    throw new OptionError(['must have a user name and a password, or neither']);
  return {
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port === '' ? (security === 'tls' ? 465 : 587) : Number(url.port),
    security,
    username,
    password,
  };
}

/** As {@link parseSmtpUrl}, for an option. @throws {OptionError} */
export function checkSmtpUrl(text: string): string {
  parseSmtpUrl(text);
  return text;
}

function decoded(part: string): string | null {
  if (part === '') return null;
  let text: string;
  try {
    text = decodeURIComponent(part);
  } catch {
    throw new OptionError(['has a user name or password with broken percent-encoding']);
  }
  if (text.length > CREDENTIAL_CHARACTERS_MAX || hasControl(text))
    throw new OptionError(['has a user name or password that is too long or has control characters']);
  return text;
}

/** A control character could end a header or a command; a lone surrogate has no bytes. */
function hasControl(text: string): boolean {
  return /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}]/u.test(text);
}

/** Parts around one at-sign, in the characters that every mail server takes (RFC 5321 section 4.1.2), unquoted. */
const addressShape =
  /^[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*@[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?$/;

/**
 * Reads a mailbox that mail is sent from: `name@example.org`, or `Some name <name@example.org>`.
 *
 * @throws {OptionError}
 */
export function parseMailbox(text: string): Mailbox {
  const parts = /^(?:"?([^<>"\\]*?)"?\s*<([^<>\s]+)>|([^<>\s]+))$/u.exec(text.trim());
  const address = parts?.[2] ?? parts?.[3] ?? '';
  if (text.length > MAILBOX_CHARACTERS_MAX || hasControl(text) || !addressShape.test(address))
    throw new OptionError(['must be an address like login@example.org, or Some name <login@example.org>']);
  return { name: (parts?.[1] ?? '').trim(), address };
}

/** As {@link parseMailbox}, for an option. @throws {OptionError} */
export function checkMailbox(text: string): string {
  parseMailbox(text);
  return text.trim();
}

/**
 * An address that others lie under: scheme, host, port and perhaps a path, without user, query and fragment.
 *
 * @returns as the parser of URLs writes it, without a slash at the end
 * @throws {OptionError} the text is not repeated: an address with a password would appear in the log
 */
export function checkBaseAddress(text: string): string {
  const url = text.length <= URL_CHARACTERS_MAX ? URL.parse(text) : null;
  const isPlain =
    url !== null &&
    (url.protocol === 'https:' || url.protocol === 'http:') &&
    url.username === '' &&
    url.password === '' &&
    url.search === '' &&
    url.hash === '' &&
    !/[\\?#]|%(?:2e|2f|5c)/i.test(text);
  if (!isPlain)
    throw new OptionError(['must be an address like https://www.example.org/app, without user, query and #']);
  return (url.origin + url.pathname).replace(/\/+$/, '');
}

/** A port of mail servers. @throws {OptionError} */
export function checkPort(text: string): string {
  if (/^[1-9]\d{0,4}$/.test(text) && Number(text) <= 65_535) return text;
  throw new OptionError(['must be ports from 1 to 65535']);
}
