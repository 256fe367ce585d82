import {
  type AcquireLock,
  type ClaimUnits,
  LOCK_ANSWER_MS,
  LOCK_NAME_LENGTH_MAX,
  LOCK_TTL_MS_MAX,
  LOCK_TTL_MS_MIN,
  LOCK_WAIT_MS_MAX,
  type LockGrant,
  type LockRefused,
  type LocksCommand,
  POOL_UNITS_MAX,
} from '#actors/locks/messages.ts';
import { engineCaller } from '#runtime/actor/engine-caller.ts';
import type { Delivery } from '#runtime/actor/ports.ts';
import { PreconditionRefuted } from '#runtime/actor/precondition.ts';
import type { Caller } from '#runtime/commit/behaviour.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { type BodyFields, bodyFields } from '#protocols/http/requests/body-fields.ts';
import { readOnly } from '#protocols/http/requests/body-shape.ts';
import type { HttpReply, JsonSchema, ResponseDocs, RouteDocs } from '#protocols/http/route.ts';
import { onPrecondition } from '../access/branch-access.ts';
import { acquireReply, claimReply, releaseReply, releaseUnitsReply, renewReply } from './lock-replies.ts';
import { consistencyOf } from '../reads/read-consistency.ts';
import type { FoundBranch } from '../access/found-branch.ts';
import type { WaitingCallers } from '../access/waiting-callers.ts';
import { callerOf, deliveryOf, readerOf, type RestContext } from '../rest-context.ts';
import type { RestRequest, RestRoute } from '../rest-route.ts';
import type { Soon } from '#runtime/base/event-loop/soon.ts';

/** Common prefix of the addresses of locks and inventory. */
export const locksBase = '/api/{repo}/{branch}';

const slashAllowed = { allowSlash: true } as const;

/** Schema of the name of a lock or a pool. */
export const lockNameSchema: JsonSchema = { type: 'string', minLength: 1, maxLength: LOCK_NAME_LENGTH_MAX };
const ttlSchema: JsonSchema = { type: 'integer', minimum: LOCK_TTL_MS_MIN, maximum: LOCK_TTL_MS_MAX };
const tokenSchema: JsonSchema = { type: 'integer', minimum: 1 };
const unitsSchema: JsonSchema = { type: 'integer', minimum: 1, maximum: POOL_UNITS_MAX };

// The response of an acquire, including its owner, may be sent back with the key and the token.
const answered = readOnly({
  acquired: { type: 'boolean' },
  expires_at_ms: { type: 'integer' },
  owner: { type: ['string', 'null'] },
});

/** Dependencies of {@link lockRoutes}. */
export interface LocksContext extends RestContext {
  readonly waitingCallers: WaitingCallers;
}

/** There is no such branch, for every operation on it. */
export const missingBranch: ResponseDocs = { description: 'There is no such repository or branch.' };

/** Locks and inventory are disabled. */
export const locksDisabled: ResponseDocs = {
  description: '`LOCKS_DISABLED`: locks and inventory are switched off on this server.',
};

const commonResponses = {
  400: { description: 'A value is not allowed; the message names it.' },
  404: missingBranch,
  405: { description: '`{branch}` is a tag.' },
  422: {
    description: 'A field is missing or of the wrong type; the text names it.',
  },
  503: locksDisabled,
} as const;

/**
 * Locks and inventory of a branch, for their users. They are separate from content: no operation here creates a
 * revision.
 *
 * @see docs/interface/locks.md
 */
export function lockRoutes(context: LocksContext): readonly RestRoute[] {
  return [
    acquireRoute(context),
    releaseRoute(context),
    renewRoute(context),
    claimRoute(context),
    releaseUnitsRoute(context),
  ];
}

/**
 * The branch of an address of locks or inventory.
 *
 * @throws {ServiceError} `LOCKS_DISABLED`, `REPOSITORY_NOT_FOUND`, `BRANCH_NOT_FOUND`, `READ_ONLY_REVISION` for a tag
 */
