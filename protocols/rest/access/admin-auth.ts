import type {
  AdminAccount,
  ChangeAdminPassword,
  FindAdmin,
  RecordAdminLogin,
} from '#actors/tenant/messages.ts';
import {
  type AdminInterface,
  type AdminTokens,
  interfaceFlags,
  type VerifiedToken,
} from '#runtime/access/admin-tokens.ts';
import type { LoginThrottle } from '#runtime/access/login-throttle.ts';
import type { PasswordHasher } from '#runtime/access/password-hasher.ts';
import { requireAdminPassword } from '#runtime/access/password-rule.ts';
import { actorId } from '#runtime/actor/actor-id.ts';
import { engineCaller } from '#runtime/actor/engine-caller.ts';
import { requireTenantName } from '#runtime/content/names.ts';
import { invalid, ServiceError } from '#runtime/errors/service-error.ts';
import { bodyFields } from '#protocols/http/requests/body-fields.ts';
import type { HttpReply } from '#protocols/http/route.ts';
import { flagsSchema } from './account-fields.ts';
import { bearerToken } from './authenticate.ts';
import { callerOf, type RestContext } from '../rest-context.ts';
import type { RestRequest, RestRoute } from '../rest-route.ts';
import type { MemberStatus } from '../management/system.ts';

/** Dependencies of the login routes. */
export interface AdminAuthContext extends RestContext {
  readonly tokens: AdminTokens;
  readonly hasher: PasswordHasher;
  readonly throttle: LoginThrottle;
  status(): MemberStatus;
}

const interfaces = Object.keys(interfaceFlags) as AdminInterface[];

/** Maximum bytes of a body with a name and two passwords. */
export const ACCOUNT_BODY_BYTES_MAX = 16 * 1024;

const wrongLogin = 'The username or the password is wrong';

/**
 * Login of administrators, change of the password, the caller's profile.
 *
 * @see docs/interface/accounts.md#logging-in
 */
export function adminAuthRoutes(context: AdminAuthContext): readonly RestRoute[] {
  return [loginRoute(context), changePasswordRoute(context), profileRoute(context)];
}

function loginRoute(context: AdminAuthContext): RestRoute {
  return {
    method: 'POST',
    pattern: '/api/svc/sys/{tenant}/auth',
    operationId: 'logInAdmin',
    takesAnyParameter: true,
    body: 'json',
    bodyBytesMax: ACCOUNT_BODY_BYTES_MAX,
    auth: 'none',
    docs: {
      summary: 'Log in as an administrator',
      description:
        'Answers a bearer token that is good for 24 hours. After five wrong passwords for one account from one address, further attempts have to wait: 1 s, then twice as long each time up to five minutes.',
      tag: 'Admin',
      requestSchema: {
        type: 'object',
        required: ['username', 'password'],
        properties: {
          username: { type: 'string' },
          password: { type: 'string' },
          interface: { type: 'string', enum: interfaces, default: 'console' },
        },
      },
      responses: {
        200: {
          description: 'The token and the account it belongs to.',
          schema: {
            type: 'object',
            properties: {
              token: { type: 'string' },
              user_id: { type: 'string' },
              username: { type: 'string' },
              must_change_password: { type: 'boolean' },
              expires_at: { type: 'integer', description: 'Unix timestamp in seconds' },
              access_flags: flagsSchema,
            },
          },
        },
        401: { description: 'The username or the password is wrong, or the account is deactivated.' },
        403: { description: 'The account may not use this interface.' },
        429: { description: 'Too many failed logins.' },
        503: { description: 'The accounts cannot be read at present, or the member is starting.' },
      },
    },
    handler: (request) => context.throttle.inTurn(request.remoteAddress, () => logIn(context, request)),
  };
}

