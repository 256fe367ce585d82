import type { CommitInfo } from '#actors/branch/commit-messages.ts';
import type { HeldLock } from '#actors/locks/messages.ts';
import type { ActorId, Delivery } from '#runtime/actor/ports.ts';
import type { Clock } from '#runtime/base/time/clock.ts';
import type { BranchStatementInput, BulkStatement, EnqueuedStatement } from '#protocols/sql/session-ports.ts';
import type { RunSql } from '#actors/branch/sql-messages.ts';
import type { ServiceError } from '#runtime/errors/service-error.ts';
import type { JsonValue } from '#runtime/content/values/json-value.ts';
import type { AuthAnswers } from '#runtime/sql-plan/auth-answers.ts';
import type { SettingsChange } from '#protocols/sql/settings-change.ts';
import type { RestRequest } from '../rest-route.ts';
import type { FoundBranch, FoundRepository } from '../access/found-branch.ts';
import type { BranchProvisioning } from '../ports.ts';
import type { BranchLookup } from '../versioning/branch-lookup.ts';

/** What a statement about branches is run with. */
export interface BranchStatementContext extends BranchLookup, BranchStatementInput {
  readonly branches: BranchProvisioning;
  readonly clock: Clock;
  readonly repository: FoundRepository;
  /** The caller, with the idempotency key of this statement. */
  readonly delivery: Delivery;
  /** The lock that the caller must hold on a branch that is written. */
  readonly lock?: HeldLock;
}

/** The functions about how people authenticate, for the callers of requests. */
export interface AuthFunctions {
  /** The answers of the functions that statements call. @see authAnswers */
  answers(request: RestRequest, query: Pick<RunSql, 'parameters' | 'sql'>): Promise<AuthAnswers>;
  /** @see changeSettings */
  change(request: RestRequest, change: SettingsChange): Promise<JsonValue>;
}

/** Puts statements that are done in the background into the queue of their repository. */
export interface BulkStatements {
  /**
   * Resolves when the job is durable. The statement was bound before, for its caller. A repetition with the same idempotency
   * key gives the same job.
   *
   * @throws {ServiceError} `OVERLOADED` when too many jobs wait, `PAYLOAD_TOO_LARGE` for a statement that is too long;
   *   `UNAUTHORIZED`, `FORBIDDEN`
   */
  enqueue(statement: SubmittedStatement, delivery: Delivery): Promise<EnqueuedStatement>;
  /**
   * Refuses a statement that was found to be wrong.
   *
   * @param repository actor of the repository
   * @returns the first job, of a repetition with the same idempotency key
   * @throws {ServiceError} the refusal, or the outcome of the first request
   */
  refuse(repository: ActorId, refusal: ServiceError, delivery: Delivery): Promise<EnqueuedStatement>;
}

/** A statement that is done in the background, and where. */
export interface SubmittedStatement extends BulkStatement {
  readonly repository: FoundRepository;
  readonly branch: FoundBranch;
  /** Message and author of the revisions. */
  readonly commit?: CommitInfo;
}
