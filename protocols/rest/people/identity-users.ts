import {
  IDENTITIES_PAGE_MAX,
  type Identity,
  type IdentityChanges,
  type ListIdentities,
  type Registered,
  type Session,
} from '#actors/identities/messages.ts';
import type { StatusChange } from '#actors/identities/people-messages.ts';
import type { IdentitiesProvisioning } from '#protocols/identity/ports.ts';
import { bodyFields } from '#protocols/http/requests/body-fields.ts';
import type { HttpReply, ResponseDocs } from '#protocols/http/route.ts';
import { parseEmail } from '#runtime/access/identity/email-address.ts';
import { requirePolicyPassword } from '#runtime/access/identity/password-policy.ts';
import type { LoginThrottle } from '#runtime/access/login-throttle.ts';
import type { PasswordHasher } from '#runtime/access/password-hasher.ts';
import { actorName } from '#runtime/access/principal.ts';
import { invalid } from '#runtime/errors/service-error.ts';
import { recordAdminAction } from '../access/admin-actions.ts';
import { requireTenantAdministrator } from '../access/permission.ts';
import { callerOf, deliveryOf, type RestContext } from '../rest-context.ts';
import type { RestRequest, RestRoute } from '../rest-route.ts';
import { withIdempotency } from '../write-headers.ts';
import {
  identityInfo,
  identityInfoSchema,
  sessionInfo,
  sessionInfoSchema,
  statusChangeInfo,
  statusChangeSchema,
} from './identity-info.ts';
import { pageOf, pageParameters } from './pages.ts';
import { optionalRoles, rolesSchema } from './role-names.ts';
import type { RepositoryMembers } from './repository-members.ts';
import type { TenantPeople } from './tenant-people.ts';

/** Dependencies of the routes. */
export interface IdentityUsersContext extends RestContext {
  readonly people: TenantPeople;
  readonly members: RepositoryMembers;
  readonly identities: IdentitiesProvisioning;
  readonly hasher: PasswordHasher;
  readonly throttle: Pick<LoginThrottle, 'inTurn'>;
}

const tag = 'Identity users';
const base = '/api/svc/sys/{tenant}/identity-users';

/** Repositories in which one request makes user nodes. */
const REPOSITORIES_MAX = 50;

/** Maximum bytes of a body. */
const BODY_BYTES_MAX = 64 * 1024;

const refusals = {
  401: { description: 'There is no valid login.' },
  403: {
    description: 'The caller is no administrator of the tenant, or has an API key only.',
  },
} as const satisfies Record<number, ResponseDocs>;

const missing = {
  ...refusals,
  404: { description: 'There is no such identity (`IDENTITY_NOT_FOUND`).' },
} as const satisfies Record<number, ResponseDocs>;

/** What the routes have in common. */
const administered = { auth: 'required', permit: requireTenantAdministrator } as const;

/**
 * Administration of the people of a tenant, for its administrators.
 *
 * @see docs/interface/identity-users.md
 */
export function identityUserRoutes(context: IdentityUsersContext): readonly RestRoute[] {
  return [
    listRoute(context),
    createRoute(context),
    readRoute(context),
    linkRoute(context),
    sessionsRoute(context),
    ...withIdempotency([updateRoute(context), removeRoute(context), endSessionsRoute(context)]),
  ];
}

