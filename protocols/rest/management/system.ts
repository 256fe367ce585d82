import { type OperatorAccess, operatorPatterns } from '../access/operator-access.ts';
import { type SpaceLevel, spaceLevels } from '#runtime/space/space-level.ts';
import type { MissingPart } from '../ports.ts';
import type { RestRoute } from '../rest-route.ts';

/** Life cycle state of a member. */
export type MemberState = 'starting' | 'ready' | 'draining';

/** The publicly visible status of a member. */
export interface MemberStatus {
  readonly state: MemberState;
  /** Version of the product. */
  readonly version: string;
  /** `embedded`, or `cluster`. */
  readonly mode: 'embedded' | 'cluster';
  /** The failures that an acknowledged write survives. */
  readonly durability: string;
  /**
   * The parts it lacks to serve as well as other members. Only parts that another member may have belong here:
   * otherwise a load balancer would remove all members, and turn a partial outage into a full one.
   */
  readonly missing: readonly MissingPart[];
  /**
   * Number of actors that no longer accept writes. The member stays ready: no other member serves them better, and the
   * fault of one repository must not take down the others. Only administrators see which actors they are.
   */
  readonly stopped_actors: number;
  /**
   * Number of partitions in which it found damaged or missing data in the last hour and which it rebuilds. The member
   * is ready once it has caught up: an operator must check its disk, but requests do not depend on that.
   */
  readonly rebuilt_partitions: number;
  /** How far the newest revision is ahead of the wall clock, in seconds, if more than some minutes; else 0. */
  readonly revisions_ahead_seconds: number;
  /**
   * Free space of the fullest volume that it writes to. The member stays ready: it serves reads, and requests that
   * free space.
   */
  readonly space: SpaceLevel;
}

/** Dependencies of the system routes. */
export interface SystemContext {
  status(): MemberStatus;
  readonly metrics: { text(): Promise<string>; readonly contentType: string };
  readonly operators: OperatorAccess;
  /** Returns the description as JSON. It is called lazily, because the described route table includes these routes. */
  openApi(): Promise<string>;
}

const tag = 'System';

const statusSchema = {
  type: 'object',
  properties: {
    state: { type: 'string', enum: ['starting', 'ready', 'draining'] },
    version: { type: 'string' },
    mode: { type: 'string', enum: ['embedded', 'cluster'] },
    durability: { type: 'string' },
    missing: {
      type: 'array',
      items: {
        type: 'object',
        properties: {
          part: { type: 'string', enum: ['nats', 'owners', 'followers', 'journal', 'folder', 'name'] },
          message: { type: 'string' },
          partitions: { type: 'array', items: { type: 'integer' } },
        },
      },
    },
    stopped_actors: {
      type: 'integer',
      description:
        'Number of actors that accept no writes until the member is restarted. The status names them.',
    },
    rebuilt_partitions: {
      type: 'integer',
      description:
        'Number of partitions of which the member found damaged or missing files on its disk in the last hour. It rebuilds their shards. The status has the details. 0 without a cluster.',
    },
    space: {
      type: 'string',
      enum: spaceLevels,
      description:
        'Space of the fullest volume, log or store. At `refusing`, writes that add data get 507; at `read-only`, all writes get 507. Reads are served, so the member stays ready.',
    },
    revisions_ahead_seconds: {
      type: 'integer',
      description:
        'How far the newest revision is ahead of the wall clock, because the clock was or is wrong. A lead of up to five minutes is shown as 0.',
    },
  },
} as const;

/**
 * Liveness, readiness, metrics and the interface description.
 *
 * @see docs/interface/conventions.md#system-routes
 */
export function systemRoutes(context: SystemContext): readonly RestRoute[] {
  return [healthRoute(), readyRoute(context), metricsRoute(context), openApiRoute(context)];
}

function healthRoute(): RestRoute {
  return {
    method: 'GET',
    pattern: '/health',
    operationId: 'readHealth',
    takesAnyParameter: true,
    body: 'ignored',
    auth: 'none',
    docs: {
      summary: 'Whether the process lives',
      tag,
      responses: {
        200: { description: 'The text `ok`.', schema: { type: 'string' }, contentType: 'text/plain' },
      },
    },
    handler: () => ({ status: 200, raw: 'ok', contentType: 'text/plain; charset=utf-8' }),
  };
}

function readyRoute(context: SystemContext): RestRoute {
  return {
    method: 'GET',
    pattern: '/ready',
    operationId: 'readReadiness',
    takesAnyParameter: true,
    body: 'ignored',
    auth: 'none',
    docs: {
      summary: 'Whether the member takes requests',
      description:
        'For load balancers and rolling restarts. In a cluster, a member that has just started is ready when it is connected, knows the owner of every partition and has caught up with the partitions it follows. Later it is not ready while it has no connection to NATS, or while another process runs under its name. A single member is not ready while its journal cannot be written. No member is ready while a folder of its data cannot be written. Requests from the machine itself and requests with the operator token (`SVC_METRICS_TOKEN`) get the reasons; all others get only the state.',
      tag,
      responses: {
        200: { description: 'The member is ready.', schema: statusSchema },
        503: {
          description:
            'The member is starting or draining, or `missing` lists what it lacks. Send requests to another member. It still tries to answer the requests it gets.',
          schema: statusSchema,
        },
      },
    },
    handler(request) {
      const status = context.status();
      const isReady = status.state === 'ready' && status.missing.length === 0;
      const headers = { 'Cache-Control': 'no-store' };
      return {
        status: isReady ? 200 : 503,
        headers: isReady ? headers : { ...headers, 'Retry-After': '1' },
        json: context.operators.isGranted(request) ? status : { state: status.state },
      };
    },
  };
}

function metricsRoute(context: SystemContext): RestRoute {
  return {
    method: 'GET',
    pattern: operatorPatterns.metrics,
    operationId: 'readMetrics',
    takesAnyParameter: true,
    body: 'ignored',
    auth: 'optional',
    duringOutages: true,
    permit: (request) => context.operators.require(request),
    docs: {
      summary: 'The numbers of the member for Prometheus',
      description:
        'Requests from the machine itself need no token. Others, and requests through a proxy, need the operator token (`SVC_METRICS_TOKEN`) or the token of an administrator of the system.',
      tag,
      responses: {
        200: { description: 'Prometheus text.', schema: { type: 'string' }, contentType: 'text/plain' },
        401: { description: 'The caller is elsewhere and has no token.' },
      },
    },
    async handler() {
      return { status: 200, raw: await context.metrics.text(), contentType: context.metrics.contentType };
    },
  };
}

function openApiRoute(context: SystemContext): RestRoute {
  let text: Promise<string> | undefined;
  return {
    method: 'GET',
    pattern: '/openapi.json',
    operationId: 'readOpenApi',
    takesAnyParameter: true,
    body: 'ignored',
    auth: 'none',
    docs: {
      summary: 'The description of this interface',
      tag,
      responses: { 200: { description: 'An OpenAPI 3.1 document.', schema: { type: 'object' } } },
    },
    async handler() {
      // Constant while the process runs, and slower to build than most requests, so it is built once.
      text ??= context.openApi();
      return { status: 200, raw: await text, contentType: 'application/json' };
    },
  };
}
