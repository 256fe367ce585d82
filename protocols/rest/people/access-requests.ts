import type { Identity } from '#actors/identities/messages.ts';
import {
  ACCESS_PAGE_MAX,
  type AccessEntry,
  type AccessPage,
  accessStatuses,
  INVITATION_DAYS_MAX,
} from '#actors/identities/people-messages.ts';
import type { IdentitiesProvisioning } from '#protocols/identity/ports.ts';
import { type BodyFields, bodyFields } from '#protocols/http/requests/body-fields.ts';
import type { HttpReply, JsonSchema, ResponseDocs } from '#protocols/http/route.ts';
import { assert } from '#runtime/base/assert.ts';
import type { JsonObject } from '#runtime/content/values/json-value.ts';
import { invalid, ServiceError } from '#runtime/errors/service-error.ts';
import { recordAdminAction } from '../access/admin-actions.ts';
import type { RestContext } from '../rest-context.ts';
import type { RestRequest, RestRoute } from '../rest-route.ts';
import { type DecidersContext, requireDecider } from './deciders.ts';
import { pageOf } from './identity-users.ts';
import type { Member, RepositoryMembers } from './repository-members.ts';
import { optionalRoles, requiredRoles, rolesSchema } from './role-names.ts';

/** Dependencies of the routes. */
export interface AccessRequestsContext extends DecidersContext, RestContext {
  readonly identities: IdentitiesProvisioning;
  readonly members: RepositoryMembers;
}

const tag = 'Access to repositories';
const base = '/repos/{repo}/access';

/** Entries in one answer, unless the request says otherwise. */
const PER_PAGE_DEFAULT = 50;

/** Longest message or reason, in UTF-16 units. */
const TEXT_CHARACTERS_MAX = 2_000;

/** Validity of an invitation, unless the request says otherwise, in days. */
const INVITATION_DAYS = 7;

/** Who decides where no decision is required. */
const SELF = 'system';

/** Maximum bytes of a body. */
const BODY_BYTES_MAX = 64 * 1024;

const shortText = { type: 'string', maxLength: TEXT_CHARACTERS_MAX } as const;
const optionalText = { type: ['string', 'null'] } as const;
const time = { type: 'string', format: 'date-time' } as const;

const doneSchema: JsonSchema = {
  type: 'object',
  properties: { message: { type: 'string' }, id: { type: 'string' } },
};

const refusals = {
  401: { description: 'There is no valid login.' },
  403: { description: 'The caller does not decide on access.' },
} as const satisfies Record<number, ResponseDocs>;

/** A body of a route that changes something. */
function bodyOf(
  properties: Readonly<Record<string, JsonSchema>>,
  ...required: readonly string[]
): JsonSchema {
  return {
    type: 'object',
    additionalProperties: false,
    properties,
    ...(required.length === 0 ? {} : { required }),
  };
}

/**
 * Requests for access to a repository, invitations to it, and its members.
 *
 * @see docs/interface/access-requests.md
 */
export function accessRequestRoutes(context: AccessRequestsContext): readonly RestRoute[] {
  return [
    requestRoute(context),
    listRoute(context),
    approveRoute(context),
    denyRoute(context),
    inviteRoute(context),
    grantRoute(context),
    revokeRoute(context),
    membersRoute(context),
  ];
}

/** A decision for the audit trail. */
interface Decision {
  readonly reply: HttpReply;
  /** Absent: nothing was decided. */
  readonly noted?: {
    readonly action: string;
    /** The identity, the address, or the entry. */
    readonly subject: string;
    readonly roles?: readonly string[];
  };
}

/**
 * A route for those who decide; others are refused before anything else is looked at. What an administrator decides is in
 * the audit trail. What a person decides, the revision of the user node and the entry say.
 */