function listRoute({ people }: IdentityUsersContext): RestRoute {
  return {
    ...administered,
    method: 'GET',
    pattern: base,
    operationId: 'listIdentityUsers',
    body: 'none',
    docs: {
      summary: 'The people of the tenant',
      tag,
      parameters: [
        ...pageParameters(IDENTITIES_PAGE_MAX),
        { name: 'email', in: 'query', description: 'Only the one with this address, in any letter case.' },
        { name: 'is_active', in: 'query', schema: { type: 'boolean' } },
      ],
      responses: {
        200: {
          description: 'In the order of their creation.',
          schema: { type: 'array', items: identityInfoSchema },
        },
        400: { description: '`email` is no address (`INVALID_EMAIL`).' },
        ...refusals,
      },
    },
    async handler(request) {
      const { limit, offset } = pageOf(request, IDENTITIES_PAGE_MAX);
      const email = request.query.get('email');
      const isActive = request.query.flag('isActive');
      if (email !== undefined) parseEmail(email);
      const query: ListIdentities = {
        type: 'ListIdentities',
        offset,
        limit,
        ...(email === undefined ? {} : { email }),
        ...(isActive === undefined ? {} : { isActive }),
      };
      const { tenant } = request.principal;
      const found = await people.query<readonly Identity[]>(tenant, query, callerOf(request));
      return { status: 200, json: (found ?? []).map(identityInfo) };
    },
  };
}

function createRoute(context: IdentityUsersContext): RestRoute {
  return {
    ...administered,
    method: 'POST',
    pattern: base,
    operationId: 'createIdentityUser',
    body: 'json',
    bodyBytesMax: BODY_BYTES_MAX,
    docs: {
      summary: 'Create an account for a person',
      description:
        'The password must fit the policy of the tenant. In each repository of `repos` the person gets a user node with the default roles: `default_roles`, else those of the repository, else those of the tenant. Nothing is created when a repository or a role does not exist.',
      tag,
      requestSchema: {
        type: 'object',
        required: ['email', 'password'],
        additionalProperties: false,
        properties: {
          email: { type: 'string' },
          password: { type: 'string' },
          display_name: { type: 'string', description: 'Default: the part of the address before the `@`.' },
          email_verified: { type: 'boolean', default: false },
          must_change_password: { type: 'boolean', default: false },
          repos: { type: 'array', items: { type: 'string' }, maxItems: REPOSITORIES_MAX },
          default_roles: rolesSchema,
        },
      },
      responses: {
        201: { description: 'The account is there.', schema: identityInfoSchema },
        400: {
          description:
            'The address (`INVALID_EMAIL`), the password (`WEAK_PASSWORD`) or a role is not acceptable.',
        },
        ...refusals,
        404: { description: 'There is no such repository.' },
        409: { description: 'An account has the address already (`EMAIL_EXISTS`).' },
      },
    },
    handler: (request) => create(context, request),
  };
}

async function create(context: IdentityUsersContext, request: RestRequest): Promise<HttpReply> {
  const { hasher, identities, members, people, throttle } = context;
  const { tenant } = request.principal;
  const by = actorName(request.principal);
  const fields = bodyFields(request.body);
  const email = fields.string('email');
  const password = fields.string('password');
  const displayName = fields.optionalString('display_name');
  const emailVerified = fields.optionalBoolean('email_verified') ?? false;
  const mustChangePassword = fields.optionalBoolean('must_change_password') ?? false;
  const repositories = [...new Set(fields.optionalStrings('repos') ?? [])];
  const roles = optionalRoles(fields, 'default_roles');
  if (repositories.length > REPOSITORIES_MAX)
    throw invalid(`\`repos\` has more than ${REPOSITORIES_MAX} entries`, { field: 'repos' });
  const { address } = parseEmail(email);
  requirePolicyPassword(password, (await people.configuration(tenant)).password_policy, 'password');
  for (const repository of repositories) {
    await members.requireRoles(tenant, repository, roles ?? []);
    // Otherwise the account would be there, and the answer an error.
    await members.requireAdmissible(tenant, repository, { email: address, email_verified: emailVerified });
  }
  const passwordHash = await throttle.inTurn(request.remoteAddress, () => hasher.hash(password));
  await identities.createIdentities(tenant);
  const { identity } = await people.command<Registered>(tenant, {
    type: 'RegisterIdentity',
    email: address,
    passwordHash,
    emailVerified,
    mustChangePassword,
    ...(displayName === undefined ? {} : { displayName }),
  });
  await recordAdminAction(context, request, {
    action: 'identity_created',
    subject: identity.identity_id,
    details: { email: identity.email, repositories },
  });
  for (const repository of repositories) await members.admit(tenant, repository, identity, roles, by);
  return { status: 201, json: identityInfo(identity) };
}

