import type {
  ChangeBySql,
  MatchBySql,
  MatchedNodes,
  RunSql,
  SqlChanged,
} from '#actors/branch/sql-messages.ts';
import type { AccessDecision } from '#protocols/sql/access-decisions.ts';
import type {
  BranchStatementInput,
  BulkStatement,
  EnqueuedStatement,
  ManagedBranchStatement,
  SqlSurface,
} from '#protocols/sql/session-ports.ts';
import { callsAuthFunctions } from './auth-answers.ts';
import type { JsonValue } from '#runtime/content/values/json-value.ts';
import type { SettingsChange } from '#protocols/sql/settings-change.ts';
import type { AuthFunctions, BulkStatements } from './ports.ts';
import type { SessionRows } from '#protocols/sql/session-rows.ts';
import { runBranchStatement } from './branches/run-branch-statement.ts';
import type { Delivery } from '#runtime/actor/ports.ts';
import type { Caller, ReadConsistency } from '#runtime/commit/behaviour.ts';
import { isLasting } from '#runtime/commit/idempotency.ts';
import { requireWaiting } from '#runtime/commit/waiting-caller.ts';
import { invalid, ServiceError } from '#runtime/errors/service-error.ts';
import type { HttpReply } from '#protocols/http/route.ts';
import { recordAdminActions } from '../access/admin-actions.ts';
import { askBranch, likelyBranchNamed, replyOf, sendCommand } from '../access/branch-access.ts';
import type { FoundBranch } from '../access/found-branch.ts';
import { isHiddenFrom } from '../access/hidden-branch.ts';
import { heldLock, lockParameter } from '../lock-precondition.ts';
import type { DefinitionsContext } from '../schema/definitions.ts';
import type { BranchesContext } from '../versioning/branches.ts';
import { callerOf, deliveryOf } from '../rest-context.ts';
import type { RestRequest } from '../rest-route.ts';
import { singleHeader } from '../single-header.ts';
import { afterwards, type Soon } from '#runtime/base/event-loop/soon.ts';

/** Dependencies of the routes of SQL. */
export interface SqlContext extends BranchesContext, DefinitionsContext {
  readonly authFunctions: AuthFunctions;
  readonly bulk: BulkStatements;
}

/** Statements that may make the branch build an index have one of these words. */
const mayIndex = /\b(?:nodetype|mixin)\b/i;

/**
 * Runs the statements of one request. Each command has an idempotency key of its own, made of that of the request and its number among
 * the commands: a repetition of the request finds the outcomes of those that were done, and does the others.
 */
export class RestSqlSurface implements SqlSurface<HttpReply> {
  readonly #context: SqlContext;
  readonly #request: RestRequest;
  readonly #caller: Caller;
  /** The caller of commands, whose branch may be a guess: these have no consistency of their own. */
  readonly #writer: Caller;
  readonly #consistency: ReadConsistency | undefined;
  #delivery: Delivery | undefined;
  /** Number of each step among those that write, in their order. */
  readonly #writes = new Map<number, number>();
  #revision: string | undefined;

  /**
   * @param isWriting whether a statement of the request may write: then its reads see what it has written, which a replica may
   *   not have yet
   * @throws {ServiceError} as {@link callerOf}
   */
  constructor(context: SqlContext, request: RestRequest, isWriting: boolean) {
    this.#context = context;
    this.#request = request;
    const { consistency, ...caller } = callerOf(request);
    this.#writer = caller;
    this.#consistency = isWriting && consistency?.kind === 'local' ? undefined : consistency;
    this.#caller = this.#consistency === undefined ? caller : { ...caller, consistency: this.#consistency };
  }

  /** The newest revision that the request has written; undefined: none. */
  get revision(): string | undefined {
    return this.#revision;
  }