function decided(
  context: AccessRequestsContext,
  route: Omit<RestRoute, 'auth' | 'handler' | 'bodyBytesMax'> & {
    readonly decide: (request: RestRequest, by: string) => Promise<Decision>;
  },
): RestRoute {
  const { decide, ...rest } = route;
  return {
    ...rest,
    auth: 'required',
    audience: 'tenant',
    bodyBytesMax: BODY_BYTES_MAX,
    admit: async (request) => void (await requireDecider(context, request)),
    async handler(request) {
      const { noted, reply } = await decide(request, await requireDecider(context, request));
      if (noted !== undefined && request.principal.kind === 'admin') {
        const { action, roles = [], subject } = noted;
        const details = { repository: request.segment('repo'), roles };
        await recordAdminAction(context, request, { action, subject, details });
      }
      return reply;
    },
  };
}

function requestRoute(context: AccessRequestsContext): RestRoute {
  return {
    method: 'POST',
    pattern: `${base}/request`,
    operationId: 'requestAccess',
    body: 'optional-json',
    bodyBytesMax: BODY_BYTES_MAX,
    auth: 'required',
    audience: 'identities',
    docs: {
      summary: 'Ask for access to a repository',
      description:
        'For people with an access token. A request that is pending already gets the new message and roles. Where the tenant requires no approval, and the repository does not either, the caller gets the default roles at once; other roles are decided on.',
      tag,
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

async function ask({ members, people }: AccessRequestsContext, request: RestRequest): Promise<HttpReply> {
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
  const isGranted = roles.length === 0 && !settings.require_approval;
  if (
    !isGranted ||
    !(await members.isOpen(tenant, repository)) ||
    (await members.isSuspended(tenant, repository, identityId))
  )
    return done('Access requested', entry.id);
  const granted = { type: 'DecideAccess', repository: part, id: entry.id, decision: 'active' } as const;
  await people.command(tenant, { ...granted, reason: null, by: SELF });
  await members.admit(tenant, repository, await people.require(tenant, identityId), undefined, SELF);
  return done('Access granted', entry.id);
}

function listRoute(context: AccessRequestsContext): RestRoute {
  return decided(context, {
    method: 'GET',
    pattern: `${base}/requests`,
    operationId: 'listAccessRequests',
    body: 'none',
    docs: {
      summary: 'Requests for access to a repository, and invitations to it',
      description: 'An entry stays for 90 days after its last change, an invitation until it expires.',
      tag,
      parameters: [
        { name: 'page', in: 'query', schema: { type: 'integer', minimum: 1, default: 1 } },
        {
          name: 'per_page',
          in: 'query',
          schema: { type: 'integer', minimum: 1, maximum: ACCESS_PAGE_MAX, default: PER_PAGE_DEFAULT },
        },
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
        ...pageOf(request, ACCESS_PAGE_MAX, PER_PAGE_DEFAULT),
        ...(status === undefined ? {} : { status }),
      })) ?? { entries: [], total: 0 };
      const requests = await Promise.all(page.entries.map((entry) => entryInfo(context, tenant, entry)));
      return { reply: { status: 200, json: { requests, total: page.total } } };
    },
  });
}

function approveRoute(context: AccessRequestsContext): RestRoute {
  return decided(context, {
    method: 'POST',
    pattern: `${base}/approve/{id}`,
    operationId: 'approveAccess',
    body: 'json',
    docs: {
      summary: 'Grant a request for access',
      description:
        'The person gets a user node in the repository with the roles, in addition to those it has. Repeating it gives the roles again.',
      tag,
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

function denyRoute(context: AccessRequestsContext): RestRoute {
  return decided(context, {
    method: 'POST',
    pattern: `${base}/deny/{id}`,
    operationId: 'denyAccess',
    body: 'optional-json',
    docs: {
      summary: 'Deny a request for access, or withdraw an invitation',
      tag,
      requestSchema: bodyOf({ reason: shortText }),
      responses: {
        200: { description: 'It is denied.', schema: doneSchema },
        ...refusals,
        404: { description: 'There is no such repository or request.' },
        409: { description: 'The request was granted already: revoke the access.' },
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

function inviteRoute(context: AccessRequestsContext): RestRoute {
  return decided(context, {
    method: 'POST',
    pattern: `${base}/invite`,
    operationId: 'inviteToRepository',
    body: 'json',
    docs: {
      summary: 'Invite an address',
      description:
        'Whoever logs in to the repository with the address, and has proven it, gets the roles. The answer is the same whether or not there is an account with the address. An open invitation of the address is replaced.',
      tag,
      requestSchema: bodyOf(
        {
          email: { type: 'string' },
          roles: rolesSchema,
          message: shortText,
          expires_in_days: {
            type: 'integer',
            minimum: 1,
            maximum: INVITATION_DAYS_MAX,
            default: INVITATION_DAYS,
          },
        },
        'email',
        'roles',
      ),
      responses: {
        200: { description: 'The invitation is stored.', schema: doneSchema },
        400: { description: 'The address or a role is not acceptable.' },
        403: { description: 'The caller does not decide on access, or invitations are switched off.' },
        401: { description: 'There is no valid login.' },
        404: { description: 'There is no such repository.' },
        429: { description: 'Too many invitations are open.' },
      },
    },
    async decide(request, by) {
      const { members, identities, people } = context;
      const { tenant } = request.principal;
      const fields = bodyFields(request.body);
      const email = fields.string('email');
      const roles = requiredRoles(fields, 'roles');
      const message = shortOf(fields, 'message');
      const days = fields.optionalInteger('expires_in_days') ?? INVITATION_DAYS;
      const repository = request.segment('repo');
      await members.requireRoles(tenant, repository, roles);
      const part = await members.partOf(tenant, repository);
      await identities.createIdentities(tenant);
      const invite = {
        type: 'InviteToRepository',
        repository: part,
        email,
        roles,
        message,
        days,
        by,
      } as const;
      const entry = await people.command<AccessEntry>(tenant, invite);
      const noted = { action: 'access_invited', subject: entry.email as string, roles };
      return { reply: done('Invitation stored', entry.id), noted };
    },
  });
}

function grantRoute(context: AccessRequestsContext): RestRoute {
  return decided(context, {
    method: 'POST',
    pattern: `${base}/grant`,
    operationId: 'grantAccess',
    body: 'json',
    docs: {
      summary: 'Give a person access',
      description: 'As approving a request, without one.',
      tag,
      requestSchema: bodyOf({ identity_id: { type: 'string' }, roles: rolesSchema }, 'identity_id', 'roles'),
      responses: {
        200: { description: 'The person has access.', schema: doneSchema },
        400: { description: 'There is no such role.' },
        ...refusals,
        404: { description: 'There is no such repository or identity (`IDENTITY_NOT_FOUND`).' },
        409: { description: 'The account is deactivated.' },
      },
    },
    async decide(request, by) {
      const { members } = context;
      const { tenant } = request.principal;
      const fields = bodyFields(request.body);
      const identityId = fields.string('identity_id');
      const roles = requiredRoles(fields, 'roles');
      const repository = request.segment('repo');
      await members.requireRoles(tenant, repository, roles);
      await members.admit(tenant, repository, await activePerson(context, tenant, identityId), roles, by);
      const noted = { action: 'access_granted', subject: identityId, roles };
      return { reply: done('Access granted', identityId), noted };
    },
  });
}

function revokeRoute(context: AccessRequestsContext): RestRoute {
  return decided(context, {
    method: 'POST',
    pattern: `${base}/revoke/{identity_id}`,
    operationId: 'revokeAccess',
    body: 'optional-json',
    docs: {
      summary: 'End the access of a person',
      description:
        'The user node gets the status `inactive`, and stays. It counts for the next request of the person. An open invitation of the address of the person is withdrawn. Granting access again takes it back, and so does a later invitation.',
      tag,
      requestSchema: bodyOf({ reason: shortText }),
      responses: {
        200: { description: 'The person has no access.', schema: doneSchema },
        ...refusals,
        404: {
          description: 'There is no such repository, or no node of the person (`USER_NODE_NOT_FOUND`).',
        },
      },
    },
    async decide(request, by) {
      const { members, people } = context;
      const { tenant } = request.principal;
      const reason = shortOf(bodyFields(request.body ?? {}), 'reason');
      const identityId = request.segment('identity_id');
      const message = reason === null ? 'Access revoked' : `Access revoked: ${reason}`;
      const commit = { message, actor: by };
      await members.suspend(tenant, request.segment('repo'), identityId, commit, (part) =>
        people.endInvitation(tenant, part, identityId, reason, by),
      );
      const noted = { action: 'access_revoked', subject: identityId };
      return { reply: done('Access revoked', identityId), noted };
    },
  });
}

function membersRoute(context: AccessRequestsContext): RestRoute {
  return decided(context, {
    method: 'GET',
    pattern: `${base}/members`,
    operationId: 'listMembers',
    body: 'none',
    docs: {
      summary: 'The people who have a user node in a repository',
      tag,
      parameters: [
        { name: 'page', in: 'query', schema: { type: 'integer', minimum: 1, default: 1 } },
        {
          name: 'per_page',
          in: 'query',
          schema: { type: 'integer', minimum: 1, maximum: ACCESS_PAGE_MAX, default: PER_PAGE_DEFAULT },
        },
      ],
      responses: {
        200: {
          description: 'By the path of the node.',
          schema: {
            type: 'object',
            properties: {
              members: { type: 'array', items: memberSchema },
              total: { type: 'integer', description: 'Of all pages.' },
            },
          },
        },
        ...refusals,
        404: { description: 'There is no such repository.' },
      },
    },
    async decide(request) {
      const { tenant } = request.principal;
      const page = pageOf(request, ACCESS_PAGE_MAX, PER_PAGE_DEFAULT);
      const { members, total } = await context.members.list(tenant, request.segment('repo'), page);
      const infos = await Promise.all(members.map((member) => memberInfo(context, tenant, member)));
      return { reply: { status: 200, json: { members: infos, total } } };
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

async function entryInfo(
  { people }: AccessRequestsContext,
  tenant: string,
  entry: AccessEntry,
): Promise<JsonObject> {
  const { identity_id: identityId } = entry;
  const person =
    identityId === null
      ? undefined
      : await people.query<Identity>(tenant, { type: 'FindIdentity', identityId });
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

const memberSchema: JsonSchema = {
  type: 'object',
  properties: {
    identity_id: { ...optionalText, description: 'null for a node of nobody' },
    email: optionalText,
    display_name: optionalText,
    avatar_url: optionalText,
    roles: { type: 'array', items: { type: 'string' } },
    status: { type: 'string', description: '`active`, `inactive`, `deleted`, or `revoked`.' },
    granted_at: { ...time, description: 'Since when there is the node.' },
    granted_by: { type: 'string', description: 'Who made the node; `system` for a login or a grant.' },
  },
};

async function memberInfo(
  { people }: AccessRequestsContext,
  tenant: string,
  member: Member,
): Promise<JsonObject> {
  const { identityId } = member;
  const person =
    identityId === null
      ? undefined
      : await people.query<Identity>(tenant, { type: 'FindIdentity', identityId });
  return {
    identity_id: identityId,
    email: member.email,
    display_name: member.displayName,
    avatar_url: person?.avatar_url ?? null,
    roles: member.roles,
    status: member.status,
    granted_at: member.createdAt,
    granted_by: member.createdBy,
  };
}

/** @throws {ServiceError} `IDENTITY_NOT_FOUND`; `CONFLICT` for one that is deactivated */
async function activePerson(
  { people }: AccessRequestsContext,
  tenant: string,
  identityId: string,
): Promise<Identity> {
  const identity = await people.require(tenant, identityId);
  if (!identity.is_active) throw new ServiceError('CONFLICT', 'The account is deactivated');
  return identity;
}

/** @throws {ServiceError} `VALIDATION_FAILED` */
function shortOf(fields: BodyFields, name: string): string | null {
  const text = fields.optionalString(name) ?? null;
  if (text !== null && text.length > TEXT_CHARACTERS_MAX)
    throw invalid(`\`${name}\` is longer than ${TEXT_CHARACTERS_MAX} characters`, { field: name });
  return text;
}

function done(message: string, id: string): HttpReply {
  return { status: 200, json: { message, id } };
}

function noRequest(): ServiceError {
  return new ServiceError('NOT_FOUND', 'There is no such request');
}
