import { SQL_SINCE } from '#runtime/actor/message-version.ts';
import { runInSlices } from '#runtime/base/event-loop/run-in-slices.ts';
import type { SlicedWork, SliceScheduler } from '#runtime/base/event-loop/slice-scheduler.ts';
import { sliceOwner } from '#runtime/commit/waiting-caller.ts';
import type { HttpReply } from '#protocols/http/route.ts';
import { SqlSession } from '#protocols/sql/sql-session.ts';
import { knownText, readText, type SqlText } from '#protocols/sql/sql-text.ts';
import { settingsCallOf } from '#protocols/sql/settings-change.ts';
import { invalid, ServiceError } from '#runtime/errors/service-error.ts';
import { classOf } from '#protocols/sql/statement-class.ts';
import { singleHeader } from '../single-header.ts';
import { branchNameOf } from '../access/branch-access.ts';
import { isHiddenFrom } from '../access/hidden-branch.ts';
import { readerOf } from '../rest-context.ts';
import type { RestRequest } from '../rest-route.ts';
import { afterwards, recovering, type Soon } from '#runtime/base/event-loop/soon.ts';
import { RestSqlSurface, type SqlContext } from './rest-surface.ts';
import type { SqlBody } from './sql-body.ts';
import { markedReply, onlyReads, replyOfResult } from './sql-reply.ts';

/** Dependencies of the routes of SQL. */
export interface SqlRouteContext extends SqlContext {
  readonly slices: SliceScheduler;
}

/**
 * Runs the statements of a request in a session of its own. A text of reads is answered within the present turn if that is
 * quick.
 *
 * @throws {ServiceError} the first error of a statement; before anything was run, if it is one of reading the text
 */
export function runText(context: SqlRouteContext, request: RestRequest, body: SqlBody): Soon<HttpReply> {
  const startedMs = context.clock.monotonicMs();
  const run = (text: SqlText): Soon<HttpReply> => runStatements(context, request, text, startedMs);
  const read = (): Soon<SqlText> => textOf(context, request, body);
  if (!isHiddenFrom(request)) return afterwards(read(), run);
  // What is wrong with a text is told by the branch, because a branch that is not there answers without reading the text.
  return afterwards(
    recovering<SqlText | undefined>(read, () => undefined),
    (text) => (text === undefined ? runUnread(context, request, body) : run(text)),
  );
}

/** Reads the text of a request. */
function textOf(
  { clock, slices }: SqlRouteContext,
  request: RestRequest,
  { parameters, sql }: SqlBody,
): Soon<SqlText> {
  const known = knownText(sql, parameters);
  if (known !== undefined) return known;
  const work = slices.begin('read', sliceOwner(readerOf(request), clock));
  return soonInSlices(work, readText(sql, parameters));
}

/** As {@link runInSlices}, within the present turn if the work is done before its slice is over. */
function soonInSlices<T>(work: SlicedWork, steps: Generator<undefined, T>): Soon<T> {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
    const wait = work.pause();
    if (wait !== undefined) return wait.then(() => runInSlices(work, steps));
  }
}

function runStatements(
  context: SqlRouteContext,
  request: RestRequest,
  text: SqlText,
  startedMs: number,
): Soon<HttpReply> {
  refuseKeyWithSecrets(request, text);
  refuseAnonymous(request, text);
  const surface = new RestSqlSurface(context, request, !onlyReads(text));
  const session = new SqlSession(surface, branchNameOf(request));
  return afterwards(session.runRequest(text), (result) => {
    const elapsedMs = context.clock.monotonicMs() - startedMs;
    return markedReply(text, replyOfResult(result, surface.revision, elapsedMs));
  });
}

/**
 * Statements about roles and users are not for anonymous callers, also where a query would be answered with no rows: the answer
 * is the same everywhere.
 *
 * @throws {ServiceError} `UNAUTHORIZED`
 */
function refuseAnonymous(request: RestRequest, { statements }: SqlText): void {
  if (isHiddenFrom(request) && statements.some(({ statement }) => classOf(statement) === 'read-access'))
    throw new ServiceError('UNAUTHORIZED', 'Anonymous users cannot perform access control operations');
}

/**
 * Settings may have secrets, and the hash of a request that is kept with its key would be one of them that is quick to compute.
 *
 * @throws {ServiceError} `VALIDATION_FAILED`
 */
function refuseKeyWithSecrets(request: RestRequest, { statements }: SqlText): void {
  const header = 'Idempotency-Key';
  if (singleHeader(request, header) === undefined) return;
  if (statements.some(({ statement }) => settingsCallOf(statement) !== undefined))
    throw invalid(`A request that changes settings takes no ${header}`, { field: header });
}

function runUnread(
  context: SqlRouteContext,
  request: RestRequest,
  { parameters, sql }: SqlBody,
): Soon<HttpReply> {
  const surface = new RestSqlSurface(context, request, false);
  const query = { type: 'RunSql', sql, parameters, since: SQL_SINCE } as const;
  return surface.read(branchNameOf(request), query, true);
}
