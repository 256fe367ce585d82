import type { ReadAudit, ReadHistory } from '#actors/branch/messages.ts';
import type { NodePlace } from '#actors/branch/read-messages.ts';
import { parseNodeAddress } from '#runtime/content/node-address.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { HttpReply, ParameterDocs } from '#protocols/http/route.ts';
import { askBranch, likelyBranchOf, minRevisionParameter, replyOf } from '../access/branch-access.ts';
import { contentList } from '../content-schemas.ts';
import { placeOf } from '../nodes/node-target.ts';
import { clampedInteger } from '../reads/read-parameters.ts';
import { callerOf, type RestContext } from '../rest-context.ts';
import type { RestRequest, RestRoute } from '../rest-route.ts';
import { unlessMissing } from '../reads/unless-missing.ts';
import { afterwards, type Soon } from '#runtime/base/event-loop/soon.ts';

/** Entries of a response: the maximum and the default. */
const ENTRIES_MAX = 10_000;
const ENTRIES_DEFAULT = 1_000;

const limitParameter: ParameterDocs = {
  name: 'limit',
  in: 'query',
  schema: { type: 'integer', minimum: 1, maximum: ENTRIES_MAX, default: ENTRIES_DEFAULT },
  description: 'The newest so many entries. Values beyond are clamped.',
};

/** The place of the node, and an alternative if it is not there. */
type Places = readonly [NodePlace, NodePlace?];

/** A record of a node's past. */
interface Ledger {
  /** Segment of the address. */
  readonly segment: 'history' | 'audit';
  readonly message: ReadHistory['type'] | ReadAudit['type'];
  readonly operation: string;
  readonly schema: string;
  readonly summary: string;
  readonly description: string;
}

const ledgers: readonly Ledger[] = [
  {
    segment: 'history',
    message: 'ReadHistory',
    operation: 'readHistory',
    schema: 'HistoryEntry',
    summary: 'Revisions that wrote a node, newest first',
    description: 'Kept for every node. By id also of a node that has been deleted.',
  },
  {
    segment: 'audit',
    message: 'ReadAudit',
    operation: 'readAudit',
    schema: 'AuditEntry',
    summary: 'Who did what to a node, newest first',
    description: 'Kept for nodes whose type is `auditable`; else empty.',
  },
];

/**
 * History and audit log of a node, by path and by id.
 *
 * @see docs/interface/revisions.md#history
 */
export function historyRoutes(context: RestContext): readonly RestRoute[] {
  return ledgers.flatMap((ledger) => [
    ledgerRoute(context, ledger, '/by-id/{id}', 'ById', placesById),
    ledgerRoute(context, ledger, '/{path*}', '', (request) => [placeByPath(request)]),
  ]);
}

/** A node whose path is `/by-id/{name}` has the same address; it is the alternative if no node has the id. */
function placesById(request: RestRequest): Places {
  const id = request.segment('id');
  return [{ id }, { path: `/by-id/${id}` }];
}

function placeByPath(request: RestRequest): NodePlace {
  const address = parseNodeAddress(request.param('path'));
  if (address.form !== 'node' && address.form !== 'listing') {
    throw new ServiceError('INVALID_PATH', 'The path is of a node, without property and command');
  }
  return placeOf(address);
}

function ledgerRoute(
  context: RestContext,
  { description, message, operation, schema, segment, summary }: Ledger,
  rest: string,
  suffix: string,
  placesIn: (request: RestRequest) => Places,
): RestRoute {
  return {
    method: 'GET',
    pattern: `/api/${segment}/{repo}/{branch}/{workspace}${rest}`,
    operationId: `${operation}${suffix}`,
    body: 'none',
    auth: 'optional',
    docs: {
      summary,
      description,
      tag: 'History',
      parameters: [limitParameter, minRevisionParameter],
      responses: {
        200: { description: 'The entries.', schema: contentList(schema) },
        404: { description: 'There is no such repository, branch, workspace or node.' },
      },
    },
    handler(request) {
      const limit = clampedInteger(request.query, 'limit', { min: 1, max: ENTRIES_MAX });
      const base = {
        type: message,
        workspace: request.segment('workspace'),
        limit: limit ?? ENTRIES_DEFAULT,
      };
      const [place, other] = placesIn(request);
      return afterwards(likelyBranchOf(context, request, 'read'), (branch) => {
        const ask = (at: NodePlace): Soon<HttpReply> => {
          const query: ReadHistory | ReadAudit = { ...base, place: at };
          return askBranch<unknown>(context, request, branch, query, callerOf(request), replyOf);
        };
        return other === undefined
          ? ask(place)
          : unlessMissing(
              () => ask(place),
              () => ask(other),
            );
      });
    },
  };
}
