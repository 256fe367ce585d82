import type { ChangeAdminPassword } from '#actors/tenant/messages.ts';
import { requireAdminPassword } from '#runtime/access/password-rule.ts';
import { actorId } from '#runtime/actor/actor-id.ts';
import { engineCaller } from '#runtime/actor/engine-caller.ts';
import { requireTenantName } from '#runtime/content/names.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { bodyFields } from '#protocols/http/requests/body-fields.ts';
import type { HttpReply } from '#protocols/http/route.ts';
import type { RestRequest, RestRoute } from '../rest-route.ts';
import { ACCOUNT_BODY_BYTES_MAX, type AdminAuthContext, findAdmin } from './admin-auth.ts';
import { bearerToken } from './authenticate.ts';
import { isForwarded, isOwnAddress } from './this-machine.ts';

/** Dependencies of the password reset. */
export interface PasswordResetContext extends AdminAuthContext {
  /** Checks the key that is stored in the data directory of this member. */
  readonly localAccess: { isKey(text: string): boolean };
  /** Called with each account whose password was set, as `tenant/username`. */
  readonly onPasswordReset: (account: string) => void;
}

/**
 * Reset of a lost password, for whoever can read the files of the member on its own machine.
 *
 * @see docs/decisions/0044-password-reset.md
 */
export function passwordResetRoutes(context: PasswordResetContext): readonly RestRoute[] {
  return [
    {
      method: 'POST',
      pattern: '/api/svc/sys/{tenant}/auth/reset-password',
      operationId: 'resetAdminPassword',
      body: 'json',
      bodyBytesMax: ACCOUNT_BODY_BYTES_MAX,
      auth: 'none',
      permit: (request) => requireLocalAccess(context, request),
      docs: {
        summary: 'Reset a lost password',
        description:
          'For `npm run reset-password`, on the machine of the member and without a proxy. The bearer token is the key in the file `local-access` of its data directory. Only the user of the server and root can read the file, and each start makes a new key. Older tokens are refused from then on.',
        tag: 'Admin',
        requestSchema: {
          type: 'object',
          required: ['username', 'new_password'],
          properties: {
            username: { type: 'string' },
            new_password: { type: 'string' },
            must_change_password: {
              type: 'boolean',
              default: true,
              description: 'Whether the account has to change the password before anything else.',
            },
          },
          additionalProperties: false,
        },
        responses: {
          204: { description: 'The account has the new password.' },
          400: { description: 'The new password is too weak.' },
          401: { description: 'The key is missing or is not that of this member.' },
          403: { description: 'The request comes from elsewhere, or through a proxy.' },
          404: { description: 'There is no such account.' },
        },
      },
      handler: (request) =>
        context.throttle.inTurn(request.remoteAddress, () => resetPassword(context, request)),
    },
  ];
}

/** @throws {ServiceError} `UNAUTHORIZED`, `FORBIDDEN` */
function requireLocalAccess({ localAccess }: PasswordResetContext, request: RestRequest): void {
  if (!localAccess.isKey(bearerToken(request) ?? ''))
    throw new ServiceError(
      'UNAUTHORIZED',
      'This wants the key in the data directory of the member as bearer token: use npm run reset-password',
    );
  if (isForwarded(request) || !isOwnAddress(request.remoteAddress))
    throw new ServiceError('FORBIDDEN', 'A password is set anew on the machine of the member itself only');
}

async function resetPassword(context: PasswordResetContext, request: RestRequest): Promise<HttpReply> {
  const fields = bodyFields(request.body);
  const username = fields.string('username');
  const newPassword = fields.string('new_password');
  const mustChangePassword = fields.optionalBoolean('must_change_password') ?? true;
  const tenant = requireTenantName(request.segment('tenant'));
  requireAdminPassword(newPassword, 'new_password');
  const account = await findAdmin(context, { type: 'FindAdmin', username }, tenant);
  if (account === undefined)
    throw new ServiceError('USER_NOT_FOUND', `Tenant '${tenant}' has no administrator '${username}'`);
  const command: ChangeAdminPassword = {
    type: 'ChangeAdminPassword',
    userId: account.user_id,
    oldPasswordHash: account.password_hash,
    passwordHash: await context.hasher.hash(newPassword),
    mustChangePassword,
  };
  await context.router.command(actorId(tenant, 'tenant'), command, { caller: engineCaller(tenant) });
  const place = `${tenant}/${username}`;
  context.throttle.renewed(place, request.remoteAddress);
  context.onPasswordReset(place);
  return { status: 204 };
}
