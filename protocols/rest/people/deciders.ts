import type { Identity } from '#actors/identities/messages.ts';
import type { RepositoryUsers } from '#protocols/identity/ports.ts';
import { actorName, type IdentityPrincipal } from '#runtime/access/principal.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { RestRequest } from '../rest-route.ts';
import type { TenantPeople } from './tenant-people.ts';

/** Role of people who may do everything in a repository. */
const EVERYTHING = 'system_admin';

/** Dependencies of {@link requireDecider}. */
export interface DecidersContext {
  readonly people: TenantPeople;
  readonly users: Pick<RepositoryUsers, 'rolesOf'>;
}

/**
 * Requires a caller who decides on access to the repository of the address: an administrator of the tenant, an identity
 * that administers the tenant, or one with the role `system_admin` in the repository. The refusal is the same whether or
 * not the repository exists.
 *
 * @param repository default: that of the address
 * @returns the name under which the decision is recorded
 * @throws {ServiceError} `FORBIDDEN`
 * @see docs/interface/access-requests.md#who-decides
 */
export async function requireDecider(
  context: DecidersContext,
  request: RestRequest,
  repository: string = request.segment('repo'),
): Promise<string> {
  const { principal } = request;
  if (principal.kind === 'admin') return actorName(principal);
  if (principal.kind === 'identity' && (await isDecider(context, principal, repository)))
    return actorName(principal);
  throw new ServiceError('FORBIDDEN', 'Only an administrator may decide on access');
}

async function isDecider(
  { people, users }: DecidersContext,
  principal: IdentityPrincipal,
  repository: string,
): Promise<boolean> {
  const { identityId, tenant } = principal;
  const identity = await people.query<Identity>(tenant, { type: 'FindIdentity', identityId });
  if (identity === undefined || !identity.is_active) return false;
  if (identity.is_tenant_admin) return true;
  const roles = await users.rolesOf(principal, repository);
  return roles.includes(EVERYTHING);
}
