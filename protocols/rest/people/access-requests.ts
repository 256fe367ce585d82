import {
  ACCESS_PAGE_MAX,
  type AccessEntry,
  type AccessPage,
  accessStatuses,
} from '#actors/identities/people-messages.ts';
import { bodyFields } from '#protocols/http/requests/body-fields.ts';
import type { HttpReply, JsonSchema } from '#protocols/http/route.ts';
import { assert } from '#runtime/base/assert.ts';
import type { JsonObject } from '#runtime/content/values/json-value.ts';
import { invalid, ServiceError } from '#runtime/errors/service-error.ts';
import type { RestRequest, RestRoute } from '../rest-route.ts';
import {
  ACCESS_BODY_BYTES_MAX,
  type AccessContext,
  accessBase,
  accessTag,
  activePerson,
  bodyOf,
  decided,
  done,
  doneSchema,
  optionalText,
  personOf,
  refusals,
  shortOf,
  shortText,
  time,
} from './access-routes.ts';
import { pageOf, pageParameters } from './pages.ts';
import { optionalRoles, requiredRoles, rolesSchema } from './role-names.ts';

/** Who decides where no decision is required. */
const SELF = 'system';

/**
 * Requests for access to a repository, and the decisions on them.
 *
 * @see docs/interface/access-requests.md#requests
 */
export function accessRequestRoutes(context: AccessContext): readonly RestRoute[] {
  return [requestRoute(context), listRoute(context), approveRoute(context), denyRoute(context)];
}

function requestRoute(context: AccessContext): RestRoute {
  return {
    method: 'POST',
    pattern: `${accessBase}/request`,
    operationId: 'requestAccess',
    body: 'optional-json',
    bodyBytesMax: ACCESS_BODY_BYTES_MAX,
    auth: 'required',
    audience: 'identities',
    docs: {
      summary: 'Ask for access to a repository',
      description:
        'For people with an access token. A request that is pending already gets the new message and roles. Where the tenant requires no approval, and the repository does not either, the caller gets the default roles at once; other roles are decided on.',
      tag: accessTag,
      requestSchema: bodyOf({ message: shortText, requested_roles: rolesSchema }),
      responses: {
        200: { description: 'The request is stored, or granted.', schema: doneSchema },
        401: { description: 'There is no valid login.' },
        403: { description: 'The caller is no identity, or requests are switched off.' },
        404: { description: 'There is no such repository.' },
        429: { description: 'Too many requests for the repository are pending.' },
      },
    },
    handler: (request) => ask(context, request),
  };
}

async function ask({ members, people }: AccessContext, request: RestRequest): Promise<HttpReply> {
  const { principal } = request;
  assert(principal.kind === 'identity', 'the route is for identities');
  const { identityId, tenant } = principal;
  const fields = bodyFields(request.body ?? {});
  const message = shortOf(fields, 'message');
  const roles = optionalRoles(fields, 'requested_roles') ?? [];
  const repository = request.segment('repo');
  const part = await members.partOf(tenant, repository);
  const entry = await people.command<AccessEntry>(tenant, {
    type: 'RequestAccess',
    repository: part,
    identityId,
    message,
    roles,
  });
  const { access_settings: settings } = await people.configuration(tenant);
  // Roles that somebody asks for are never given without a decision.
  const isOpen =
    roles.length === 0 && !settings.require_approval && (await members.isOpen(tenant, repository));
  const isIn =
    isOpen && (await members.admitOpenly(tenant, repository, await people.require(tenant, identityId), SELF));
  if (!isIn) return done('Access requested', entry.id);
  const granted = { type: 'DecideAccess', repository: part, id: entry.id, decision: 'active' } as const;
  await people.command(tenant, { ...granted, reason: null, by: SELF });
  return done('Access granted', entry.id);
}

function listRoute(context: AccessContext): RestRoute {
  return decided(context, {
    method: 'GET',
    pattern: `${accessBase}/requests`,
    operationId: 'listAccessRequests',
    body: 'none',
    docs: {
      summary: 'Requests for access to a repository, and invitations to it',
      description: 'An entry stays for 90 days after its last change, an invitation until it expires.',
      tag: accessTag,
      parameters: [
        ...pageParameters(ACCESS_PAGE_MAX),
        { name: 'status', in: 'query', schema: { type: 'string', enum: accessStatuses } },
      ],
      responses: {
        200: {
          description: 'By status, the newest first.',
          schema: {
            type: 'object',
            properties: {
              requests: { type: 'array', items: entrySchema },
              total: { type: 'integer', description: 'Of all pages.' },
            },
          },
        },
        ...refusals,
        404: { description: 'There is no such repository.' },
      },
    },
    async decide(request) {
      const { members, people } = context;
      const { tenant } = request.principal;
      const text = request.query.get('status');
      const status = accessStatuses.find((one) => one === text);
      if (text !== undefined && status === undefined)
        throw invalid(`The query parameter 'status' is one of ${accessStatuses.join(', ')}`, {
          field: 'status',
        });
      const page = (await people.query<AccessPage>(tenant, {
        type: 'ListAccess',
        repository: await members.partOf(tenant, request.segment('repo')),
        ...pageOf(request, ACCESS_PAGE_MAX),
        ...(status === undefined ? {} : { status }),
      })) ?? { entries: [], total: 0 };
      const requests = await Promise.all(page.entries.map((entry) => entryInfo(context, tenant, entry)));
      return { reply: { status: 200, json: { requests, total: page.total } } };
    },
  });
}

