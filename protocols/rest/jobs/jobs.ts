import type { ListRepositories, RepositoryEntry } from '#actors/tenant/messages.ts';
import { actorId } from '#runtime/actor/actor-id.ts';
import { engineCaller } from '#runtime/actor/engine-caller.ts';
import type { Caller } from '#runtime/commit/behaviour.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { mayBeJobOf } from '#runtime/jobs/job-id.ts';
import type { JobRecord } from '#runtime/jobs/job.ts';
import type { JobScope, Queue } from '#runtime/jobs/ports.ts';
import { bodyFields } from '#protocols/http/requests/body-fields.ts';
import type { HttpReply, JsonSchema, ResponseDocs } from '#protocols/http/route.ts';
import { type JobInfo, jobInfo, jobInfoSchema, jobStatus, jobStatusSchema } from './job-info.ts';
import { type JobStats, jobStats, jobStatsSchema } from './job-stats.ts';
import { requireTenantAdministrator } from '../access/permission.ts';
import { clampedInteger } from '../reads/read-parameters.ts';
import { callerOf, deliveryOf, type RestContext } from '../rest-context.ts';
import type { RestRequest, RestRoute } from '../rest-route.ts';

/** Dependencies of the job routes. */
export interface JobsContext extends RestContext {
  readonly jobs: {
    readonly queue: Queue;
    /** Number of jobs this member runs concurrently. */
    readonly workers: number;
    /** Job types this member handles. */
    readonly types: readonly string[];
  };
}

/** The jobs of one repository. */
interface RepositoryJobs {
  readonly scope: JobScope;
  /** Name of the repository. */
  readonly name: string;
  /** `{name}~{uid}` of the repository. */
  readonly part: string;
}

const tag = 'Jobs';

const ownJobs = 'For administrators of the tenant, and for the caller who has submitted the job.';
const base = '/management/jobs';

/** Maximum jobs in one response. */
const PAGE_MAX = 1_000;

/** Default jobs in one response. */
const PAGE_DEFAULT = 100;

/** Maximum offset of a page in the list. */
const OFFSET_MAX = 100_000;

/** Maximum ids in one request. */
const BATCH_MAX = 10_000;

/** Repositories queried before yielding to the event loop. */
const REPOSITORIES_PER_TURN = 16;

const unknownJob: ResponseDocs = { description: 'The tenant has no such job.' };

/**
 * Background jobs of a tenant, for its administrators. Who has submitted a job watches and cancels it. Answers of a bulk
 * statement of SQL name `/api/jobs/{id}`, so the state is there too.
 *
 * @see docs/interface/jobs.md#routes-of-jobs
 */
export function jobRoutes(context: JobsContext): readonly RestRoute[] {
  return [
    listRoute(context),
    statsRoute(context),
    statusRoute(context, base, 'readJobStatus'),
    statusRoute(context, '/api/jobs', 'readSubmittedJobStatus'),
    infoRoute(context),
    cancelRoute(context),
    removeRoute(context),
    batchRemoveRoute(context),
  ];
}

/** Responses below `/management` have an envelope. */
function wrapped(data: unknown): HttpReply {
  return { status: 200, json: { success: true, data, error: null } };
}

function envelopeOf(data: JsonSchema): JsonSchema {
  return {
    type: 'object',
    required: ['success', 'data', 'error'],
    properties: { success: { const: true }, data, error: { type: 'null' } },
  };
}

function answers(description: string, data: JsonSchema): { readonly 200: ResponseDocs } {
  return { 200: { description, schema: envelopeOf(data) } };
}

/** The repositories of the caller's tenant. */
async function repositoriesOf(
  { router }: JobsContext,
  request: RestRequest,
  caller: Caller,
  isWanted: (part: string) => boolean = () => true,
): Promise<readonly RepositoryJobs[]> {
  const { tenant } = request.principal;
  const query: ListRepositories = { type: 'ListRepositories' };
  const entries = await router.query(actorId(tenant, 'tenant'), query, caller);
  return (entries as readonly RepositoryEntry[]).flatMap(({ repositoryId: name, uid }) => {
    const part = `${name}~${uid}`;
    return isWanted(part) ? [{ scope: actorId(tenant, part), name, part }] : [];
  });
}

