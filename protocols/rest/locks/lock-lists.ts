import {
  type ListLocks,
  type ListPools,
  type LockInfo,
  type LockPage,
  LOCKS_PAGE_DEFAULT,
  LOCKS_PAGE_MAX,
  type LocksQuery,
  type PoolInfo,
  type PoolPage,
  type ReadLock,
  type ReadPool,
} from '#actors/locks/messages.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type {
  HttpReply,
  JsonSchema,
  ParameterDocs,
  RouteDocs,
  SharedAddress,
} from '#protocols/http/route.ts';
import { lockedBranch, lockNameSchema, locksBase, locksDisabled, missingBranch } from './locks.ts';
import { requireTenantAdministrator } from '../access/permission.ts';
import { clampedInteger } from '../reads/read-parameters.ts';
import { callerOf, type RestContext } from '../rest-context.ts';
import type { RestRequest, RestRoute } from '../rest-route.ts';

const slashAllowed = { allowSlash: true } as const;

const pageParameters: readonly ParameterDocs[] = [
  {
    name: 'limit',
    in: 'query',
    schema: { type: 'integer', minimum: 1, maximum: LOCKS_PAGE_MAX, default: LOCKS_PAGE_DEFAULT },
  },
  { name: 'cursor', in: 'query', description: '`next_cursor` of the page before.' },
];

const lockInfoSchema: JsonSchema = {
  type: 'object',
  properties: {
    key: lockNameSchema,
    token: { type: 'integer' },
    expires_at_ms: { type: 'integer' },
    acquired_at_ms: { type: 'integer' },
    ttl_ms: { type: 'integer' },
    owner: { type: ['string', 'null'] },
    waiting: { type: 'integer', description: 'How many wait in line for it.' },
  },
};

const poolInfoSchema: JsonSchema = {
  type: 'object',
  properties: { pool: lockNameSchema, capacity: { type: 'integer' }, remaining: { type: 'integer' } },
};

/** The held locks and the pools of a branch, for administrators. */
export function lockListRoutes(context: RestContext): readonly RestRoute[] {
  return [listLocksRoute(context), readLockRoute(context), listPoolsRoute(context), readPoolRoute(context)];
}

/**
 * One address for both lists. `/api/workspaces/{repo}/{name}` has as many variables as each of them, and some texts
 * match both patterns.
 */
function listAddress(value: 'locks' | 'inventory'): SharedAddress {
  return {
    pattern: `${locksBase}/{list}`,
    variable: 'list',
    description: 'The locks that are held, or the pools that were touched.',
    value,
    operationId: 'listLocksOrPools',
    summary: 'The locks that are held, or the pools that were touched',
  };
}

function docsOf(
  docs: Pick<RouteDocs, 'summary' | 'tag' | 'address'>,
  schema: JsonSchema,
  isPage: boolean,
): RouteDocs {
  const page: JsonSchema = {
    type: 'object',
    required: ['items', 'next_cursor'],
    properties: { items: { type: 'array', items: schema }, next_cursor: { type: ['string', 'null'] } },
  };
  return {
    ...docs,
    ...(isPage ? { parameters: pageParameters } : {}),
    responses: {
      200: isPage
        ? { description: 'One page, in byte order of the names.', schema: page }
        : { description: 'It.', schema },
      403: { description: 'The caller is no administrator.' },
      404: missingBranch,
      503: locksDisabled,
    },
  };
}

/** A branch without a lock actor has never had a lock; a read does not create the actor. */
async function ask<Answer>(
  context: RestContext,
  request: RestRequest,
  query: LocksQuery,
  otherwise: Answer,
): Promise<Answer> {
  const caller = callerOf(request);
  const { locks } = await lockedBranch(context, request);
  try {
    return (await context.router.query(locks, query, caller)) as Answer;
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'NOT_FOUND') return otherwise;
    throw error;
  }
}

