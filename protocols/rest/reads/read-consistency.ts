import type { ReadConsistency } from '#runtime/commit/behaviour.ts';
import { parseRevision } from '#runtime/content/revision.ts';
import { invalid } from '#runtime/errors/service-error.ts';
import type { ParameterDocs, Route } from '#protocols/http/route.ts';
import type { RestRequest, RestRoute } from '../rest-route.ts';
import { singleHeader } from '../single-header.ts';
import { withParameters } from '../with-parameters.ts';

/** Header with which a client selects the consistency of a read. */
export const CONSISTENCY_HEADER = 'X-Svc-Consistency';

/** Header with a revision that a read must include. */
export const MIN_REVISION_HEADER = 'X-Svc-Min-Revision';

const kinds = ['strict', 'local'] as const;

/** Description of the header. */
export const consistencyParameter: ParameterDocs = {
  name: CONSISTENCY_HEADER,
  in: 'header',
  description:
    'Without this header the answer is the newest state. `strict`: the newest state even if the clocks of members are ' +
    'wrong; this costs a write to the log. `local`: the member answers from its own copy if it has one, even if it ' +
    'reaches no other member. That can be an earlier state, but not one before `X-Svc-Min-Revision`. Locks, ' +
    'inventory and jobs are always read from their owner. A server without a cluster always answers the newest state.',
  schema: { type: 'string', enum: kinds },
};

/** One object per request with these headers: the engine identifies the queries of one request by it. */
const asked = new WeakMap<RestRequest, ReadConsistency>();

/**
 * The consistency of the reads of a request. A write always goes to the owner. Of a route whose requests may read or write, the
 * route decides what counts for a request that writes.
 *
 * @returns undefined for the owner under its read lease
 * @throws {ServiceError} `VALIDATION_FAILED` for an unknown value, also with a write; `INVALID_REVISION_NUMBER`
 */
export function consistencyOf(request: RestRequest): ReadConsistency | undefined {
  const text = singleHeader(request, CONSISTENCY_HEADER);
  const isReading = mayRead(request.route);
  // Asked of every read, so that an empty one is refused also where the owner answers, who has every revision.
  const seen = isReading ? singleHeader(request, MIN_REVISION_HEADER) : undefined;
  if (text === undefined) return undefined;
  const known = asked.get(request);
  if (known !== undefined) return known;
  const kind = kinds.find((each) => each === text);
  if (kind === undefined) {
    const message = `${CONSISTENCY_HEADER} is strict or local; leave it out for the newest state under the read lease`;
    throw invalid(message, { field: CONSISTENCY_HEADER });
  }
  if (!isReading) return undefined;
  const consistency = seen === undefined ? { kind } : { kind, seen: parseRevision(seen) };
  asked.set(request, consistency);
  return consistency;
}

/** Adds the header to the description of every route that reads and of its further operations. */
export function withConsistency(routes: readonly RestRoute[]): readonly RestRoute[] {
  return routes.map((route) => (mayRead(route) ? withParameters(route, [consistencyParameter]) : route));
}

/** Whether a route is read-only, or some of its requests only read. */
export function mayRead(route: Pick<RestRoute, 'isRead' | 'mayRead' | 'method'>): boolean {
  return isRead(route) || route.mayRead === true;
}

/** Whether a route is read-only. */
export function isRead({ isRead: isMarked, method }: Pick<Route<unknown>, 'isRead' | 'method'>): boolean {
  return isMarked ?? method === 'GET';
}
