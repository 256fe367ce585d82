import type {
  BranchCommand,
  BranchQuery,
  BranchState,
  ReadAtHead,
  ReadBranchState,
} from '#actors/branch/messages.ts';
import type { LockPrecondition } from '#actors/locks/messages.ts';
import type { Delivery } from '#runtime/actor/ports.ts';
import { PreconditionRefuted } from '#runtime/actor/precondition.ts';
import type { Caller, ReadConsistency } from '#runtime/commit/behaviour.ts';
import type { DatedAnswer } from '#runtime/content/dated-answer.ts';
import { JsonText } from '#runtime/content/values/json-text.ts';
import { compareRevisions, parseRevision, type Revision } from '#runtime/content/revision.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { HttpReply, ParameterDocs, ReplyHeaders } from '#protocols/http/route.ts';
import { answerOfNothing, hiddenBranch, isHiddenFrom, isOfHiddenBranch } from './hidden-branch.ts';
import { withLock } from '../lock-precondition.ts';
import type { BranchUse } from './found-branch.ts';
import { consistencyOf, MIN_REVISION_HEADER } from '../reads/read-consistency.ts';
import type { BranchGuess, FoundBranch, FoundRepository } from './found-branch.ts';
import { callerOf, deliveryOf, type RestContext } from '../rest-context.ts';
import type { RestRequest } from '../rest-route.ts';
import { singleHeader } from '../single-header.ts';
import { afterwards, recovering, type Soon } from '#runtime/base/event-loop/soon.ts';

/** Header with the revision a write created, or the one a read used. */
export const REVISION_HEADER = 'X-Svc-Revision';

/** {@link MIN_REVISION_HEADER} as requests have it. */
const minRevisionKey = MIN_REVISION_HEADER.toLowerCase();

/** Maximum lag of a member's clock behind the clock that created a revision, in milliseconds. */
const CLOCK_LAG_MS_MAX = 60_000;

const slashAllowed = { allowSlash: true } as const;
const readState: ReadBranchState = Object.freeze({ type: 'ReadBranchState' });

/** The branch of an address that names none. */
const DEFAULT_BRANCH = 'main';

/** Description of the header that reads accept. */
export const minRevisionParameter: ParameterDocs = {
  name: MIN_REVISION_HEADER,
  in: 'header',
  description:
    'A revision of the branch that the answer must include: the `X-Svc-Revision` of a write or of an earlier read. A revision in the future, which cannot have been written yet, is answered 409 `CONFLICT`.',
};

/**
 * The branch of an address, `{repo}` and `{branch}` of the route, for reading: a tag may stand in for a branch. A route
 * without `{branch}` means `main`. The caller's tenant is used. A branch name may contain `%2F`.
 *
 * @throws {ServiceError} `REPOSITORY_NOT_FOUND`, `BRANCH_NOT_FOUND`, `INVALID_PATH`
 */
export function branchOf(context: RestContext, request: RestRequest): Soon<FoundBranch> {
  return lookUp(context, request, 'read');
}

/**
 * As {@link branchOf}, for reading or writing. The result may be a guess, which only {@link askBranch} and
 * {@link sendCommand} confirm, so use it with these two alone. For an anonymous caller the result is {@link hiddenBranch}
 * where there is no such branch.
 *
 * @throws {ServiceError} also `READ_ONLY_REVISION`, for writing to a tag
 */
export function likelyBranchOf(
  context: RestContext,
  request: RestRequest,
  use: BranchUse,
): Soon<FoundBranch> {
  return likelyBranchNamed(context, request, branchNameOf(request), use, consistencyOf(request));
}

/** As {@link likelyBranchOf}, of a branch of the same repository, whatever the address names. */
export function likelyBranchNamed(
  context: RestContext,
  request: RestRequest,
  name: string,
  use: BranchUse,
  consistency: ReadConsistency | undefined,
): Soon<FoundBranch> {
  const { tenant } = request.principal;
  const look = () => context.directory.likelyBranch(tenant, request.segment('repo'), name, use, consistency);
  return isHiddenFrom(request) ? recovering(look, hiddenWhereMissing) : look();
}

/** The name of the branch in an address. */
export function branchNameOf(request: RestRequest): string {
  if (!request.route.pattern.includes('{branch}')) return DEFAULT_BRANCH;
  return request.segment('branch', slashAllowed);
}

function hiddenWhereMissing(error: unknown): FoundBranch {
  if (isOfHiddenBranch(error)) return hiddenBranch;
  throw error;
}

function lookUp(context: RestContext, request: RestRequest, use: BranchUse): Soon<FoundBranch> {
  return context.directory.branch(
    request.principal.tenant,
    request.segment('repo'),
    branchNameOf(request),
    use,
    consistencyOf(request),
  );
}