export function lockedBranch(context: RestContext, request: RestRequest): Soon<FoundBranch> {
  if (!context.locks.isEnabled) throw new ServiceError('LOCKS_DISABLED');
  const { tenant } = request.principal;
  return context.directory.besideContent(
    tenant,
    request.segment('repo'),
    request.segment('branch', slashAllowed),
    consistencyOf(request),
  );
}

/** As {@link lockedBranch}; the result may be a guess. */
function likelyLockedBranch(context: RestContext, request: RestRequest): Soon<FoundBranch> {
  if (!context.locks.isEnabled) throw new ServiceError('LOCKS_DISABLED');
  const { tenant } = request.principal;
  return context.directory.likelyBesideContent(
    tenant,
    request.segment('repo'),
    request.segment('branch', slashAllowed),
    consistencyOf(request),
  );
}

/**
 * Sends a command to the lock actor of a branch; the first command creates the actor.
 *
 * @param answer makes the reply from the command's result
 */
function send<Result>(
  context: RestContext,
  request: RestRequest,
  command: LocksCommand,
  answer: (result: Result) => HttpReply,
): Promise<HttpReply> {
  // An abort signal costs an allocation, so only a caller that waits gets one.
  return sendAs(context, request, command, deliveryOf(request, readerOf(request)), answer);
}

function sendAs<Result>(
  context: RestContext,
  request: RestRequest,
  command: LocksCommand,
  delivery: Delivery,
  answer: (result: Result) => HttpReply | Promise<HttpReply>,
): Promise<HttpReply> {
  const found = likelyLockedBranch(context, request);
  return found instanceof Promise
    ? found.then((branch) => sendTo(context, request, branch, command, delivery, answer))
    : sendTo(context, request, found, command, delivery, answer);
}

function sendTo<Result>(
  context: RestContext,
  request: RestRequest,
  branch: FoundBranch,
  command: LocksCommand,
  delivery: Delivery,
  answer: (result: Result) => HttpReply | Promise<HttpReply>,
): Promise<HttpReply> {
  const { locks, router } = context;
  const { guess } = branch;
  const guarded = guess === undefined ? delivery : onPrecondition(delivery, guess);
  const sent = router.command(branch.locks, command, guarded) as Promise<Result>;
  // One `then` handles both outcomes, because this runs for every request.
  return sent.then(answer, async (error: unknown) => {
    if (error instanceof PreconditionRefuted)
      return sendTo(context, request, await lockedBranch(context, request), command, delivery, answer);
    if (!(error instanceof ServiceError) || error.code !== 'NOT_FOUND') throw error;
    await locks.createLocks(branch);
    return answer((await router.command(branch.locks, command, delivery)) as Result);
  });
}

/**
 * Sends an acquire that may wait. The caller may lose access meanwhile, and then gets no lock: it leaves the queue as soon
 * as this member hears of it, and a lock that was granted nevertheless is passed on.
 */
async function sendWaiting(
  context: LocksContext,
  request: RestRequest,
  command: AcquireLock,
): Promise<HttpReply> {
  const { locks, waitingCallers } = context;
  const waiting = waitingCallers.watch(request.principal);
  try {
    const ends = AbortSignal.any([locks.stopping, waiting.signal]);
    const delivery = deliveryOf(request, waiterOf(request, command.waitMs, ends));
    return await sendAs<LockGrant | LockRefused>(context, request, command, delivery, async (result) => {
      const refusal = result.acquired ? await waiting.refusal() : undefined;
      if (refusal === undefined) return acquireReply(result);
      if (result.acquired) await passOn(context, request, result);
      throw refusal;
    });
  } catch (error) {
    // Another member owns the lock: it only hears that the request has ended.
    waiting.signal.throwIfAborted();
    throw error;
  } finally {
    waiting.end();
  }
}

