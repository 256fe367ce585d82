import type { VersionedMessage } from '#runtime/actor/message-version.ts';
import type { AuthAnswers } from '#runtime/sql-plan/auth-answers.ts';
import type { JsonValue } from '#runtime/content/values/json-value.ts';
import type { Principal } from '#runtime/access/principal.ts';
import type { Revision } from '#runtime/content/revision.ts';
import type { CommitInfo } from './commit-messages.ts';
import type { ReadMoment } from './read-messages.ts';

/**
 * Runs the statements of a text one after the other. The first error stops it. Answer: `JsonAnswer` of the last one,
 * `{columns, rows, row_count, execution_time_ms}`; of an EXPLAIN also `explain_plan`.
 *
 * @throws {ServiceError} `VALIDATION_FAILED`, with `details.line` and `details.column` where the place in the text is known;
 *   `BRANCH_NOT_FOUND`, `REVISION_NOT_FOUND`, `REQUEST_TOO_EXPENSIVE`
 */
export interface RunSql extends ReadMoment, VersionedMessage {
  readonly type: 'RunSql';
  readonly sql: string;
  /** Values of `$1`, `$2` and so on, in every statement. */
  readonly parameters: readonly JsonValue[];
  /** Answers of the functions about how people authenticate; absent: the statements call none. */
  readonly auth?: AuthAnswers;
}

/**
 * Lends what a query of this branch reads with, to a query of another branch of the same repository in the same process.
 * Only the engine may ask. Answer: `LentBranch`.
 */
export interface LendBranch {
  readonly type: 'LendBranch';
  /** The caller of the query that reads. */
  readonly principal: Principal;
}

/**
 * Runs statements that write to this branch as one revision, all or nothing. Each sees what those before it have written;
 * queries may stand among them. Only statements that belong to one branch: of data (no bulk UPDATE or DELETE unless
 * `isTransaction`), of the tree, of the schema, of access, and queries. Result: {@link SqlChanged}.
 *
 * @throws {ServiceError} `VALIDATION_FAILED`, with `details.line` and `details.column` where the place in the text is known;
 *   the errors of the commands of REST for the same changes; `COMMIT_TOO_LARGE`, `REQUEST_TOO_EXPENSIVE`
 */
export interface ChangeBySql extends VersionedMessage {
  readonly type: 'ChangeBySql';
  readonly sql: string;
  /** Values of `$1`, `$2` and so on, in every statement. */
  readonly parameters: readonly JsonValue[];
  /**
   * Whether the statements stood between BEGIN and COMMIT: then the revision has the message `SQL transaction` and the actor
   * `sql-client` unless `commit` names others, and an UPDATE or DELETE of many nodes is done within it.
   */
  readonly isTransaction: boolean;
  readonly commit?: CommitInfo;
  /** Everything is undone afterwards: of a transaction that was not committed. */
  readonly dryRun?: boolean;
}

/** What statements have written. */
export interface SqlChanged {
  /** Null when nothing changed, or for a dry run. */
  readonly revision: string | null;
  /** Column names of the answer of the last statement. */
  readonly columns: readonly string[];
  /** Its rows: a JSON array of objects, as text. */
  readonly rows: string;
  readonly rowCount: number;
}

/**
 * Writes some of the nodes of an UPDATE or DELETE that is done in bulk, as one revision: those of `ids` that still fulfil the
 * condition and that the caller may change. Sent by the job of the statement. How far the job has come is kept with the same
 * commit, so each part is done once, whatever crashes and however often it is sent. Result: {@link BulkProgress}.
 *
 * @throws {ServiceError} the errors of the statement; then nothing of the part is done
 */
export interface ChangeSomeBySql extends VersionedMessage {
  readonly type: 'ChangeSomeBySql';
  /** One statement. */
  readonly sql: string;
  readonly parameters: readonly JsonValue[];
  readonly ids: readonly string[];
  readonly commit?: CommitInfo;
  /** Id of the job. */
  readonly job: string;
  /**
   * Number of the part, from 1. Only the one behind the parts that are done is done; for others the result tells how far the
   * job is.
   */
  readonly part: number;
  /** Number of nodes that the whole statement matched, as the first part tells it. */
  readonly total: number;
  /** The time that is NOW(), in milliseconds since 1970: when the statement was submitted. Default: that of the message. */
  readonly nowMs?: number;
}

/** How far a bulk statement has come. */
export interface BulkProgress {
  /** Number of parts that are done. */
  readonly parts: number;
  /** Number of nodes that the statement matched when it was submitted. */
  readonly total: number;
  /** Number of them that the parts contained. */
  readonly done: number;
  /** The last id of the last part; all ids up to it are done. */
  readonly after: string;
  /** Nodes that were changed; of a deletion, those that matched and were removed. */
  readonly changed: number;
  /** Nodes that matched but that the caller may not change. */
  readonly skipped: number;
}

/** How far the job of a bulk statement has come. For the engine only. Answer: {@link BulkProgress}, null before the first part. */
export interface ReadBulkProgress extends VersionedMessage {
  readonly type: 'ReadBulkProgress';
  readonly job: string;
}

/** Forgets how far the job of a bulk statement has come, because it has ended. For the engine only. Result: undefined. */
export interface ForgetBulkProgress extends VersionedMessage {
  readonly type: 'ForgetBulkProgress';
  readonly job: string;
}

/**
 * The ids of the nodes that a bulk UPDATE or DELETE matches, in the order of their code units. Answer: {@link MatchedNodes}.
 */
export interface MatchBySql extends ReadMoment, VersionedMessage {
  readonly type: 'MatchBySql';
  /** One statement. */
  readonly sql: string;
  readonly parameters: readonly JsonValue[];
  /** Only ids behind it. */
  readonly after?: string;
  /** With 0 the statement is only checked. */
  readonly limit: number;
  /** The time that is NOW(), in milliseconds since 1970: when the statement was submitted. Default: that of the message. */
  readonly nowMs?: number;
}

/** Answer of {@link MatchBySql}. */
export interface MatchedNodes {
  readonly ids: readonly string[];
  /** The revision that was read. */
  readonly revision: Revision;
}
