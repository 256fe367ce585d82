/**
 * Version of the calls between members, see `CALL_VERSION` of the cluster, from which on messages may have
 * preconditions and operations of a commit a `version`.
 */
export const PRECONDITIONS_SINCE = 3;

/** As {@link PRECONDITIONS_SINCE}, for reads of parts of nodes. */
export const PARTS_SINCE = 3;

/** As {@link PRECONDITIONS_SINCE}, for lists of incoming references; some builds of version 3 do not have them. */
export const INCOMING_SINCE = 4;

/** As {@link PRECONDITIONS_SINCE}, for differences with the changes of each entry. */
export const DIFF_DETAILS_SINCE = 4;

/**
 * A message to an actor that members of an older version would take for another one: they would pass over some of its
 * fields. They refuse it instead, and nothing is done.
 */
export interface VersionedMessage {
  /** The version of the calls between members that it takes; absent: any. */
  readonly since?: number;
}
