import type {
  AdminChanges,
  CreateAdmin,
  DeleteAdmin,
  ListAdmins,
  ShownAdmin,
  UpdateAdmin,
} from '#actors/tenant/messages.ts';
import type { PasswordHasher } from '#runtime/access/password-hasher.ts';
import { requireAdminPassword } from '#runtime/access/password-rule.ts';
import { actorId } from '#runtime/actor/actor-id.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { bodyFields } from '#protocols/http/requests/body-fields.ts';
import type { LoginThrottle } from '#runtime/access/login-throttle.ts';
import type { Delivery } from '#runtime/actor/ports.ts';
import { callerOf, deliveryOf, type RestContext } from '../rest-context.ts';
import type { RestRequest, RestRoute } from '../rest-route.ts';
import { withIdempotency } from '../write-headers.ts';
import {
  flagsSchema,
  givenFlags,
  givenFlagsSchema,
  newFlags,
  requireAdminEmail,
  requireUsername,
} from './account-fields.ts';
import { ACCOUNT_BODY_BYTES_MAX } from './admin-auth.ts';
import { requireTenantAdministrator } from './permission.ts';

/** Dependencies of the routes of administrator accounts. */
export interface AdminUsersContext extends RestContext {
  readonly hasher: PasswordHasher;
  readonly throttle: LoginThrottle;
}

const tag = 'Admin';
const LIST = '/api/svc/sys/{tenant}/admin-users';
const ONE = `${LIST}/{username}`;

const accountSchema = {
  type: 'object',
  properties: {
    user_id: { type: 'string' },
    username: { type: 'string' },
    email: { type: ['string', 'null'] },
    tenant_id: { type: 'string' },
    access_flags: flagsSchema,
    must_change_password: { type: 'boolean' },
    created_at: { type: 'string', format: 'date-time' },
    last_login: { type: ['string', 'null'], format: 'date-time' },
    is_active: { type: 'boolean' },
  },
} as const;

const refusals = {
  401: { description: 'There is no valid login.' },
  403: { description: 'The caller is no administrator of the tenant, or has no `console_login`.' },
} as const;

const unknownUser = { description: 'There is no such account.' };

const lastOne = {
  description: 'No active account with `console_login` would be left.',
};

/**
 * Accounts of the administrators of a tenant, for administrators of the tenant who may use the console.
 *
 * @see docs/interface/accounts.md#administering-accounts
 */
export function adminUserRoutes(context: AdminUsersContext): readonly RestRoute[] {
  return [
    listRoute(context),
    createRoute(context),
    readRoute(context),
    ...withIdempotency([updateRoute(context), deleteRoute(context)]),
  ];
}

/** @throws {ServiceError} `UNAUTHORIZED`, `FORBIDDEN`, `INSUFFICIENT_PERMISSIONS` */
export function requireConsole(request: RestRequest): void {
  requireTenantAdministrator(request);
  const { principal } = request;
  if (principal.kind !== 'admin' || !principal.accessFlags.console_login)
    throw new ServiceError('INSUFFICIENT_PERMISSIONS', 'The account has no console_login');
}

function listRoute(context: AdminUsersContext): RestRoute {
  return {
    method: 'GET',
    pattern: LIST,
    operationId: 'listAdminUsers',
    body: 'none',
    auth: 'required',
    permit: requireConsole,
    docs: {
      summary: 'Every administrator of a tenant',
      tag,
      responses: {
        200: { description: 'Sorted by username.', schema: { type: 'array', items: accountSchema } },
        ...refusals,
      },
    },
    handler: async (request) => ({
      status: 200,
      json: await accounts(context, request, { type: 'ListAdmins' }),
    }),
  };
}

function createRoute(context: AdminUsersContext): RestRoute {
  return {
    method: 'POST',
    pattern: LIST,
    operationId: 'createAdminUser',
    body: 'json',
    bodyBytesMax: ACCOUNT_BODY_BYTES_MAX,
    auth: 'required',
    permit: requireConsole,
    docs: {
      summary: 'Create an administrator',
      description:
        'The account may log in at once. The password has at least 12 characters with lower case, upper case, digit and another character. Flags that are not given are `true` for `console_login`, `cli_access` and `api_access`, otherwise `false`.',
      tag,
      requestSchema: {
        type: 'object',
        required: ['username', 'password'],
        properties: {
          username: { type: 'string' },
          email: { type: ['string', 'null'] },
          password: { type: 'string' },
          access_flags: givenFlagsSchema,
          must_change_password: {
            type: 'boolean',
            default: false,
            description: 'Whether the account has to change the password before anything else.',
          },
        },
        additionalProperties: false,
      },
      responses: {
        201: { description: 'The account.', schema: accountSchema },
        400: { description: 'The password is too weak, or a value is not allowed.' },
        ...refusals,
        409: { description: 'The username is taken.' },
        429: { description: 'Too many passwords are hashed for this address.' },
      },
    },
    handler: (request) =>
      context.throttle.inTurn(request.remoteAddress, async () => ({
        status: 201,
        json: shown(request, await create(context, request)),
      })),
  };
}

