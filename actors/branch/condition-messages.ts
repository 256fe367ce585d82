/**
 * Entity tags without quotes; `*` matches any node or value that exists.
 *
 * @see RFC 9110 sections 8.8.3, 13.1
 */
export type EntityTags = '*' | readonly string[];

/**
 * Preconditions on the node a command is addressed to. The branch checks them in the turn that executes the command,
 * after the caller's permissions and before everything else. No other write can come between.
 *
 * If one does not hold, nothing is written: `PRECONDITION_FAILED` with `details: {version, etag}` of the current node.
 *
 * @see docs/interface/conditions.md
 */
export interface Expected {
  /** The node has one of these tags. Weak tags are not listed: they never match here. */
  readonly match?: EntityTags;
  /** The node has none of these tags, weak or strong. */
  readonly noneMatch?: EntityTags;
  /** The `version` of the node. */
  readonly version?: number;
}

/** The answer in place of a node or a value whose current tag the caller has: it is unchanged. */
export interface Unchanged {
  /** The tag, without quotes. */
  readonly unchanged: string;
}

/** Whether a condition lists a tag. @param tags undefined: there is no condition */
export function namesTag(tags: EntityTags | undefined, tag: string): boolean {
  return tags !== undefined && (tags === '*' || tags.includes(tag));
}
