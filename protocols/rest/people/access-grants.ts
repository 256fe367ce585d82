import {
  ACCESS_PAGE_MAX,
  type AccessEntry,
  INVITATION_DAYS_MAX,
} from '#actors/identities/people-messages.ts';
import { bodyFields } from '#protocols/http/requests/body-fields.ts';
import type { JsonSchema } from '#protocols/http/route.ts';
import type { JsonObject } from '#runtime/content/values/json-value.ts';
import type { RestRoute } from '../rest-route.ts';
import {
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
import type { Member } from './repository-members.ts';
import { requiredRoles, rolesSchema } from './role-names.ts';

/** Validity of an invitation, unless the request says otherwise, in days. */
const INVITATION_DAYS = 7;

/**
 * Access to a repository without a request: invitations, grants and revocations, and who has it.
 *
 * @see docs/interface/access-requests.md#members
 */
export function accessGrantRoutes(context: AccessContext): readonly RestRoute[] {
  return [inviteRoute(context), grantRoute(context), revokeRoute(context), membersRoute(context)];
}

function inviteRoute(context: AccessContext): RestRoute {
  return decided(context, {
    method: 'POST',
    pattern: `${accessBase}/invite`,
    operationId: 'inviteToRepository',
    body: 'json',
    docs: {
      summary: 'Invite an address',
      description:
        'Whoever logs in to the repository with the address, and has proven it, gets the roles. The answer is the same whether or not there is an account with the address. An open invitation of the address is replaced.',
      tag: accessTag,
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
        409: { description: 'A user node has the address, and its account was removed.' },
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
      await members.requireInvitable(tenant, repository, email.trim());
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

function grantRoute(context: AccessContext): RestRoute {
  return decided(context, {
    method: 'POST',
    pattern: `${accessBase}/grant`,
    operationId: 'grantAccess',
    body: 'json',
    docs: {
      summary: 'Give a person access',
      description: 'As approving a request, without one.',
      tag: accessTag,
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

function revokeRoute(context: AccessContext): RestRoute {
  return decided(context, {
    method: 'POST',
    pattern: `${accessBase}/revoke/{identity_id}`,
    operationId: 'revokeAccess',
    body: 'optional-json',
    docs: {
      summary: 'End the access of a person',
      description:
        'The user node gets the status `inactive`, and stays. It counts for the next request of the person. An open invitation of the address of the person is withdrawn. Granting access again takes it back, and so does a later invitation.',
      tag: accessTag,
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

function membersRoute(context: AccessContext): RestRoute {
  return decided(context, {
    method: 'GET',
    pattern: `${accessBase}/members`,
    operationId: 'listMembers',
    body: 'none',
    docs: {
      summary: 'The people who have a user node in a repository',
      tag: accessTag,
      parameters: pageParameters(ACCESS_PAGE_MAX),
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
      const page = pageOf(request, ACCESS_PAGE_MAX);
      const { members, total } = await context.members.list(tenant, request.segment('repo'), page);
      const infos = await Promise.all(members.map((member) => memberInfo(context, tenant, member)));
      return { reply: { status: 200, json: { members: infos, total } } };
    },
  });
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

async function memberInfo(context: AccessContext, tenant: string, member: Member): Promise<JsonObject> {
  const { identityId } = member;
  const person = await personOf(context, tenant, identityId);
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
