/**
 * Entity tags, without quotes: any of these, or with `*` whatever there is.
 *
 * @see RFC 9110 sections 8.8.3, 13.1
 */
export type EntityTags = '*' | readonly string[];

/**
 * What has to hold of the node a command is addressed to. The branch judges it in the turn in which it carries the
 * command out, behind the caller's rights and before everything else, so nothing comes between.
 *
 * Otherwise nothing is done: `PRECONDITION_FAILED` with `details: {version, etag}` of the node as it is.
 *
 * @see docs/interface/conditions.md
 */
export interface Expected {
  /** It has one of these tags. Weak ones are not listed: they never match here. */
  readonly match?: EntityTags;
  /** It has none of these tags, weak or strong. */
  readonly noneMatch?: EntityTags;
  /** Its `version` is this one. */
  readonly version?: number;
}

/** An answer instead of a node or a value whose tag the caller has: it is what it was. */
export interface Unchanged {
  /** Its tag, without quotes. */
  readonly unchanged: string;
}

/** Whether tags of a condition name a tag. @param tags undefined: there is no condition */
export function namesTag(tags: EntityTags | undefined, tag: string): boolean {
  return tags !== undefined && (tags === '*' || tags.includes(tag));
}
