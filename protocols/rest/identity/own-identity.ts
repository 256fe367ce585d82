import { type RepositoryUser, USER_TYPE, USERS_WORKSPACE } from '#protocols/identity/ports.ts';
import { bodyFields } from '#protocols/http/requests/body-fields.ts';
import type { HttpReply, JsonSchema } from '#protocols/http/route.ts';
import type { IdentityPrincipal } from '#runtime/access/principal.ts';
import { assert } from '#runtime/base/assert.ts';
import type { JsonObject } from '#runtime/content/values/json-value.ts';
import { requireRepositoryName } from '#runtime/content/names.ts';
import { pathName } from '#runtime/content/path.ts';
import type { RestRequest, RestRoute } from '../rest-route.ts';
import { accessOf, clientOf, IDENTITY_BODY_BYTES_MAX, type IdentityContext } from './identity-context.ts';

/** The profile of a caller without a token. */
const nobody = Object.freeze({ id: 'anonymous', email: null, roles: [], anonymous: true, home: null });

const profileProperties: Readonly<Record<string, JsonSchema>> = {
  id: { type: 'string', description: 'Of the identity; `anonymous` without a token.' },
  email: { type: ['string', 'null'] },
  roles: { type: 'array', items: { type: 'string' } },
  anonymous: { type: 'boolean' },
  home: { type: ['string', 'null'] },
};

const userNodeSchema: JsonSchema = {
  type: ['object', 'null'],
  description: 'The node of the person in the repository; `null` without one.',
  properties: {
    id: { type: 'string' },
    name: { type: 'string' },
    path: { type: 'string' },
    node_type: { type: 'string' },
    workspace: { type: 'string' },
    properties: { type: 'object' },
  },
};

/**
 * The profile of the caller, and the change of the password.
 *
 * @see docs/interface/identities.md#who-is-asking
 */
export function ownIdentityRoutes(context: IdentityContext): readonly RestRoute[] {
  return [
    profileRoute(context),
    repositoryProfileRoute(context),
    changePasswordRoute(context, '/auth/change-password', 'changeIdentityPassword'),
    changePasswordRoute(context, '/auth/{repo}/change-password', 'changeIdentityPasswordInRepository'),
  ];
}

function profileRoute(context: IdentityContext): RestRoute {
  return {
    method: 'GET',
    pattern: '/auth/me',
    operationId: 'readOwnIdentity',
    takesAnyParameter: true,
    body: 'none',
    auth: 'optional',
    audience: 'identities',
    beforePasswordChange: true,
    docs: {
      summary: 'Who is asking',
      description:
        'Roles and home are those in the repository of the login; a token of a login without a repository has none.',
      tag: 'Identities',
      responses: {
        200: {
          description: 'The caller.',
          schema: { type: 'object', properties: profileProperties },
        },
        401: { description: 'The token is not valid.' },
        403: { description: 'The token is not that of an identity.' },
      },
    },
    async handler(request) {
      if (request.principal.kind === 'anonymous') return { status: 200, json: nobody };
      const { repository } = await accessOf(context, request);
      return { status: 200, json: shownProfile(await profileIn(context, request, repository)) };
    },
  };
}

function repositoryProfileRoute(context: IdentityContext): RestRoute {
  return {
    method: 'GET',
    pattern: '/auth/{repo}/me',
    operationId: 'readOwnIdentityInRepository',
    takesAnyParameter: true,
    body: 'none',
    auth: 'optional',
    audience: 'identities',
    beforePasswordChange: true,
    docs: {
      summary: 'Who is asking, in a repository',
      description:
        'A caller without a node there gets the same answer as in a repository that does not exist.',
      tag: 'Identities',
      responses: {
        200: {
          description: 'The caller, with the node of the person.',
          schema: { type: 'object', properties: { ...profileProperties, user_node: userNodeSchema } },
        },
        401: { description: 'The token is not valid.' },
        403: { description: 'The token is not that of an identity.' },
      },
    },
    async handler(request) {
      const repository = requireRepositoryName(request.segment('repo'));
      if (request.principal.kind === 'anonymous')
        return { status: 200, json: { ...nobody, user_node: null } };
      const profile = await profileIn(context, request, repository);
      return { status: 200, json: { ...shownProfile(profile), user_node: shownUser(profile) } };
    },
  };
}

/** A person, as far as a repository knows it. */
interface Profile {
  readonly principal: IdentityPrincipal;
  readonly user: RepositoryUser | undefined;
  readonly roles: readonly string[];
}

/** @param repository undefined: none */
async function profileIn(
  { users }: IdentityContext,
  { principal }: RestRequest,
  repository: string | undefined,
): Promise<Profile> {
  assert(principal.kind === 'identity', 'others are refused before');
  if (repository === undefined) return { principal, user: undefined, roles: [] };
  const user = await users.find(principal.tenant, repository, principal.identityId);
  return { principal, user, roles: user === undefined ? [] : await users.rolesOf(principal, repository) };
}

function shownProfile({ principal, roles, user }: Profile): JsonObject {
  return {
    id: principal.identityId,
    email: principal.email,
    roles,
    anonymous: false,
    home: user?.path ?? null,
  };
}

function shownUser({ principal, user }: Profile): JsonObject | null {
  if (user === undefined) return null;
  return {
    id: user.id,
    name: pathName(user.path),
    path: user.path,
    node_type: USER_TYPE,
    workspace: USERS_WORKSPACE,
    properties: {
      user_id: principal.identityId,
      email: user.email,
      display_name: user.displayName,
      status: user.status,
      roles: user.roles,
      groups: user.groups,
    },
  };
}

function changePasswordRoute(context: IdentityContext, pattern: string, operationId: string): RestRoute {
  return {
    method: 'POST',
    pattern,
    operationId,
    takesAnyParameter: true,
    body: 'json',
    bodyBytesMax: IDENTITY_BODY_BYTES_MAX,
    auth: 'required',
    audience: 'identities',
    beforePasswordChange: true,
    docs: {
      summary: 'Change the own password',
      description:
        'Ends every other session of the person. An account without a password is given one within ten minutes of a login; `old_password` is not looked at then.',
      tag: 'Identities',
      requestSchema: {
        type: 'object',
        required: ['old_password', 'new_password'],
        properties: { old_password: { type: 'string' }, new_password: { type: 'string' } },
      },
      responses: {
        204: { description: 'The password is changed.' },
        400: { description: 'The new password breaks the policy.' },
        401: { description: 'The old password is wrong, or the session of the token has ended.' },
        403: { description: 'The account is deactivated.' },
        409: { description: 'The password was changed meanwhile.' },
        429: { description: 'Too many wrong passwords.' },
        503: { description: 'Too many passwords are being compared.' },
      },
    },
    async handler(request): Promise<HttpReply> {
      const client = clientOf(request);
      const fields = bodyFields(request.body);
      const oldPassword = fields.string('old_password');
      const newPassword = fields.string('new_password');
      const access = await accessOf(context, request);
      await context.logins.changePassword(access, { oldPassword, newPassword }, client);
      return { status: 204 };
    },
  };
}
