/** Longest address that a person lands at, in UTF-16 units. */
export const LANDING_CHARACTERS_MAX = 2_048;

/**
 * What no part of an address may have: a backslash, which browsers read as a slash; spaces and control characters, which
 * parsers drop; a fragment, where the tokens go.
 */
const refusedCharacters = /[\\#\s\p{Cc}\p{Cf}\p{Cs}]/u;

/** Dots and slashes of a path that are encoded: servers differ on whether they separate. */
const encodedSeparators = /%(?:2e|2f|5c|00)/i;

/**
 * Decides whether a person may land at an address after a login. The tokens of the person travel with the redirect, so
 * an address of somebody else would get them.
 *
 * @param text an address as a client gave it
 * @param bases addresses as `checkBaseAddress` writes them: one of them must have the same origin, and a path that the
 *   address has or lies under, by whole segments
 * @returns the address as the parser of URLs writes it; undefined when it is not allowed
 */
export function allowedLanding(text: string, bases: readonly string[]): string | undefined {
  if (text.length > LANDING_CHARACTERS_MAX || refusedCharacters.test(text)) return undefined;
  // Relative addresses, `//host` among them, have no scheme.
  const url = /^https?:\/\/[^/]/i.test(text) ? URL.parse(text) : null;
  if (url === null) return undefined;
  if (url.username !== '' || url.password !== '') return undefined;
  // Also of the text, because the parser resolves encoded dots.
  const path = text.split('?', 1)[0] as string;
  if (encodedSeparators.test(path)) return undefined;
  return bases.some((base) => isUnder(url, new URL(base))) ? url.href : undefined;
}

function isUnder(url: URL, base: URL): boolean {
  if (url.origin !== base.origin) return false;
  const above = base.pathname.replace(/\/*$/, '/');
  return `${url.pathname}/`.startsWith(above);
}
