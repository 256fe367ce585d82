import type {
  ChangeBySql,
  MatchBySql,
  MatchedNodes,
  RunSql,
  SqlChanged,
} from '#actors/branch/sql-messages.ts';
import type { JsonValue } from '#runtime/content/values/json-value.ts';
import type { Revision } from '#runtime/content/revision.ts';
import type { BranchStatement, UseBranchStatement } from '#runtime/sql-syntax/nodes/branch-nodes.ts';
import type { Soon } from '#runtime/base/event-loop/soon.ts';
import type { AccessDecision } from './access-decisions.ts';
import type { SettingsChange } from './settings-change.ts';
import type { SessionRows } from './session-rows.ts';

/** A statement about the branches of the repository. Which branch the session uses is the session's own business. */
export type ManagedBranchStatement = Exclude<BranchStatement, UseBranchStatement>;

/** What a statement about branches is run with, besides what the protocol knows. */
export interface BranchStatementInput {
  /** The branch that the session uses at present. */
  readonly currentBranch: string;
  /** Values of `$1`, `$2` and so on. */
  readonly parameters: readonly JsonValue[];
  /** The text that the places of the statement refer to, for messages. */
  readonly source: string;
}

/** One statement as text. */
export interface StatementText {
  readonly sql: string;
  /** Values of `$1`, `$2` and so on. */
  readonly parameters: readonly JsonValue[];
}

/** A statement that is done in the background. */
export interface BulkStatement extends StatementText {
  readonly kind: 'update' | 'delete' | 'restore-tree';
  /** As it was written; null where the statement names none. */
  readonly workspace: string | null;
  /** Of UPDATE and DELETE: the revision that {@link MatchBySql} has read. The nodes that match at it are changed. */
  readonly at?: Revision;
  /** Of RESTORE TREE: what its answer tells. */
  readonly restored?: RestoredRoot;
}

/** A statement in the queue. */
export interface EnqueuedStatement {
  readonly jobId: string;
  /** Of RESTORE TREE: what was found when it was first submitted; absent where that is not known any more. */
  readonly restored?: RestoredRoot;
}

/** The root of a tree that is restored, and the revision whose state it gets. */
export interface RestoredRoot {
  readonly path: string;
  readonly revision: string;
}

/**
 * What a session is run over: implemented by each protocol, which knows the caller, the repository and how messages of its
 * requests are sent. Branches are named as the caller names them.
 *
 * `step` is the number of a statement in its text, from 0: a protocol whose requests have idempotency keys gives each step a
 * key of its own, so that a repetition goes on where the first request ended.
 */
export interface SqlSurface<Answer> {
  /** @throws {ServiceError} `REQUEST_CANCELLED`, `DEADLINE_EXCEEDED` when the caller no longer waits */
  checkWaiting(): void;
  /** Refuses a caller who can never write, before the first statement runs. @throws {ServiceError} `UNAUTHORIZED` */
  requireWriter(): void;
  /**
   * Finds a branch that is to be used.
   *
   * @throws {ServiceError} `BRANCH_NOT_FOUND`
   */
  requireBranch(branch: string): Soon<unknown>;
  /**
   * Runs reads.
   *
   * @param isShown the answer is given to the caller. Otherwise it is read to its end, because it may fail late
   */
  read(branch: string, query: RunSql, isShown: boolean): Soon<Answer>;
  /** Writes. @throws {ServiceError} `READ_ONLY_REVISION` for a tag; the errors of the command */
  change(branch: string, command: ChangeBySql, step: number): Promise<SqlChanged>;
  /**
   * Notes in the audit trail who may do what since a change. It is called again for a repetition of the change, which has the
   * same revision: each change is noted once.
   *
   * @param revision of the change, on the branch
   */
  noteDecisions(decisions: readonly AccessDecision[], branch: string, revision: string): Promise<void>;
  /**
   * Checks a statement that is done in bulk, before it is enqueued.
   *
   * @throws {ServiceError} as {@link SqlSurface.change}
   */
  match(branch: string, query: MatchBySql): Promise<MatchedNodes>;
  /**
   * Puts a statement into the queue that is done in bulk. Resolves when its job is durable.
   *
   * @throws {ServiceError} `OVERLOADED` when too many jobs wait, `PAYLOAD_TOO_LARGE` for a statement that is too long;
   *   `UNAUTHORIZED`, `FORBIDDEN`; `READ_ONLY_REVISION` for a tag
   */
  enqueue(branch: string, statement: BulkStatement, step: number): Promise<EnqueuedStatement>;
  /**
   * Refuses a statement that is done in bulk, because {@link SqlSurface.match} or the like has refused it.
   *
   * @returns the job, when the statement was enqueued before under the same idempotency key: what the first request found
   *   to be right counts
   * @throws {unknown} the refusal
   */
  refuse(refusal: unknown, step: number): Promise<EnqueuedStatement>;
  /**
   * Changes how people authenticate in the tenant.
   *
   * @returns the value of the function
   * @throws {ServiceError} `UNAUTHORIZED`, `FORBIDDEN`; the errors of the same change by other ways
   */
  changeSettings(change: SettingsChange): Promise<JsonValue>;
  /** Runs a statement about branches. */
  runOnBranches(
    statement: ManagedBranchStatement,
    given: BranchStatementInput,
    step: number,
  ): Promise<SessionRows>;
}

/** The result of a statement. */
export type StatementResult<Answer> =
  /** Of reads: of several that were sent together, that of the last. */
  | { readonly kind: 'read'; readonly answer: Answer }
  /** Of writes: the rows of the last of them. */
  | { readonly kind: 'changed'; readonly changed: SqlChanged }
  | { readonly kind: 'rows'; readonly rows: SessionRows };
