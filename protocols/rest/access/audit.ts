import { AUDIT_PAGE_MAX, type AuditEntry, type ListAudit } from '#actors/tenant/messages.ts';
import { actorId } from '#runtime/actor/actor-id.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { clampedInteger } from '../reads/read-parameters.ts';
import { callerOf, type RestContext } from '../rest-context.ts';
import type { RestRequest, RestRoute } from '../rest-route.ts';
import { requireConsole } from './admin-users.ts';

const PAGE_DEFAULT = 100;

/** A cursor is the sequence of the last entry of the page before. */
const cursorShape = /^[1-9]\d{0,11}$/;

/**
 * The audit trail of a tenant, for its administrators.
 *
 * @see docs/interface/accounts.md#audit-trail
 */
export function auditRoutes(context: RestContext): readonly RestRoute[] {
  return [
    {
      method: 'GET',
      pattern: '/api/svc/sys/{tenant}/audit',
      operationId: 'listAdminActions',
      body: 'none',
      auth: 'required',
      permit: requireConsole,
      docs: {
        summary: 'What administrators did',
        description:
          'Newest first: accounts, keys, passwords, repositories and configuration of the tenant, with who changed them. Entries are kept for 400 days, at most 100,000 of them.',
        tag: 'Admin',
        parameters: [
          {
            name: 'limit',
            in: 'query',
            schema: { type: 'integer', minimum: 1, maximum: AUDIT_PAGE_MAX, default: PAGE_DEFAULT },
          },
          { name: 'cursor', in: 'query', description: '`next_cursor` of the page before.' },
        ],
        responses: {
          200: {
            description: 'A page.',
            schema: {
              type: 'object',
              properties: {
                items: { type: 'array', items: entrySchema },
                next_cursor: { type: ['string', 'null'] },
              },
            },
          },
          400: { description: 'The cursor is none.' },
          401: { description: 'There is no valid login.' },
          403: { description: 'The caller is no administrator of the tenant, or has no `console_login`.' },
        },
      },
      async handler(request) {
        const limit = clampedInteger(request.query, 'limit', { min: 1, max: AUDIT_PAGE_MAX }) ?? PAGE_DEFAULT;
        const query: ListAudit = { type: 'ListAudit', limit, ...cursorOf(request) };
        const actor = actorId(request.principal.tenant, 'tenant');
        const found = await context.router.query(actor, query, callerOf(request));
        const items = found as readonly AuditEntry[];
        const last = items.length < limit ? undefined : items.at(-1);
        return {
          status: 200,
          json: { items, next_cursor: last === undefined ? null : String(last.sequence) },
        };
      },
    },
  ];
}

const entrySchema = {
  type: 'object',
  properties: {
    sequence: { type: 'integer', description: 'Rises with each entry.' },
    at: { type: 'string', format: 'date-time' },
    actor: {
      type: 'object',
      properties: {
        user_id: { type: ['string', 'null'], description: 'null for the server itself' },
        username: { type: 'string' },
      },
    },
    action: { type: 'string' },
    subject: { type: 'string', description: 'What it was done to: a username, a repository, a tenant.' },
    details: { type: 'object' },
  },
} as const;

function cursorOf({ query }: RestRequest): Pick<ListAudit, 'before'> {
  const cursor = query.get('cursor');
  if (cursor === undefined || cursor === '') return {};
  if (!cursorShape.test(cursor))
    throw new ServiceError('INVALID_CURSOR', 'The cursor belongs to another listing', { field: 'cursor' });
  return { before: Number(cursor) };
}
