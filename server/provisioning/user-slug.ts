import { NAME_BYTES_MAX } from '#runtime/content/path.ts';

/** Room for what is added to a name that is taken: a dash and a UUID. */
const SUFFIX_CHARACTERS = 37;

/** Names that end in a number before the one that nobody else can have. */
const NUMBERED_MAX = 9;

/**
 * The name of the node of a person: the address in lower case, with `-at-` for the at-sign and hyphens for dots; other
 * characters than letters, digits and hyphens of ASCII are left out, as in every name of a node.
 *
 * @see docs/interface/identities.md#the-node-of-a-person
 */
export function userSlug(email: string): string {
  return email
    .toLowerCase()
    .replaceAll('@', '-at-')
    .replaceAll('.', '-')
    .replace(/[^a-z0-9-]/g, '')
    .replace(/-+/g, '-')
    .slice(0, NAME_BYTES_MAX - SUFFIX_CHARACTERS)
    .replace(/^-|-$/g, '');
}

/** Names for the node of a person in the order in which they are tried: several addresses have the same name. */
export function* userSlugs(slug: string, identityId: string): Generator<string, void> {
  yield slug;
  for (let number = 2; number <= NUMBERED_MAX; number += 1) yield `${slug}-${number}`;
  yield `${slug}-${identityId}`;
}