/** Resolves a branch whose guess was refuted. A guess is never one of a read with a consistency of its own. */
function lookUpAgain(
  { directory }: RestContext,
  { name, repository }: FoundBranch,
  { use }: BranchGuess,
): Soon<FoundBranch> {
  return directory.branch(repository.tenant, repository.name, name, use);
}

/**
 * The repository of an address, `{repo}` of the route, in the caller's tenant.
 *
 * @throws {ServiceError} `REPOSITORY_NOT_FOUND`
 */
export function repositoryOf(context: RestContext, request: RestRequest): Soon<FoundRepository> {
  const { tenant } = request.principal;
  return context.directory.repository(tenant, request.segment('repo'), consistencyOf(request));
}

/** Converts an answer of the branch to a reply. */
export type ToReply<Answer> = (answer: Answer, headers: ReplyHeaders) => HttpReply;

/**
 * Queries a branch. The answer is of the requested revision, else at least of the head that `X-Svc-Revision` names:
 * the head is read first, by the same query where nothing has to be compared with it. Through a tag nothing later than the
 * tag is visible. A guessed branch is queried for all of it in one message. An anonymous caller without access gets the
 * answer of an empty branch.
 *
 * @param at the revision to read at; absent: the head. `X-Svc-Revision` then names the newest revision of that time
 * @throws {ServiceError} `REVISION_NOT_FOUND` if the branch or the tag has nothing at that revision; the errors of
 *   the branch; `CONFLICT`, `INVALID_REVISION_NUMBER` for `X-Svc-Min-Revision`
 */
export function askBranch<Answer>(
  context: RestContext,
  request: RestRequest,
  branch: FoundBranch,
  query: BranchQuery,
  caller: Caller,
  toReply: ToReply<Answer>,
  at?: Revision,
): Soon<HttpReply> {
  if (!isHiddenFrom(request)) return askFound(context, request, branch, query, caller, toReply, at);
  const ofNothing = (): HttpReply => toReply(answerOfNothing(query) as Answer, {});
  if (branch === hiddenBranch) return ofNothing();
  return recovering(
    () => askFound(context, request, branch, query, caller, toReply, at),
    (error) => {
      if (isOfHiddenBranch(error)) return ofNothing();
      throw error;
    },
  );
}

function askFound<Answer>(
  context: RestContext,
  request: RestRequest,
  branch: FoundBranch,
  query: BranchQuery,
  caller: Caller,
  toReply: ToReply<Answer>,
  at: Revision | undefined,
): Soon<HttpReply> {
  const { router } = context;
  const { guess, taggedAt } = branch;
  if (guess !== undefined)
    return askGuessed(context, request, branch, guess, query, caller, toReply as ToReply<unknown>, at);
  const { seen } = caller.consistency ?? {};
  const moment = at ?? taggedAt;
  if (moment !== undefined) {
    const dated = { ...query, at: moment } as BranchQuery;
    const whole: ReadAtHead = {
      ...atHead(dated),
      ...(taggedAt === undefined ? {} : { line: taggedAt }),
    };
    // A replica that lags behind would report content that it lacks as missing.
    return afterwards(router.query(branch.actor, whole, behind(caller, seen, moment)), (answer) =>
      datedReply(answer as DatedAnswer, toReply),
    );
  }
  // Without a revision to compare the head with, or a replica to ask for it, one query answers both.
  if (caller.consistency === undefined && request.headerList(minRevisionKey) === undefined) {
    return afterwards(router.query(branch.actor, atHead(query), caller), (answer) =>
      datedReply(answer as DatedAnswer, toReply),
    );
  }
  return afterwards(router.query(branch.actor, readState, behind(caller, seen)), (state) => {
    const { head } = state as BranchState;
    requireMinRevision(context, request, head);
    const headers = { [REVISION_HEADER]: head };
    return afterwards(router.query(branch.actor, query, behind(caller, seen, head)), (answer) =>
      toReply(answer as Answer, headers),
    );
  });
}

function atHead(query: BranchQuery): ReadAtHead {
  const since = 'since' in query ? query.since : undefined;
  return since === undefined ? { type: 'ReadAtHead', query } : { type: 'ReadAtHead', query, since };
}

function datedReply({ answer, head }: DatedAnswer, toReply: ToReply<never>): HttpReply {
  return toReply(answer as never, { [REVISION_HEADER]: head });
}

