import { isIP } from 'node:net';
import { addressKind } from './address-kind.ts';
import type { EgressAllowance, HostAllowance } from './allowance.ts';
import { privateRemedy, refused } from './egress-errors.ts';

/** A host that connections may go to, as far as can be said without resolving its name. */
export interface CheckedName {
  /** Name, or IP address without brackets. */
  readonly host: string;
  /** Whether `host` is an IP address. */
  readonly isAddress: boolean;
}

/** A URL that requests may go to, as far as can be said without resolving its name. */
export interface CheckedUrl extends CheckedName {
  /** Without credentials and fragment, its name without a dot at the end. */
  readonly url: URL;
  readonly isSecure: boolean;
  readonly port: number;
}

/** Longest URL, in UTF-16 units. */
const URL_LENGTH_MAX = 8_192;

/** Longest name, in characters (RFC 1035). */
const NAME_LENGTH_MAX = 253;

/** Labels of up to 63 letters, digits, `-` and `_`. */
const hostName = /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?)*$/;

/** Last labels of names that are not in the public DNS: RFC 6761, RFC 6762, RFC 8375, and what networks use themselves. */
const localSuffixes = [
  'localhost',
  'local',
  'internal',
  'home.arpa',
  'localdomain',
  'domain',
  'lan',
  'home',
  'corp',
  'intranet',
  'private',
  'test',
  'example',
  'invalid',
  'onion',
  'alt',
];

/** Ports from 1024 on that browsers refuse too, because another protocol than HTTP is there (Fetch standard, section 2.9). */
const refusedPorts: ReadonlySet<number> = new Set([
  1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697,
  10080,
]);

/** Below it only the ports of HTTP and HTTPS are allowed. */
const FREE_PORTS_FROM = 1_024;

/**
 * Checks everything of a URL that can be checked without resolving its name. The parser of the URL standard reads it:
 * it decodes percent-encodings and international names, and IPv4 addresses written as one number or in other bases.
 *
 * @param text a URL, as a person or another server wrote it
 * @throws {ServiceError} `EGRESS_REFUSED`
 */
export function checkedUrl(text: string | URL, allowance: EgressAllowance): CheckedUrl {
  const url = parsed(String(text));
  if (url.protocol !== 'https:' && url.protocol !== 'http:')
    throw refused('scheme', 'The URL must begin with https://');
  if (url.username !== '' || url.password !== '')
    throw refused('credentials', 'The URL may not contain a user name or a password');
  url.hash = '';
  const host = hostOf(url);
  const isAddress = isIP(host) !== 0;
  const isSecure = url.protocol === 'https:';
  checkScheme(host, isSecure, allowance);
  const port = checkedPort(url, isSecure);
  checkHost(host, isAddress, allowance);
  return { url, host, isAddress, isSecure, port };
}

/**
 * As {@link checkedUrl}, for a host alone.
 *
 * @param text a name or an IP address, an IPv6 address without brackets
 * @throws {ServiceError} `EGRESS_REFUSED`
 */
export function checkedName(text: string, allowance: HostAllowance): CheckedName {
  const authority = text.includes(':') ? `[${text}]` : text;
  const url = /[/\\?#@\s]/.test(text) ? null : URL.parse(`https://${authority}`);
  if (url === null) throw refused('host', 'The host is neither a name of the DNS nor an address');
  const host = hostOf(url);
  const isAddress = isIP(host) !== 0;
  checkHost(host, isAddress, allowance);
  return { host, isAddress };
}

function parsed(text: string): URL {
  if (text.length > URL_LENGTH_MAX)
    throw refused('url', `The URL has more than ${URL_LENGTH_MAX} characters`);
  const url = URL.parse(text);
  if (url === null) throw refused('url', 'This is not a URL such as https://host/path');
  return url;
}

function hostOf(url: URL): string {
  const { hostname } = url;
  if (hostname.startsWith('[')) return hostname.slice(1, -1);
  const name = hostname.endsWith('.') ? hostname.slice(0, -1) : hostname;
  if (name.length > NAME_LENGTH_MAX || !hostName.test(name))
    throw refused('host', 'The host of the URL is neither a name of the DNS nor an address');
  url.hostname = name;
  return name;
}

function checkScheme(host: string, isSecure: boolean, allowance: EgressAllowance): void {
  if (isSecure || allowance.allowPrivateAddresses) return;
  throw refused(
    'scheme',
    `Requests to '${host}' need https, so that nobody in between can read or change them. ${privateRemedy(allowance)}`,
  );
}

function checkedPort(url: URL, isSecure: boolean): number {
  const port = url.port === '' ? (isSecure ? 443 : 80) : Number(url.port);
  const isAllowed = port >= FREE_PORTS_FROM ? !refusedPorts.has(port) : port === 443 || port === 80;
  if (isAllowed) return port;
  throw refused('port', `Requests do not go to port ${port}; use 443, 80, or one from ${FREE_PORTS_FROM} on`);
}

function checkHost(host: string, isAddress: boolean, allowance: HostAllowance): void {
  const { allowedHosts, hostsSetting } = allowance;
  if (allowedHosts.length > 0 && !allowedHosts.includes(host)) {
    const remedy = hostsSetting === undefined ? '' : `; the operator can add it to ${hostsSetting}`;
    throw refused('host', `The host '${host}' is not in the list of allowed hosts${remedy}`);
  }
  if (isAddress) {
    checkAddress(host, allowance);
  } else if (!allowance.allowPrivateAddresses && isLocalName(host)) {
    throw refused('host', `The name '${host}' is not a public one. ${privateRemedy(allowance)}`);
  }
}

function checkAddress(address: string, allowance: HostAllowance): void {
  const kind = addressKind(address);
  if (kind === 'forbidden')
    throw refused(
      'address',
      `Requests never go to ${address}: it is link-local, reserved, or a metadata service`,
    );
  if (kind === 'private' && !allowance.allowPrivateAddresses)
    throw refused('address', `The address ${address} is not public. ${privateRemedy(allowance)}`);
}

/** Names without a dot are those of a local network too. */
function isLocalName(host: string): boolean {
  return (
    !host.includes('.') || localSuffixes.some((suffix) => host === suffix || host.endsWith(`.${suffix}`))
  );
}

/** Whether a name always stands for this machine (RFC 6761, section 6.3), whatever a name server says. */
export function isLoopbackName(host: string): boolean {
  return host === 'localhost' || host.endsWith('.localhost');
}