/** Releases a lock whose caller may not have it. If that fails, the lease expires as usual. */
async function passOn(context: RestContext, request: RestRequest, { key, token }: LockGrant): Promise<void> {
  const caller = engineCaller(request.principal.tenant);
  try {
    const { locks } = await lockedBranch(context, request);
    await context.router.command(locks, { type: 'ReleaseLock', key, token }, { caller });
  } catch {
    // Nothing depends on it.
  }
}

/**
 * A caller whose deadline is the end of the wait, so that a succeeding owner keeps it without knowing when the wait
 * began. The wait also ends when this member stops, wherever the lock is: the connection would be closed before the
 * response.
 */
function waiterOf(request: RestRequest, waitMs: number, ends: AbortSignal): Caller {
  ends.throwIfAborted();
  const caller = callerOf(request);
  const signal = AbortSignal.any([request.signal, ends]);
  return { ...caller, signal, deadlineMs: request.deadlineMs - LOCK_WAIT_MS_MAX + waitMs };
}

/** The description of a lock or inventory route. */
function docsOf(
  tag: 'Locks' | 'Inventory',
  docs: Pick<RouteDocs, 'summary' | 'responses'> & { readonly description?: string },
  required: readonly string[],
  properties: Readonly<Record<string, JsonSchema>>,
): RouteDocs {
  return {
    ...docs,
    tag,
    requestSchema: { type: 'object', required, properties, additionalProperties: false },
    responses: { ...commonResponses, ...docs.responses },
  };
}

function acquireRoute(context: LocksContext): RestRoute {
  return {
    method: 'POST',
    pattern: `${locksBase}/locks/acquire`,
    operationId: 'acquireLock',
    body: 'json',
    auth: 'required',
    requestMsMax: LOCK_WAIT_MS_MAX + LOCK_ANSWER_MS,
    docs: docsOf(
      'Locks',
      {
        summary: 'Take a lock for a while',
        description:
          'A lock that is held is granted to nobody else, and not to its holder a second time. The fence token is higher than that of every earlier grant on the branch. Store it with the protected data, and refuse writes with a lower one. With `wait_ms` a request waits in order of arrival, until the client disconnects.',
        responses: {
          200: {
            description: 'It is yours.',
            schema: {
              type: 'object',
              required: ['acquired', 'key', 'token', 'expires_at_ms'],
              properties: {
                acquired: { const: true },
                key: lockNameSchema,
                token: tokenSchema,
                expires_at_ms: {
                  type: 'integer',
                  description: 'Wall clock; the server goes by its monotonic one.',
                },
              },
            },
          },
          409: {
            description: 'Somebody holds it.',
            schema: { type: 'object', required: ['acquired'], properties: { acquired: { const: false } } },
          },
          429: { description: 'Too many locks are held, or too many acquires wait.' },
        },
      },
      ['key', 'ttl_ms'],
      {
        key: lockNameSchema,
        ttl_ms: ttlSchema,
        owner: { type: ['string', 'null'], description: 'For people; nothing depends on it.' },
        wait_ms: { type: 'integer', minimum: 0, maximum: LOCK_WAIT_MS_MAX, default: 0 },
      },
    ),
    handler(request) {
      const command = parseAcquire(bodyFields(request.body));
      return command.waitMs > 0
        ? sendWaiting(context, request, command)
        : send(context, request, command, acquireReply);
    },
  };
}

/** @throws {ServiceError} `UNPROCESSABLE_BODY` */
function parseAcquire(fields: BodyFields): AcquireLock {
  return {
    type: 'AcquireLock',
    key: fields.string('key'),
    ttlMs: fields.integer('ttl_ms'),
    owner: fields.optionalString('owner') ?? null,
    waitMs: fields.optionalInteger('wait_ms') ?? 0,
  };
}

