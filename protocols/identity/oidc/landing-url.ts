import { invalid, type ServiceError } from '#runtime/errors/service-error.ts';

/** Longest landing URL, in UTF-16 units: it travels inside the state of the login. */
const LANDING_CHARACTERS_MAX = 2_000;

/** What browsers read as something else than it says: white space, control characters and backslashes. */
const misread = /[\s\\\p{Cc}\p{Cf}\p{Cs}]/u;

/** Encoded slashes, backslashes and control characters, which some proxies decode before they look at a path. */
const misreadPath = /%(?:2f|5c|0[0-9a-f]|1[0-9a-f]|7f)/i;

/** An origin that no server has: what is relative to it stays on the server. */
const RELATIVE_TO = 'http://landing.invalid';

/** Where a login may send a person with tokens. */
export interface AllowedLandings {
  /** Origins of pages; `*` allows none. */
  readonly origins: readonly string[];
  /** The origin of this server, if it is known. */
  readonly ownOrigin: string | undefined;
}

/**
 * Checks where a person is sent with tokens after a login: a path of this server, or an URL of an allowed origin. Any
 * other place could be that of a stranger, who would have the tokens then.
 *
 * @returns the URL in the spelling in which it was checked, without a fragment
 * @throws {ServiceError} `VALIDATION_FAILED`
 * @see docs/interface/identities-oidc.md#where-a-login-ends
 */
export function landingUrl(text: string, allowed: AllowedLandings): string {
  if (text.length > LANDING_CHARACTERS_MAX) throw refused(`may have ${LANDING_CHARACTERS_MAX} characters`);
  if (misread.test(text)) throw refused('has white space, a control character or a backslash');
  if (text.includes('#')) throw refused('has a fragment, which is where the tokens go');
  return text.startsWith('/') ? ownPath(text) : allowedUrl(text, allowed);
}

function ownPath(text: string): string {
  const url = URL.parse(text, RELATIVE_TO) ?? undefined;
  // `//host` leads elsewhere, and so does `/.//host` once its dots are resolved.
  const isOwn =
    url !== undefined &&
    url.origin === RELATIVE_TO &&
    !text.startsWith('//') &&
    !url.pathname.startsWith('//');
  if (!isOwn || misreadPath.test(url.pathname)) throw notAllowed();
  return url.pathname + url.search;
}

function allowedUrl(text: string, { origins, ownOrigin }: AllowedLandings): string {
  const url = URL.parse(text) ?? undefined;
  if (url === undefined || (url.protocol !== 'https:' && url.protocol !== 'http:')) throw notAllowed();
  if (url.username !== '' || url.password !== '') throw notAllowed();
  if (url.origin !== ownOrigin && !origins.includes(url.origin)) throw notAllowed();
  return url.href;
}

function notAllowed(): ServiceError {
  return refused('must be a path of this server, or begin with an origin in cors_allowed_origins');
}

/** The URL is not repeated: it may be long, and the person did not write it. */
function refused(rule: string): ServiceError {
  return invalid(`The landing URL in redirect_uri ${rule}`, { field: 'redirect_uri' });
}