function readRoute({ people }: IdentityUsersContext): RestRoute {
  return {
    ...administered,
    method: 'GET',
    pattern: `${base}/{id}`,
    operationId: 'readIdentityUser',
    body: 'none',
    docs: {
      summary: 'A person of the tenant',
      description:
        '`status_change` is there while a change of `is_active` has not reached the user nodes in all repositories yet.',
      tag,
      responses: {
        200: {
          description: 'The person.',
          schema: {
            ...identityInfoSchema,
            properties: {
              ...(identityInfoSchema.properties as object),
              status_change: statusChangeSchema,
            },
          },
        },
        ...missing,
      },
    },
    async handler(request) {
      const { tenant } = request.principal;
      const identityId = request.segment('id');
      const identity = await people.require(tenant, identityId);
      const query = { type: 'ListStatusChanges', identityId } as const;
      const [change] = (await people.query<readonly StatusChange[]>(tenant, query)) ?? [];
      return { status: 200, json: { ...identityInfo(identity), status_change: statusChangeInfo(change) } };
    },
  };
}

function updateRoute(context: IdentityUsersContext): RestRoute {
  return {
    ...administered,
    method: 'PATCH',
    pattern: `${base}/{id}`,
    operationId: 'updateIdentityUser',
    body: 'json',
    bodyBytesMax: BODY_BYTES_MAX,
    docs: {
      summary: 'Change a person',
      description:
        'Fields that are absent stay. With `is_active` false the person cannot log in, and access tokens are refused at once; the user nodes in all repositories get the status `inactive`, in the background. `true` takes that back.',
      tag,
      requestSchema: {
        type: 'object',
        additionalProperties: false,
        properties: {
          display_name: { type: 'string' },
          is_active: { type: 'boolean' },
          email_verified: { type: 'boolean' },
          is_tenant_admin: { type: 'boolean' },
          must_change_password: { type: 'boolean' },
        },
      },
      responses: { 200: { description: 'The person.', schema: identityInfoSchema }, ...missing },
    },
    async handler(request) {
      const fields = bodyFields(request.body);
      const name = fields.optionalString('display_name');
      const flags = Object.fromEntries(
        (['is_active', 'email_verified', 'is_tenant_admin', 'must_change_password'] as const).flatMap(
          (flag) => {
            const value = fields.optionalBoolean(flag);
            return value === undefined ? [] : [[flag, value]];
          },
        ),
      );
      const changes: IdentityChanges = { ...flags, ...(name === undefined ? {} : { display_name: name }) };
      const identityId = request.segment('id');
      const delivery = deliveryOf(request);
      const identity = await context.people.command<Identity>(
        request.principal.tenant,
        { type: 'UpdateIdentity', identityId, changes },
        delivery,
      );
      const action = { action: 'identity_changed', subject: identityId, details: { ...changes } };
      await recordAdminAction(context, request, action, delivery.idempotency);
      return { status: 200, json: identityInfo(identity) };
    },
  };
}

function removeRoute(context: IdentityUsersContext): RestRoute {
  return {
    ...administered,
    method: 'DELETE',
    pattern: `${base}/{id}`,
    operationId: 'deleteIdentityUser',
    body: 'none',
    docs: {
      summary: 'Remove a person',
      description:
        'The account and its sessions are removed. The user nodes in all repositories get the status `deleted`, in the background; they and their content stay.',
      tag,
      responses: { 204: { description: 'The account is removed.' }, ...missing },
    },
    async handler(request) {
      const identityId = request.segment('id');
      const command = { type: 'DeleteIdentity', identityId } as const;
      const { tenant } = request.principal;
      const delivery = deliveryOf(request);
      const { email } = await context.people.command<Identity>(tenant, command, delivery);
      const action = { action: 'identity_deleted', subject: identityId, details: { email } };
      await recordAdminAction(context, request, action, delivery.idempotency);
      return { status: 204 };
    },
  };
}