async function logIn(context: AdminAuthContext, request: RestRequest): Promise<HttpReply> {
  const fields = bodyFields(request.body);
  const username = fields.string('username');
  const password = fields.string('password');
  const via = fields.optionalOneOf('interface', interfaces) ?? 'console';
  const tenant = requireTenantName(request.segment('tenant'));
  const place = [`${tenant}/${username}`, request.remoteAddress] as const;
  context.throttle.begin(...place);
  // A cluster that starts for the first time has no accounts yet.
  const wasStarting = context.status().state === 'starting';
  let account: AdminAccount | undefined;
  let fits = false;
  try {
    account = await findAdmin(context, { type: 'FindAdmin', username }, tenant);
    fits = await context.hasher.verify(account?.password_hash, password);
  } catch (error) {
    context.throttle.unjudged(...place);
    throw error;
  }
  if (account === undefined || !fits || !account.is_active) {
    if (wasStarting) {
      // A caller who retries until the account exists is not guessing passwords.
      if (account === undefined) context.throttle.unjudged(...place);
      throw new ServiceError('SHUTTING_DOWN', 'The member is starting; try again shortly.');
    }
    throw new ServiceError('UNAUTHORIZED', wrongLogin);
  }
  context.throttle.succeeded(...place);
  if (!account.access_flags[interfaceFlags[via]]) {
    throw new ServiceError('FORBIDDEN', `The account may not log in over the interface '${via}'`);
  }
  await recordLogin(context, tenant, {
    type: 'RecordAdminLogin',
    userId: account.user_id,
    ...(await rehashed(context.hasher, account.password_hash, password)),
  });
  const { token, expiresAt } = await context.tokens.issue({
    tenant,
    userId: account.user_id,
    username: account.username,
    accessFlags: account.access_flags,
    mustChangePassword: account.must_change_password,
    passwordChangedMs: account.password_changed_ms,
    via,
  });
  return {
    status: 200,
    headers: { 'Cache-Control': 'no-store' },
    json: {
      token,
      user_id: account.user_id,
      username: account.username,
      must_change_password: account.must_change_password,
      expires_at: expiresAt,
      access_flags: account.access_flags,
    },
  };
}

/** Login must work while writes are impossible, for example on a full disk, because reads still work. */
async function recordLogin(
  { router }: RestContext,
  tenant: string,
  command: RecordAdminLogin,
): Promise<void> {
  try {
    await router.command(actorId(tenant, 'tenant'), command, { caller: engineCaller(tenant) });
  } catch (error) {
    if (!(error instanceof ServiceError) || error.entry.status < 500) throw error;
  }
}

/**
 * A hash with the present parameters for a stored one that has older ones, while the password is known. While too many
 * passwords are hashed there is none: the next login makes it.
 */
async function rehashed(
  hasher: PasswordHasher,
  judged: string,
  password: string,
): Promise<Pick<RecordAdminLogin, 'rehashed'>> {
  if (!hasher.isOutdated(judged)) return {};
  const passwordHash = await hasher.hash(password).catch(() => undefined);
  return passwordHash === undefined ? {} : { rehashed: { judged, passwordHash } };
}

/** An account of a tenant; undefined if the account or the tenant does not exist. */
export async function findAdmin(
  { router }: RestContext,
  query: FindAdmin,
  tenant: string,
): Promise<AdminAccount | undefined> {
  try {
    return (await router.query(actorId(tenant, 'tenant'), query, engineCaller(tenant))) as
      | AdminAccount
      | undefined;
  } catch (error) {
    // A tenant that does not exist has no accounts; another response would reveal which tenants exist.
    if (error instanceof ServiceError && error.code === 'NOT_FOUND') return undefined;
    throw error;
  }
}

/**
 * The account of a request's token as it is now, for routes about the account itself.
 *
 * @throws {ServiceError} `UNAUTHORIZED`
 */
export async function ownAccount(
  context: Pick<AdminAuthContext, 'tokens' | keyof RestContext>,
  request: RestRequest,
): Promise<{ readonly account: AdminAccount; readonly verified: VerifiedToken }> {
  const verified = await context.tokens.verify(bearerToken(request) ?? '');
  const { tenant, userId } = verified.principal;
  const account = await findAdmin(context, { type: 'FindAdmin', userId }, tenant);
  if (
    account === undefined ||
    !account.is_active ||
    account.password_changed_ms !== verified.passwordChangedMs
  ) {
    throw new ServiceError('UNAUTHORIZED', 'The token is no longer valid; log in again');
  }
  return { account, verified };
}

