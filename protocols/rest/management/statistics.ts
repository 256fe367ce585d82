import type { BranchStatistics, ReadStatistics } from '#actors/branch/statistics-messages.ts';
import type { ActorId } from '#runtime/actor/ports.ts';
import { engineCaller } from '#runtime/actor/engine-caller.ts';
import type { BuildProjection, DropProjection } from '#runtime/projection/projection-messages.ts';
import { statisticsProjection } from '#runtime/statistics/statistics-projection.ts';
import type { ParameterDocs, ResponseDocs } from '#protocols/http/route.ts';
import type { FoundBranch } from '../access/found-branch.ts';
import { requireTenantAdministrator } from '../access/permission.ts';
import { consistencyOf } from '../reads/read-consistency.ts';
import { callerOf, deliveryOf, type RestContext } from '../rest-context.ts';
import type { RestRequest, RestRoute } from '../rest-route.ts';
import type { Soon } from '#runtime/base/event-loop/soon.ts';
import { beginningJson, statisticsJson, statisticsSchema } from './statistics-info.ts';

/** Lets consumers follow the change feeds of branches. Implemented by the process that owns the actors. */
export interface BranchFeeds {
  /** Lets a consumer follow a branch, unless it does. @throws {ServiceError} `NOT_FOUND` */
  register(branch: ActorId, name: string): Promise<void>;
  /** Keeps a branch, so that every start lets its consumers continue there. @throws {ServiceError} `NOT_FOUND` */
  keep(branch: ActorId): Promise<void>;
  /** Lets a consumer take at once what it has not seen of a branch. */
  hurry(branch: ActorId, name: string): void;
}

/** Dependencies of the statistics routes. */
export interface StatisticsContext extends RestContext {
  readonly feeds: BranchFeeds;
}

const tag = 'Statistics';
const pattern = '/api/management/{repo}/{branch}/statistics';
const { name } = statisticsProjection;
const slashAllowed = { allowSlash: true } as const;

const forbidden: ResponseDocs = { description: 'The caller is no administrator of the tenant.' };
const missing: ResponseDocs = { description: 'There is no such repository, branch or workspace.' };
const isTag: ResponseDocs = { description: 'It is a tag; statistics are those of a branch.' };

const workspaceParameter: ParameterDocs = {
  name: 'workspace',
  in: 'query',
  description: 'Only of this workspace.',
  schema: { type: 'string' },
};

/**
 * Statistics of the nodes of a branch, for administrators of the tenant.
 *
 * @see docs/interface/statistics.md
 */
export function statisticsRoutes(context: StatisticsContext): readonly RestRoute[] {
  return [readRoute(context), buildRoute(context), dropRoute(context)];
}

/** @throws {ServiceError} `REPOSITORY_NOT_FOUND`, `BRANCH_NOT_FOUND`; `READ_ONLY_REVISION` for a tag */
function branchOf({ directory }: StatisticsContext, request: RestRequest): Soon<FoundBranch> {
  const { tenant } = request.principal;
  const branch = request.segment('branch', slashAllowed);
  return directory.besideContent(tenant, request.segment('repo'), branch, consistencyOf(request));
}

function readRoute(context: StatisticsContext): RestRoute {
  const { feeds, router } = context;
  return {
    method: 'GET',
    pattern,
    operationId: 'readStatistics',
    body: 'none',
    auth: 'required',
    permit: requireTenantAdministrator,
    docs: {
      summary: 'How many nodes a branch has of each type, and which properties they have',
      description:
        'The first request for a branch begins to count its nodes and answers `building`. From then on the statistics follow the commits of the branch, at most 30 seconds behind while there is nothing else to do. A request for statistics that are behind lets them go on at once; it does not wait for them.',
      tag,
      parameters: [workspaceParameter],
      responses: {
        200: { description: 'The statistics, and how far they are.', schema: statisticsSchema },
        403: forbidden,
        404: missing,
        405: isTag,
      },
    },
    async handler(request) {
      const { actor } = await branchOf(context, request);
      const workspace = request.query.get('workspace');
      const query: ReadStatistics = {
        type: 'ReadStatistics',
        ...(workspace === undefined ? {} : { workspace }),
      };
      const statistics = (await router.query(actor, query, callerOf(request))) as BranchStatistics;
      const { lag, state } = statistics.projection;
      if (state === 'none') {
        await feeds.register(actor, name);
        feeds.hurry(actor, name);
        return { status: 200, json: beginningJson };
      }
      if (lag !== 0) feeds.hurry(actor, name);
      return { status: 200, json: statisticsJson(statistics) };
    },
  };
}

function buildRoute(context: StatisticsContext): RestRoute {
  const { feeds, router } = context;
  return {
    method: 'POST',
    pattern,
    operationId: 'buildStatistics',
    body: 'none',
    auth: 'required',
    permit: requireTenantAdministrator,
    docs: {
      summary: 'Count the nodes of a branch anew',
      description:
        'Statistics repair themselves, so this is for an operator who does not trust them. They are not readable until all nodes are counted; `GET` shows how far that is.',
      tag,
      responses: {
        202: { description: 'It has begun.', schema: statisticsSchema },
        403: forbidden,
        404: missing,
        405: isTag,
      },
    },
    async handler(request) {
      const { actor } = await branchOf(context, request);
      await feeds.keep(actor);
      const command: BuildProjection = { type: 'BuildProjection', name };
      await router.command(actor, command, deliveryOf(request));
      feeds.hurry(actor, name);
      return { status: 202, json: beginningJson };
    },
  };
}

function dropRoute(context: StatisticsContext): RestRoute {
  const { router } = context;
  return {
    method: 'DELETE',
    pattern,
    operationId: 'dropStatistics',
    body: 'none',
    auth: 'required',
    permit: requireTenantAdministrator,
    docs: {
      summary: 'Keep no statistics of a branch any more',
      description: 'Commits of the branch cost nothing for them then, until they are requested again.',
      tag,
      responses: {
        204: { description: 'There are none.' },
        403: forbidden,
        404: missing,
        405: isTag,
      },
    },
    async handler(request) {
      const { actor } = await branchOf(context, request);
      const command: DropProjection = { type: 'DropProjection', name };
      let delivery = deliveryOf(request);
      // Only the first of the commands answers the request.
      while ((await router.command(actor, command, delivery)) !== true)
        delivery = { caller: engineCaller(request.principal.tenant) };
      return { status: 204 };
    },
  };
}