/** @throws {ServiceError} `INVALID_CURSOR`, `VALIDATION_FAILED` */
function pageOf(request: RestRequest): Pick<ListLocks, 'limit' | 'after'> {
  const limit = clampedInteger(request.query, 'limit', { min: 1, max: LOCKS_PAGE_MAX }) ?? LOCKS_PAGE_DEFAULT;
  const cursor = request.query.get('cursor');
  if (cursor === undefined || cursor === '') return { limit };
  const after = Buffer.from(cursor, 'base64url').toString();
  if (cursorOf(after) !== cursor) throw new ServiceError('INVALID_CURSOR');
  return { limit, after };
}

/** The cursor is a name, so pages stay consistent whatever happens between them. */
function cursorOf(name: string | null): string | null {
  return name === null ? null : Buffer.from(name).toString('base64url');
}

function listLocksRoute(context: RestContext): RestRoute {
  return {
    method: 'GET',
    pattern: `${locksBase}/locks`,
    operationId: 'listLocks',
    body: 'none',
    auth: 'required',
    permit: requireTenantAdministrator,
    docs: docsOf(
      { summary: 'The locks that are held', tag: 'Locks', address: listAddress('locks') },
      lockInfoSchema,
      true,
    ),
    async handler(request) {
      const query: ListLocks = { type: 'ListLocks', ...pageOf(request) };
      return pageReply(await ask<LockPage>(context, request, query, { items: [], next: null }));
    },
  };
}

function readLockRoute(context: RestContext): RestRoute {
  return {
    method: 'GET',
    pattern: `${locksBase}/locks/{key}`,
    operationId: 'readLock',
    body: 'none',
    auth: 'required',
    permit: requireTenantAdministrator,
    docs: docsOf({ summary: 'A lock that is held', tag: 'Locks' }, lockInfoSchema, false),
    async handler(request) {
      const key = request.segment('key', slashAllowed);
      const query: ReadLock = { type: 'ReadLock', key };
      return infoReply(await ask<LockInfo | undefined>(context, request, query, undefined), 'lock', key);
    },
  };
}

function listPoolsRoute(context: RestContext): RestRoute {
  return {
    method: 'GET',
    pattern: `${locksBase}/inventory`,
    operationId: 'listPools',
    body: 'none',
    auth: 'required',
    permit: requireTenantAdministrator,
    docs: docsOf(
      { summary: 'The pools that were touched', tag: 'Inventory', address: listAddress('inventory') },
      poolInfoSchema,
      true,
    ),
    async handler(request) {
      const query: ListPools = { type: 'ListPools', ...pageOf(request) };
      return pageReply(await ask<PoolPage>(context, request, query, { items: [], next: null }));
    },
  };
}

function readPoolRoute(context: RestContext): RestRoute {
  return {
    method: 'GET',
    pattern: `${locksBase}/inventory/{pool}`,
    operationId: 'readPool',
    body: 'none',
    auth: 'required',
    permit: requireTenantAdministrator,
    docs: docsOf({ summary: 'A pool', tag: 'Inventory' }, poolInfoSchema, false),
    async handler(request) {
      const pool = request.segment('pool', slashAllowed);
      const query: ReadPool = { type: 'ReadPool', pool };
      return infoReply(await ask<PoolInfo | undefined>(context, request, query, undefined), 'pool', pool);
    },
  };
}

function pageReply({ items, next }: LockPage | PoolPage): HttpReply {
  return { status: 200, json: { items, next_cursor: cursorOf(next) } };
}

/** @throws {ServiceError} `NOT_FOUND`, `POOL_NOT_FOUND` */
function infoReply(info: LockInfo | PoolInfo | undefined, kind: 'lock' | 'pool', name: string): HttpReply {
  if (info !== undefined) return { status: 200, json: info };
  const shown = name.slice(0, 80);
  if (kind === 'lock') throw new ServiceError('NOT_FOUND', `Nobody holds the lock '${shown}'`);
  throw new ServiceError('POOL_NOT_FOUND', `Nobody has claimed from pool '${shown}' yet`);
}
