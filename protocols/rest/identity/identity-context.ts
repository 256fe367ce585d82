import type { IdentityCallers } from '#protocols/identity/identity-callers.ts';
import type { IdentityLogins, LoginClient } from '#protocols/identity/identity-logins.ts';
import type { RepositoryUsers } from '#protocols/identity/ports.ts';
import type { VerifiedAccess } from '#runtime/access/identity/identity-tokens.ts';
import { SYSTEM_TENANT } from '#runtime/access/system-tenant.ts';
import { requireTenantName } from '#runtime/content/names.ts';
import { bearerToken } from '../access/authenticate.ts';
import type { RestContext } from '../rest-context.ts';
import type { RestRequest } from '../rest-route.ts';

/** Dependencies of the routes of identities. */
export interface IdentityContext extends RestContext {
  readonly logins: IdentityLogins;
  readonly callers: IdentityCallers;
  readonly users: RepositoryUsers;
  /** Called when the node of a person could not be found or made; the login goes on without it. */
  readonly onUserFailure: (facts: UserFailure, error: unknown) => void;
}

/** Whose node could not be found or made. */
export interface UserFailure {
  readonly tenant: string;
  readonly repository: string;
  readonly identityId: string;
}

/** Maximum bytes of a body with an address, passwords or a token. */
export const IDENTITY_BODY_BYTES_MAX = 16 * 1024;

/** The tenant of a request without a token. @throws {ServiceError} `VALIDATION_FAILED` */
export function namedTenant(request: RestRequest): string {
  return requireTenantName(request.header('x-tenant-id') ?? SYSTEM_TENANT);
}

/** Where a request comes from. Call it before anything is awaited. */
export function clientOf(request: RestRequest): LoginClient {
  return { address: request.remoteAddress, userAgent: request.header('user-agent') };
}

/**
 * What the token of a request says.
 *
 * @throws {ServiceError} the errors of `IdentityCallers.verify`
 */
export async function accessOf(
  { callers }: Pick<IdentityContext, 'callers'>,
  request: RestRequest,
): Promise<VerifiedAccess> {
  const { access } = await callers.verify(bearerToken(request) ?? '');
  return access;
}
