import type { VersionedMessage } from '#runtime/actor/message-version.ts';
import type { JsonValue } from '#runtime/content/values/json-value.ts';
import type { Principal } from '#runtime/access/principal.ts';
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