function changePasswordRoute(context: AdminAuthContext): RestRoute {
  return {
    method: 'POST',
    pattern: '/api/svc/sys/{tenant}/auth/change-password',
    operationId: 'changeAdminPassword',
    takesAnyParameter: true,
    body: 'json',
    bodyBytesMax: ACCOUNT_BODY_BYTES_MAX,
    auth: 'required',
    beforePasswordChange: true,
    docs: {
      summary: 'Change the own password',
      description:
        'The new password has at least 12 characters with lower case, upper case, digit and another character. Clears `must_change_password`. Older tokens are refused from then on.',
      tag: 'Admin',
      requestSchema: {
        type: 'object',
        required: ['old_password', 'new_password'],
        properties: { old_password: { type: 'string' }, new_password: { type: 'string' } },
      },
      responses: {
        204: { description: 'The password is changed.' },
        400: { description: 'The new password is too weak or the old one again.' },
        401: { description: 'The old password is wrong.' },
        403: { description: 'The token belongs to another tenant.' },
        429: { description: 'Too many wrong passwords.' },
      },
    },
    handler: (request) =>
      context.throttle.inTurn(request.remoteAddress, () => changePassword(context, request)),
  };
}

async function changePassword(context: AdminAuthContext, request: RestRequest): Promise<HttpReply> {
  const fields = bodyFields(request.body);
  const oldPassword = fields.string('old_password');
  const newPassword = fields.string('new_password');
  const { account, verified } = await ownAccount(context, request);
  const { tenant } = verified.principal;
  const place = [`${tenant}/${account.username}`, request.remoteAddress] as const;
  context.throttle.begin(...place);
  let fits = false;
  try {
    fits = await context.hasher.verify(account.password_hash, oldPassword);
  } catch (error) {
    // The password was not compared: too many comparisons are running.
    context.throttle.unjudged(...place);
    throw error;
  }
  if (!fits) {
    throw new ServiceError('UNAUTHORIZED', 'The old password is wrong');
  }
  context.throttle.succeeded(...place);
  requireAdminPassword(newPassword, 'new_password');
  if (newPassword === oldPassword) {
    throw invalid('The new password is the old one', { field: 'new_password' });
  }
  const command: ChangeAdminPassword = {
    type: 'ChangeAdminPassword',
    userId: account.user_id,
    oldPasswordHash: account.password_hash,
    passwordHash: await context.hasher.hash(newPassword),
  };
  await context.router.command(actorId(tenant, 'tenant'), command, { caller: callerOf(request) });
  return { status: 204 };
}

function profileRoute(context: AdminAuthContext): RestRoute {
  return {
    method: 'GET',
    pattern: '/api/svc/me',
    operationId: 'readOwnProfile',
    takesAnyParameter: true,
    body: 'none',
    auth: 'required',
    beforePasswordChange: true,
    docs: {
      summary: 'The own account',
      tag: 'Admin',
      responses: {
        200: {
          description: 'The account behind the token.',
          schema: {
            type: 'object',
            properties: {
              user_id: { type: 'string' },
              username: { type: 'string' },
              email: { type: ['string', 'null'] },
              tenant_id: { type: 'string' },
              access_flags: flagsSchema,
              must_change_password: { type: 'boolean' },
            },
          },
        },
        401: { description: 'There is no valid login.' },
      },
    },
    async handler(request) {
      const { account, verified } = await ownAccount(context, request);
      return {
        status: 200,
        json: {
          user_id: account.user_id,
          username: account.username,
          email: account.email,
          tenant_id: verified.principal.tenant,
          access_flags: account.access_flags,
          must_change_password: account.must_change_password,
        },
      };
    },
  };
}