function releaseRoute(context: RestContext): RestRoute {
  return {
    method: 'POST',
    pattern: `${locksBase}/locks/release`,
    operationId: 'releaseLock',
    body: 'json',
    auth: 'required',
    docs: docsOf(
      'Locks',
      {
        summary: 'Give a lock back',
        responses: {
          200: {
            description: '`released` is false when the lease was gone, or is held with another token.',
            schema: { type: 'object', properties: { released: { type: 'boolean' } } },
          },
        },
      },
      ['key', 'token'],
      { key: lockNameSchema, token: tokenSchema, ...answered },
    ),
    handler(request) {
      const fields = bodyFields(request.body);
      const key = fields.string('key');
      const token = fields.integer('token');
      return send(context, request, { type: 'ReleaseLock', key, token }, releaseReply);
    },
  };
}

function renewRoute(context: RestContext): RestRoute {
  return {
    method: 'POST',
    pattern: `${locksBase}/locks/renew`,
    operationId: 'renewLock',
    body: 'json',
    auth: 'required',
    docs: docsOf(
      'Locks',
      {
        summary: 'Keep a lock for a while from now on',
        responses: {
          200: {
            description: '`renewed` is false when the lease was lost.',
            schema: { type: 'object', properties: { renewed: { type: 'boolean' } } },
          },
        },
      },
      ['key', 'token', 'ttl_ms'],
      { key: lockNameSchema, token: tokenSchema, ttl_ms: ttlSchema, ...answered },
    ),
    handler(request) {
      const fields = bodyFields(request.body);
      const key = fields.string('key');
      const token = fields.integer('token');
      const ttlMs = fields.integer('ttl_ms');
      return send(context, request, { type: 'RenewLock', key, token, ttlMs }, renewReply);
    },
  };
}

function claimRoute(context: RestContext): RestRoute {
  return {
    method: 'POST',
    pattern: `${locksBase}/inventory/claim`,
    operationId: 'claimUnits',
    body: 'json',
    auth: 'required',
    docs: docsOf(
      'Inventory',
      {
        summary: 'Take units from a pool, all or none',
        description:
          'The first claim of a pool, successful or not, sets it to `capacity`; later claims ignore the field.',
        responses: {
          200: {
            description: 'They are yours.',
            schema: {
              type: 'object',
              properties: { claimed: { const: true }, remaining: { type: 'integer', minimum: 0 } },
            },
          },
          409: {
            description: 'Fewer remain; nothing was taken.',
            schema: { type: 'object', properties: { claimed: { const: false } } },
          },
        },
      },
      ['pool', 'n', 'capacity'],
      { pool: lockNameSchema, n: unitsSchema, capacity: { ...unitsSchema, minimum: 0 } },
    ),
    handler: (request) => send(context, request, parseClaim(bodyFields(request.body)), claimReply),
  };
}

/** @throws {ServiceError} `UNPROCESSABLE_BODY` */
function parseClaim(fields: BodyFields): ClaimUnits {
  return {
    type: 'ClaimUnits',
    pool: fields.string('pool'),
    n: fields.integer('n'),
    capacity: fields.integer('capacity'),
  };
}

function releaseUnitsRoute(context: RestContext): RestRoute {
  return {
    method: 'POST',
    pattern: `${locksBase}/inventory/release`,
    operationId: 'releaseUnits',
    body: 'json',
    auth: 'required',
    docs: docsOf(
      'Inventory',
      {
        summary: 'Put units back into a pool, never beyond its capacity',
        responses: {
          200: {
            description: 'What remains now.',
            schema: { type: 'object', properties: { remaining: { type: 'integer', minimum: 0 } } },
          },
          404: {
            description: 'There is no such repository or branch, or nobody has claimed from the pool yet.',
          },
        },
      },
      ['pool', 'n'],
      { pool: lockNameSchema, n: unitsSchema },
    ),
    handler(request) {
      const fields = bodyFields(request.body);
      const pool = fields.string('pool');
      return send(
        context,
        request,
        { type: 'ReleaseUnits', pool, n: fields.integer('n') },
        releaseUnitsReply,
      );
    },
  };
}