function linkRoute(context: IdentityUsersContext): RestRoute {
  return {
    ...administered,
    method: 'POST',
    pattern: `${base}/{id}/link`,
    operationId: 'linkIdentityUser',
    body: 'json',
    bodyBytesMax: BODY_BYTES_MAX,
    docs: {
      summary: 'Give a user node to a person',
      description:
        'The node gets the id of the person as its `user_id`. Repeating it changes nothing. The node is one of workspace `svc:access_control` of branch `main`.',
      tag,
      requestSchema: {
        type: 'object',
        required: ['repo_id', 'user_node_path'],
        additionalProperties: false,
        properties: { repo_id: { type: 'string' }, user_node_path: { type: 'string' } },
      },
      responses: {
        200: {
          description: 'The node is that of the person.',
          schema: {
            type: 'object',
            properties: {
              identity_id: { type: 'string' },
              email: { type: 'string' },
              repo_id: { type: 'string' },
              user_node_path: { type: 'string' },
              linked: { const: true },
            },
          },
        },
        400: { description: 'The node has another type (`NOT_A_USER_NODE`).' },
        ...refusals,
        404: {
          description:
            'There is no such identity (`IDENTITY_NOT_FOUND`), repository, or node (`USER_NODE_NOT_FOUND`).',
        },
        409: {
          description:
            'The node is that of another person, or the person has another one (`IDENTITY_ALREADY_LINKED`).',
        },
      },
    },
    async handler(request) {
      const { members, people } = context;
      const { tenant } = request.principal;
      const fields = bodyFields(request.body);
      const repository = fields.string('repo_id');
      const path = fields.string('user_node_path');
      const identity = await people.require(tenant, request.segment('id'));
      await members.link(tenant, repository, path, identity.identity_id, actorName(request.principal));
      await recordAdminAction(context, request, {
        action: 'identity_linked',
        subject: identity.identity_id,
        details: { repository, path },
      });
      return {
        status: 200,
        json: {
          identity_id: identity.identity_id,
          email: identity.email,
          repo_id: repository,
          user_node_path: path,
          linked: true,
        },
      };
    },
  };
}

function sessionsRoute({ people }: IdentityUsersContext): RestRoute {
  return {
    ...administered,
    method: 'GET',
    pattern: `${base}/{id}/sessions`,
    operationId: 'listIdentityUserSessions',
    body: 'none',
    docs: {
      summary: 'The sessions of a person',
      tag,
      responses: {
        200: {
          description: 'Those that have not ended, newest first.',
          schema: {
            type: 'object',
            properties: { sessions: { type: 'array', items: sessionInfoSchema } },
          },
        },
        ...missing,
      },
    },
    async handler(request) {
      const { tenant } = request.principal;
      const { identity_id: identityId } = await people.require(tenant, request.segment('id'));
      const sessions = await people.query<readonly Session[]>(tenant, { type: 'ListSessions', identityId });
      return { status: 200, json: { sessions: (sessions ?? []).map(sessionInfo) } };
    },
  };
}

function endSessionsRoute(context: IdentityUsersContext): RestRoute {
  return {
    ...administered,
    method: 'DELETE',
    pattern: `${base}/{id}/sessions`,
    operationId: 'endIdentityUserSessions',
    body: 'none',
    docs: {
      summary: 'End the sessions of a person',
      description:
        'Their refresh tokens stop working. Access tokens work until they expire; deactivate the person to refuse them at once.',
      tag,
      responses: { 204: { description: 'No session is open.' }, ...missing },
    },
    async handler(request) {
      const { tenant } = request.principal;
      const { identity_id: identityId } = await context.people.require(tenant, request.segment('id'));
      const delivery = deliveryOf(request);
      await context.people.command(tenant, { type: 'RevokeSessions', identityId }, delivery);
      const action = { action: 'identity_sessions_ended', subject: identityId };
      await recordAdminAction(context, request, action, delivery.idempotency);
      return { status: 204 };
    },
  };
}