interface FoundJob extends RepositoryJobs {
  readonly job: JobRecord;
}

/** @throws {ServiceError} `NOT_FOUND`, also for a job of another tenant, and of another caller */
async function requireJob(context: JobsContext, request: RestRequest, caller: Caller): Promise<FoundJob> {
  const id = request.segment('id');
  // Only the repository of the job is asked, which decides whether the caller may read it.
  const engine = { ...caller, ...engineCaller(request.principal.tenant) };
  for (const repository of await repositoriesOf(context, request, engine, (part) => mayBeJobOf(id, part))) {
    const job = await context.jobs.queue.find(repository.scope, id, caller);
    if (job !== undefined) return { ...repository, job };
  }
  throw new ServiceError('NOT_FOUND', `Job '${id}' not found`);
}

function listRoute(context: JobsContext): RestRoute {
  return {
    method: 'GET',
    pattern: base,
    operationId: 'listJobs',
    body: 'none',
    auth: 'required',
    permit: requireTenantAdministrator,
    errorShape: 'management',
    docs: {
      summary: 'The background jobs of the tenant, newest first',
      tag,
      parameters: [
        {
          name: 'limit',
          in: 'query',
          schema: { type: 'integer', minimum: 1, maximum: PAGE_MAX, default: PAGE_DEFAULT },
        },
        { name: 'offset', in: 'query', schema: { type: 'integer', minimum: 0, default: 0 } },
      ],
      responses: answers('The jobs.', { type: 'array', items: jobInfoSchema }),
    },
    handler: async (request) => wrapped(await listJobs(context, request)),
  };
}

async function listJobs(context: JobsContext, request: RestRequest): Promise<readonly JobInfo[]> {
  const caller = callerOf(request);
  const limit = clampedInteger(request.query, 'limit', { min: 1, max: PAGE_MAX }) ?? PAGE_DEFAULT;
  const offset = clampedInteger(request.query, 'offset', { min: 0, max: OFFSET_MAX }) ?? 0;
  const found: JobInfo[] = [];
  const page = { limit: offset + limit, offset: 0 };
  await eachRepository(context, request, caller, async ({ name, scope }) => {
    for (const job of await context.jobs.queue.list(scope, page, caller)) {
      found.push(jobInfo(job, request.principal.tenant, name));
    }
  });
  // An id begins with the job's creation time.
  found.sort((a, b) => (a.id < b.id ? 1 : -1));
  return found.slice(offset, offset + limit);
}

async function eachRepository(
  context: JobsContext,
  request: RestRequest,
  caller: Caller,
  visit: (repository: RepositoryJobs) => Promise<void>,
): Promise<void> {
  let visited = 0;
  for (const repository of await repositoriesOf(context, request, caller)) {
    if (request.signal.aborted) throw new ServiceError('REQUEST_CANCELLED');
    try {
      await visit(repository);
    } catch (error) {
      // Deleted since the list was read.
      if (!(error instanceof ServiceError) || error.code !== 'NOT_FOUND') throw error;
    }
    visited += 1;
    if (visited % REPOSITORIES_PER_TURN === 0) {
      await new Promise<void>((resolve) => context.clock.soon(resolve));
    }
  }
}

function statsRoute(context: JobsContext): RestRoute {
  return {
    method: 'GET',
    pattern: `${base}/stats`,
    operationId: 'readJobStats',
    body: 'none',
    auth: 'required',
    permit: requireTenantAdministrator,
    errorShape: 'management',
    docs: {
      summary: 'How many background jobs there are',
      tag,
      responses: answers('The numbers of the tenant.', jobStatsSchema),
    },
    async handler(request) {
      const caller = callerOf(request);
      const counts: Parameters<typeof jobStats>[0][number][] = [];
      await eachRepository(context, request, caller, async ({ scope }) => {
        const counted = await context.jobs.queue.count(scope, caller);
        if (counted !== undefined) counts.push(counted);
      });
      const stats: JobStats = jobStats(counts, context.jobs);
      return wrapped(stats);
    },
  };
}

