/**
 * Whether an `If-None-Match` (or a leniently read `If-Match`) names an entity tag. Tags are compared weakly,
 * because an answer that was compressed on the way out carries the weak form of its tag.
 *
 * @param header the header's value, `*` or a list of tags
 * @param etag the present tag with its quotes, strong or weak
 * @see RFC 9110 section 8.8.3.2
 */
export function matchesEtag(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false;
  if (header.trim() === '*') return true;
  const opaque = etag.replace(/^W\//, '');
  const tags: readonly string[] = header.match(/"[^"]*"/g) ?? [];
  return tags.includes(opaque);
}

/** The weak form of a tag, for a representation that differs from the tagged one in its coding only. */
export function weakEtag(etag: string): string {
  return etag.startsWith('W/') ? etag : `W/${etag}`;
}
