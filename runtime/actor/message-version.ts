/**
 * Lowest version of the calls between members (`CALL_VERSION` of the cluster) in which messages may have
 * preconditions, and operations of a commit may have a `version`.
 */
export const PRECONDITIONS_SINCE = 3;

/** As {@link PRECONDITIONS_SINCE}, for reads of parts of nodes. */
export const PARTS_SINCE = 3;

/** As {@link PRECONDITIONS_SINCE}, for lists of incoming references; some builds of version 3 do not have them. */
export const INCOMING_SINCE = 4;

/** As {@link PRECONDITIONS_SINCE}, for differences with the changes of each entry. */
export const DIFF_DETAILS_SINCE = 4;

/** As {@link PRECONDITIONS_SINCE}, for restoring shipped types; some builds of version 3 do not. */
export const RESTORED_TYPES_SINCE = 4;

/** As {@link PRECONDITIONS_SINCE}, for statements of SQL. */
export const SQL_SINCE = 6;

/** As {@link PRECONDITIONS_SINCE}, for statements of SQL that write, and for jobs that callers submit. */
export const SQL_CHANGES_SINCE = 7;

/**
 * A message that members of an older version would misinterpret, because they ignore some of its fields. They refuse
 * it instead, without any effect.
 */
export interface VersionedMessage {
  /** Lowest version of the calls between members that can carry the message; absent: any. */
  readonly since?: number;
}