function statusRoute(context: JobsContext, prefix: string, operationId: string): RestRoute {
  return {
    method: 'GET',
    pattern: `${prefix}/{id}`,
    operationId,
    body: 'none',
    auth: 'required',
    errorShape: 'management',
    docs: {
      summary: 'The status of a background job',
      description: ownJobs,
      tag,
      responses: { ...answers('The status.', jobStatusSchema), 404: unknownJob },
    },
    async handler(request) {
      const { job } = await requireJob(context, request, callerOf(request));
      return wrapped(jobStatus(job));
    },
  };
}

function infoRoute(context: JobsContext): RestRoute {
  return {
    method: 'GET',
    pattern: `${base}/{id}/info`,
    operationId: 'readJob',
    body: 'none',
    auth: 'required',
    errorShape: 'management',
    docs: {
      summary: 'A background job',
      description: ownJobs,
      tag,
      responses: { ...answers('The job.', jobInfoSchema), 404: unknownJob },
    },
    async handler(request) {
      const { job, name } = await requireJob(context, request, callerOf(request));
      return wrapped(jobInfo(job, request.principal.tenant, name));
    },
  };
}

function cancelRoute(context: JobsContext): RestRoute {
  return {
    method: 'POST',
    pattern: `${base}/{id}/cancel`,
    operationId: 'cancelJob',
    body: 'none',
    auth: 'required',
    errorShape: 'management',
    docs: {
      summary: 'Cancel a background job',
      description: `The state of the job becomes \`Cancelled\` and does not change again. A running job is asked to stop; what it has done until then is not undone. ${ownJobs}`,
      tag,
      responses: {
        ...answers('It is cancelled, now or already.', { type: 'null' }),
        404: unknownJob,
        409: { description: 'It is completed or has failed.' },
      },
    },
    async handler(request) {
      const { job, scope } = await requireJob(context, request, callerOf(request));
      await context.jobs.queue.cancel(scope, job.id, deliveryOf(request));
      return wrapped(null);
    },
  };
}

function removeRoute(context: JobsContext): RestRoute {
  return {
    method: 'DELETE',
    pattern: `${base}/{id}`,
    operationId: 'removeJob',
    body: 'none',
    auth: 'required',
    permit: requireTenantAdministrator,
    errorShape: 'management',
    docs: {
      summary: 'Forget a finished background job',
      tag,
      responses: {
        ...answers('It is forgotten.', { type: 'null' }),
        404: unknownJob,
        409: { description: 'It waits or runs; cancel it first.' },
      },
    },
    async handler(request) {
      const { job, scope } = await requireJob(context, request, callerOf(request));
      await context.jobs.queue.remove(scope, job.id, deliveryOf(request));
      return wrapped(null);
    },
  };
}

function batchRemoveRoute(context: JobsContext): RestRoute {
  return {
    method: 'POST',
    pattern: `${base}/batch-delete`,
    operationId: 'removeJobs',
    body: 'json',
    auth: 'required',
    permit: requireTenantAdministrator,
    errorShape: 'management',
    docs: {
      summary: 'Forget finished background jobs',
      description: 'Those that wait or run, and those that are not known, are skipped.',
      tag,
      requestSchema: {
        type: 'object',
        required: ['job_ids'],
        properties: { job_ids: { type: 'array', items: { type: 'string' }, maxItems: BATCH_MAX } },
        additionalProperties: false,
      },
      responses: answers('How many were forgotten and how many skipped.', {
        type: 'object',
        required: ['deleted', 'skipped'],
        properties: { deleted: { type: 'integer' }, skipped: { type: 'integer' } },
      }),
    },
    handler: async (request) => wrapped(await removeJobs(context, request)),
  };
}

async function removeJobs(
  context: JobsContext,
  request: RestRequest,
): Promise<{ readonly deleted: number; readonly skipped: number }> {
  const caller = callerOf(request);
  const ids = bodyFields(request.body).strings('job_ids');
  if (ids.length > BATCH_MAX) {
    throw new ServiceError('VALIDATION_FAILED', `At most ${BATCH_MAX} jobs at a time`, { field: 'job_ids' });
  }
  const delivery = deliveryOf(request);
  let deleted = 0;
  for (const { part, scope } of await repositoriesOf(context, request, caller)) {
    const own = ids.filter((id) => mayBeJobOf(id, part));
    if (own.length > 0) deleted += await context.jobs.queue.removeAll(scope, own, delivery);
  }
  return { deleted, skipped: ids.length - deleted };
}
