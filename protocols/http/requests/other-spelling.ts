/** Maximum number of cached spellings; names are constants of our code, so there are few. */
const SPELLINGS_MAX = 1_024;

const otherSpellings = new Map<string, string>();

/**
 * The other spelling a name may have in bodies and query strings: `upstreamBranch` for `upstream_branch` and vice
 * versa. A name of one word has no other spelling and is returned unchanged.
 *
 * @see docs/interface/conventions.md#requests
 */
export function otherSpelling(name: string): string {
  const known = otherSpellings.get(name);
  if (known !== undefined) return known;
  const other = respelt(name);
  if (otherSpellings.size < SPELLINGS_MAX) otherSpellings.set(name, other);
  return other;
}

function respelt(name: string): string {
  if (name.includes('_')) return name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
  return name.replace(/[A-Z]/g, (capital) => `_${capital.toLowerCase()}`);
}