  checkWaiting(): void {
    requireWaiting(this.#caller, this.#context.clock.monotonicMs());
  }

  requireWriter(): void {
    if (isHiddenFrom(this.#request)) throw new ServiceError('UNAUTHORIZED');
  }

  requireBranch(branch: string): Soon<unknown> {
    // Whether there is one is not for everybody: what is read from it then tells.
    if (isHiddenFrom(this.#request)) return undefined;
    return this.#find(branch, 'read');
  }

  read(branch: string, query: RunSql, isShown: boolean): Soon<HttpReply> {
    // For a caller without access a query has no rows, whatever it is.
    if (!callsAuthFunctions(query) || isHiddenFrom(this.#request)) return this.#ask(branch, query, isShown);
    const answers = this.#context.authFunctions.answers(this.#request, query);
    return answers.then((auth) => this.#ask(branch, { ...query, auth }, isShown));
  }

  #ask(branch: string, query: RunSql, isShown: boolean): Soon<HttpReply> {
    const found = likelyBranchNamed(this.#context, this.#request, branch, 'read', this.#consistency);
    const reply = afterwards(found, (known) =>
      askBranch(this.#context, this.#request, known, query, this.#caller, replyOf),
    );
    return isShown ? reply : afterwards(reply, readToItsEnd);
  }

  async change(branch: string, command: ChangeBySql, step: number): Promise<SqlChanged> {
    const found = await likelyBranchNamed(this.#context, this.#request, branch, 'write', undefined);
    const delivery = command.dryRun === true ? { caller: this.#writer } : this.#deliveryOf(step);
    const changed = await sendCommand<SqlChanged>(this.#context, this.#request, found, command, delivery);
    this.#note(changed.revision);
    if (mayIndex.test(command.sql)) await this.#context.jobs.indexBuildListed(found.actor);
    return changed;
  }

  async noteDecisions(decisions: readonly AccessDecision[], branch: string, revision: string): Promise<void> {
    const repository = this.#request.segment('repo');
    const actions = decisions.map(({ action, details, subject }) => ({
      action,
      subject: subject === '' ? repository : subject,
      details: { repository, ...details },
    }));
    // A repetition of the request has the same revision, unless its change was made anew.
    const isRepeatable = singleHeader(this.#request, 'Idempotency-Key') !== undefined;
    const change = isRepeatable ? ['revision', repository, branch, revision] : undefined;
    await recordAdminActions(this.#context, this.#request, actions, change);
  }

  async match(branch: string, query: MatchBySql): Promise<MatchedNodes> {
    const { actor } = await this.#find(branch, 'write');
    return (await this.#context.router.query(actor, query, this.#caller)) as MatchedNodes;
  }

  async enqueue(branch: string, statement: BulkStatement, step: number): Promise<EnqueuedStatement> {
    this.#refuseLock('A statement that is done in the background');
    const found = await this.#find(branch, 'write');
    const submitted = { ...statement, repository: found.repository, branch: found };
    return await this.#context.bulk.enqueue(submitted, this.#deliveryOf(step));
  }

  async refuse(refusal: unknown, step: number): Promise<EnqueuedStatement> {
    const delivery = this.#deliveryOf(step);
    if (delivery.idempotency === undefined || !isLasting(refusal)) throw refusal;
    const { directory } = this.#context;
    const repository = await directory.repository(
      this.#request.principal.tenant,
      this.#request.segment('repo'),
    );
    return await this.#context.bulk.refuse(repository.actor, refusal, delivery);
  }

  async changeSettings(change: SettingsChange): Promise<JsonValue> {
    this.requireWriter();
    this.#refuseLock('A change of the settings of the tenant');
    return await this.#context.authFunctions.change(this.#request, change);
  }

  async runOnBranches(
    statement: ManagedBranchStatement,
    given: BranchStatementInput,
    step: number,
  ): Promise<SessionRows> {
    this.requireWriter();
    const { branches, clock, directory, router } = this.#context;
    const { principal } = this.#request;
    const repository = await directory.repository(principal.tenant, this.#request.segment('repo'));
    const lock = heldLock(this.#context, this.#request);
    const rows = await runBranchStatement(statement, {
      router,
      directory,
      branches,
      clock,
      repository,
      delivery: this.#deliveryOf(step),
      ...(lock === undefined ? {} : { lock }),
      ...given,
    });
    this.#note(rows.revision ?? null);
    return rows;
  }

  /** Refuses a lock where it would have no effect. */
  #refuseLock(what: string): void {
    if (singleHeader(this.#request, lockParameter.name) === undefined) return;
    throw invalid(`${what} cannot be guarded by a lock`, { field: lockParameter.name });
  }

  #note(revision: string | null): void {
    if (revision !== null) this.#revision = revision;
  }

  /** A branch that its owner has confirmed. */
  async #find(branch: string, use: 'read' | 'write'): Promise<FoundBranch> {
    const { directory } = this.#context;
    const { principal } = this.#request;
    const consistency = use === 'write' ? undefined : this.#consistency;
    return await directory.branch(principal.tenant, this.#request.segment('repo'), branch, use, consistency);
  }

  #deliveryOf(step: number): Delivery {
    this.#delivery ??= deliveryOf(this.#request, this.#writer);
    const { caller, idempotency } = this.#delivery;
    if (idempotency === undefined) return { caller };
    // The first write of each request with a key has the same one, so that another text is noticed, whatever stands before its writes.
    const number = this.#writes.get(step) ?? this.#writes.size;
    this.#writes.set(step, number);
    return { caller, idempotency: { ...idempotency, key: keyOfWrite(idempotency.key, number) } };
  }
}

/** A key that no client can send, because it has a character that is not printable. */
function keyOfWrite(key: string, number: number): string {
  return `\u0001${number}:${key}`;
}

/** Reads an answer that nobody sees: its last row may fail. */
async function readToItsEnd(reply: HttpReply): Promise<HttpReply> {
  for await (const _ of reply.stream ?? []);
  return reply;
}