async function create(context: AdminUsersContext, request: RestRequest): Promise<ShownAdmin> {
  const fields = bodyFields(request.body);
  const username = requireUsername(fields.string('username'), 'username');
  const email = requireAdminEmail(fields.optionalString('email') ?? null, 'email');
  const password = requireAdminPassword(fields.string('password'), 'password');
  const command: CreateAdmin = {
    type: 'CreateAdmin',
    username,
    email,
    accessFlags: newFlags(givenFlags(fields) ?? {}),
    mustChangePassword: fields.optionalBoolean('must_change_password') ?? false,
    passwordHash: await context.hasher.hash(password),
  };
  // Without an idempotency key: the hash of the request would be one of the password that is quick to compute.
  return (await send(context, request, command, { caller: callerOf(request) })) as ShownAdmin;
}

function readRoute(context: AdminUsersContext): RestRoute {
  return {
    method: 'GET',
    pattern: ONE,
    operationId: 'readAdminUser',
    body: 'none',
    auth: 'required',
    permit: requireConsole,
    docs: {
      summary: 'An administrator',
      tag,
      responses: {
        200: { description: 'The account.', schema: accountSchema },
        ...refusals,
        404: unknownUser,
      },
    },
    async handler(request) {
      const username = request.segment('username');
      const [account] = await accounts(context, request, { type: 'ListAdmins', username });
      if (account === undefined)
        throw new ServiceError('USER_NOT_FOUND', `There is no administrator '${username}'`);
      return { status: 200, json: account };
    },
  };
}

function updateRoute(context: AdminUsersContext): RestRoute {
  return {
    method: 'PUT',
    pattern: ONE,
    operationId: 'updateAdminUser',
    body: 'json',
    bodyBytesMax: ACCOUNT_BODY_BYTES_MAX,
    auth: 'required',
    permit: requireConsole,
    docs: {
      summary: 'Change an administrator',
      description:
        'Fields and flags that are not given stay. The change counts at once for tokens and keys that were issued before.',
      tag,
      requestSchema: {
        type: 'object',
        properties: {
          email: { type: ['string', 'null'] },
          access_flags: givenFlagsSchema,
          must_change_password: { type: 'boolean' },
          is_active: { type: 'boolean' },
        },
        additionalProperties: false,
      },
      responses: {
        200: { description: 'The changed account.', schema: accountSchema },
        400: { description: 'A value is not allowed.' },
        ...refusals,
        404: unknownUser,
        409: lastOne,
      },
    },
    async handler(request) {
      const command: UpdateAdmin = {
        type: 'UpdateAdmin',
        username: request.segment('username'),
        changes: changesOf(request),
      };
      return {
        status: 200,
        json: shown(request, (await send(context, request, command)) as ShownAdmin),
      };
    },
  };
}

function changesOf(request: RestRequest): AdminChanges {
  const fields = bodyFields(request.body);
  const email = fields.optionalValue('email') === null ? null : fields.optionalString('email');
  const flags = givenFlags(fields);
  const mustChange = fields.optionalBoolean('must_change_password');
  const isActive = fields.optionalBoolean('is_active');
  return {
    ...(email === undefined ? {} : { email: requireAdminEmail(email, 'email') }),
    ...(flags === undefined ? {} : { access_flags: flags }),
    ...(mustChange === undefined ? {} : { must_change_password: mustChange }),
    ...(isActive === undefined ? {} : { is_active: isActive }),
  };
}

function deleteRoute(context: AdminUsersContext): RestRoute {
  return {
    method: 'DELETE',
    pattern: ONE,
    operationId: 'deleteAdminUser',
    body: 'none',
    auth: 'required',
    permit: requireConsole,
    docs: {
      summary: 'Delete an administrator',
      description:
        'Tokens and keys of the account are refused from then on. Nobody deletes their own account.',
      tag,
      responses: {
        204: { description: 'The account is deleted.' },
        400: { description: 'It is the account of the caller.' },
        ...refusals,
        404: unknownUser,
        409: lastOne,
      },
    },
    async handler(request) {
      const command: DeleteAdmin = { type: 'DeleteAdmin', username: request.segment('username') };
      await send(context, request, command);
      return { status: 204 };
    },
  };
}

async function accounts(context: RestContext, request: RestRequest, query: ListAdmins) {
  const found = await context.router.query(tenantActor(request), query, callerOf(request));
  return (found as readonly ShownAdmin[]).map((account) => shown(request, account));
}

function send(
  context: RestContext,
  request: RestRequest,
  command: CreateAdmin | UpdateAdmin | DeleteAdmin,
  delivery: Delivery = deliveryOf(request),
): Promise<unknown> {
  return context.router.command(tenantActor(request), command, delivery);
}

function tenantActor({ principal }: RestRequest): string {
  return actorId(principal.tenant, 'tenant');
}

function shown({ principal }: RestRequest, account: ShownAdmin) {
  const { email, user_id, username, ...rest } = account;
  return { user_id, username, email, tenant_id: principal.tenant, ...rest };
}
