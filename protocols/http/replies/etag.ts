/** An entity tag of a header. @see RFC 9110 section 8.8.3 */
export interface EntityTag {
  /** The text between the quotes. */
  readonly opaque: string;
  readonly isWeak: boolean;
}

/** One tag of a list, with its leading separators. A tag holds no quotes, but may hold commas. */
const listed = /^[ \t,]*(W\/)?"([\x21\x23-\x7e\x80-\xff]*)"[ \t]*(?=,|$)/;

/** Separators allowed after the last tag of a list. */
const restOfList = /^[ \t,]*$/;

/**
 * Reads the value of `If-Match` or `If-None-Match`: `*`, or a list of entity tags.
 *
 * @returns undefined when it is neither
 * @see RFC 9110 sections 5.6.1, 13.1.1, 13.1.2
 */
export function parseEntityTags(header: string): '*' | readonly EntityTag[] | undefined {
  if (header.trim() === '*') return '*';
  const tags: EntityTag[] = [];
  let rest = header;
  for (let found = listed.exec(rest); found !== null; found = listed.exec(rest)) {
    tags.push({ opaque: found[2] as string, isWeak: found[1] !== undefined });
    rest = rest.slice(found[0].length);
  }
  return tags.length > 0 && restOfList.test(rest) ? tags : undefined;
}

/** Content codings of responses, as their tags name them. */
const codings = ['br', 'gzip'] as const;

/**
 * The tag of a compressed form of a response. That form is another representation with other bytes, so it has its own
 * tag. The tag is strong, because equal responses compress to equal bytes. (A weak tag would never match in
 * `If-Match`, and most clients receive compressed responses.) A weak tag is returned unchanged.
 *
 * @param etag with its quotes
 * @see RFC 9110 section 8.8.3.3; docs/decisions/0045-entity-tags-and-preconditions.md
 */
export function codedEtag(etag: string, coding: (typeof codings)[number]): string {
  return etag.startsWith('W/') ? etag : `${etag.slice(0, -1)}.${coding}"`;
}

/** The text of a tag without the coding that {@link codedEtag} adds; both sides without quotes. */
export function uncodedTag(opaque: string): string {
  const coding = codings.find((each) => opaque.endsWith(`.${each}`));
  return coding === undefined ? opaque : opaque.slice(0, -coding.length - 1);
}