function approveRoute(context: AccessContext): RestRoute {
  return decided(context, {
    method: 'POST',
    pattern: `${accessBase}/approve/{id}`,
    operationId: 'approveAccess',
    body: 'json',
    docs: {
      summary: 'Grant a request for access',
      description:
        'The person gets a user node in the repository with the roles, in addition to those it has. Repeating it gives the roles again.',
      tag: accessTag,
      requestSchema: bodyOf({ roles: rolesSchema, message: shortText }, 'roles'),
      responses: {
        200: { description: 'The person has access.', schema: doneSchema },
        400: { description: 'There is no such role.' },
        ...refusals,
        404: { description: 'There is no such repository or request.' },
        409: { description: 'The request was denied already, or the account is deactivated.' },
      },
    },
    async decide(request, by) {
      const { members, people } = context;
      const { tenant } = request.principal;
      const fields = bodyFields(request.body);
      const roles = requiredRoles(fields, 'roles');
      const reason = shortOf(fields, 'message');
      const repository = request.segment('repo');
      await members.requireRoles(tenant, repository, roles);
      const part = await members.partOf(tenant, repository);
      const id = request.segment('id');
      const entry = await people.query<AccessEntry>(tenant, { type: 'FindAccess', repository: part, id });
      if (entry?.identity_id == null) throw noRequest();
      const identity = await activePerson(context, tenant, entry.identity_id);
      // Decided first: nobody has access whose request somebody else denies at the same time.
      const decision = {
        type: 'DecideAccess',
        repository: part,
        id,
        decision: 'active',
        reason,
        by,
      } as const;
      await people.command(tenant, decision);
      await members.admit(tenant, repository, identity, roles, by);
      const noted = { action: 'access_granted', subject: identity.identity_id, roles };
      return { reply: done('Access granted', id), noted };
    },
  });
}

function denyRoute(context: AccessContext): RestRoute {
  return decided(context, {
    method: 'POST',
    pattern: `${accessBase}/deny/{id}`,
    operationId: 'denyAccess',
    body: 'optional-json',
    docs: {
      summary: 'Deny a request for access, or withdraw an invitation',
      tag: accessTag,
      requestSchema: bodyOf({ reason: shortText }),
      responses: {
        200: { description: 'It is denied.', schema: doneSchema },
        ...refusals,
        404: { description: 'There is no such repository or request.' },
        409: { description: 'The request was granted, or the invitation used, already: revoke the access.' },
      },
    },
    async decide(request, by) {
      const { members, people } = context;
      const { tenant } = request.principal;
      const reason = shortOf(bodyFields(request.body ?? {}), 'reason');
      const id = request.segment('id');
      const repository = await members.partOf(tenant, request.segment('repo'));
      const decision = { type: 'DecideAccess', repository, id, decision: 'denied', reason, by } as const;
      await people.command(tenant, decision);
      return { reply: done('Access denied', id), noted: { action: 'access_denied', subject: id } };
    },
  });
}

const entrySchema: JsonSchema = {
  type: 'object',
  properties: {
    id: { type: 'string' },
    identity_id: { ...optionalText, description: 'null for an invitation' },
    email: { type: 'string' },
    display_name: optionalText,
    avatar_url: optionalText,
    message: optionalText,
    requested_roles: { type: 'array', items: { type: 'string' } },
    status: { type: 'string', enum: accessStatuses },
    reason: optionalText,
    decided_by: optionalText,
    created_at: time,
    updated_at: time,
  },
};

async function entryInfo(context: AccessContext, tenant: string, entry: AccessEntry): Promise<JsonObject> {
  const { identity_id: identityId } = entry;
  const person = await personOf(context, tenant, identityId);
  return {
    id: entry.id,
    identity_id: identityId,
    email: person?.email ?? entry.email,
    display_name: person?.display_name ?? null,
    avatar_url: person?.avatar_url ?? null,
    message: entry.message,
    requested_roles: entry.requested_roles,
    status: entry.status,
    reason: entry.reason,
    decided_by: entry.decided_by,
    created_at: entry.created_at,
    updated_at: entry.updated_at,
  };
}

function noRequest(): ServiceError {
  return new ServiceError('NOT_FOUND', 'There is no such request');
}