async function askGuessed(
  context: RestContext,
  request: RestRequest,
  branch: FoundBranch,
  guess: BranchGuess,
  query: BranchQuery,
  caller: Caller,
  toReply: ToReply<unknown>,
  at: Revision | undefined,
): Promise<HttpReply> {
  const { router } = context;
  const asking = { ...caller, precondition: guess.precondition };
  try {
    // With a minimum revision the head must be read and checked first.
    if (at !== undefined || request.header(minRevisionKey) === undefined) {
      const dated = at === undefined ? query : ({ ...query, at } as BranchQuery);
      const whole = atHead(dated);
      return datedReply((await router.query(branch.actor, whole, asking)) as DatedAnswer, toReply);
    }
  } catch (error) {
    if (!(error instanceof PreconditionRefuted)) throw error;
  }
  const known = await lookUpAgain(context, branch, guess);
  // A cursor is valid for one branch only.
  const asked = 'scope' in query ? { ...query, scope: known.actor } : query;
  return askFound(context, request, known, asked, caller, toReply, at);
}

/**
 * The head of a branch, at or after the revision the caller has seen.
 *
 * @throws {ServiceError} as {@link askBranch}
 */
export async function readHead(
  context: RestContext,
  request: RestRequest,
  branch: FoundBranch,
): Promise<string> {
  const caller = callerOf(request);
  const asked = behind(caller, caller.consistency?.seen);
  const { head } = (await context.router.query(branch.actor, readState, asked)) as BranchState;
  requireMinRevision(context, request, head);
  return head;
}

/** The caller with a minimum revision for replicas; the owner always has these revisions. */
function behind(caller: Caller, seen: Revision | undefined, shown?: Revision | string): Caller {
  if (caller.consistency?.kind !== 'local') return caller;
  const other = typeof shown === 'string' ? parseRevision(shown) : shown;
  const least =
    seen === undefined || (other !== undefined && compareRevisions(other, seen) > 0) ? other : seen;
  return least === undefined ? caller : { ...caller, minRevision: least };
}

/**
 * The owner of a branch has every acknowledged revision. So a revision above the head belongs to another branch,
 * which this read includes as far as possible, or does not exist.
 */
function requireMinRevision(context: RestContext, request: RestRequest, head: string): void {
  const asked = singleHeader(request, MIN_REVISION_HEADER);
  if (asked === undefined) return;
  const least = parseRevision(asked);
  if (compareRevisions(least, parseRevision(head)) <= 0) return;
  if (least.ms <= context.clock.wallMs() + CLOCK_LAG_MS_MAX) return;
  throw new ServiceError('CONFLICT', `Revision '${asked}' lies in the future; the branch is at '${head}'`, {
    details: { head },
  });
}

/** The reply for a query's answer: ready text and streams unchanged, anything else as JSON. */
export function replyOf(answer: unknown, headers: ReplyHeaders): HttpReply {
  if (answer instanceof JsonText) return { status: 200, headers, raw: answer.body };
  if (typeof answer === 'object' && answer !== null && 'chunks' in answer) {
    const stream = answer.chunks as AsyncIterable<string | Uint8Array>;
    return { status: 200, headers, stream, contentType: 'application/json' };
  }
  return { status: 200, headers, json: answer };
}

/**
 * Sends a command to a branch, under the lock of the request; resolves when it is durable.
 *
 * @param delivery default: that of the request
 * @throws {ServiceError} the errors of the branch; `LOCK_NOT_HELD`, `LOCKS_DISABLED`, `VALIDATION_FAILED` for the
 *   lock
 */
export async function sendCommand<Result>(
  context: RestContext,
  request: RestRequest,
  branch: FoundBranch,
  command: BranchCommand & LockPrecondition,
  delivery: Delivery = deliveryOf(request),
): Promise<Result> {
  const guarded = withLock(context, request, command);
  const { actor, guess } = branch;
  const sent = context.router.command(
    actor,
    guarded,
    guess === undefined ? delivery : onPrecondition(delivery, guess),
  );
  if (guess === undefined) return (await sent) as Result;
  try {
    return (await sent) as Result;
  } catch (error) {
    if (!(error instanceof PreconditionRefuted)) throw error;
    const known = await lookUpAgain(context, branch, guess);
    return (await context.router.command(known.actor, guarded, delivery)) as Result;
  }
}

/** Adds the precondition of a guess to a command: the command runs only if the guess is correct. */
export function onPrecondition(delivery: Delivery, { precondition }: BranchGuess): Delivery {
  return { ...delivery, caller: { ...delivery.caller, precondition } };
}

/** Headers of a write: the revision it created, none if it changed nothing. */
export function revisionHeaders({ revision }: { readonly revision: string | null }): ReplyHeaders {
  return revision === null ? {} : { [REVISION_HEADER]: revision };
}

/** The error for a method that an address does not allow. @param allow methods it does allow */
export function methodNotAllowed(allow: string, message: string): ServiceError {
  return new ServiceError('METHOD_NOT_ALLOWED', message, { details: { allow } });
}
