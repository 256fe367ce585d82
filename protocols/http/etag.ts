/** An entity tag of a header. @see RFC 9110 section 8.8.3 */
export interface EntityTag {
  /** What stands between the quotes. */
  readonly opaque: string;
  readonly isWeak: boolean;
}

/** One tag of a list, with what may stand before it. A tag holds no quotes, but may hold commas. */
const listed = /^[ \t,]*(W\/)?"([\x21\x23-\x7e\x80-\xff]*)"[ \t]*(?=,|$)/;

/** What may stand behind the last tag of a list. */
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

/** Content codings that an answer may be sent in, as its tag names them. */
const codings = ['br', 'gzip'] as const;

/**
 * The tag of a coded form of an answer. It is another representation, with other bytes, so it has a tag of its own;
 * a strong one, because equal answers are coded to equal bytes. (A weak one would never match in `If-Match`, and most
 * clients are sent compressed answers.) What is weak stays as it is.
 *
 * @param etag with its quotes
 * @see RFC 9110 section 8.8.3.3; docs/decisions/0045-entity-tags-and-preconditions.md
 */
export function codedEtag(etag: string, coding: (typeof codings)[number]): string {
  return etag.startsWith('W/') ? etag : `${etag.slice(0, -1)}.${coding}"`;
}

/** The text of a tag without the coding {@link codedEtag} adds, and without quotes on both sides. */
export function uncodedTag(opaque: string): string {
  const coding = codings.find((each) => opaque.endsWith(`.${each}`));
  return coding === undefined ? opaque : opaque.slice(0, -coding.length - 1);
}
