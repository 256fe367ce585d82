import { policyFor, requireAdministrator } from '#runtime/access/policy.ts';
import { SYSTEM_TENANT } from '#runtime/access/system-tenant.ts';
import type { RestRequest, RestRoute } from '../rest-route.ts';

/**
 * Makes every route check the caller's permission before anything else: a caller without it gets the same refusal for
 * every request, and learns nothing about parameters and fields. Permissions that depend on the repository or the
 * node are checked by the actor that owns it.
 *
 * @see docs/interface/accounts.md#order-of-refusals
 */
export function withPermission(routes: readonly RestRoute[]): readonly RestRoute[] {
  return routes.map((route) => {
    const { permit } = route;
    if (permit === undefined) return route;
    return {
      ...route,
      admit(request) {
        permit(request);
        return route.admit?.(request);
      },
    };
  });
}

/** Requires a system administrator. @throws {ServiceError} `UNAUTHORIZED`, `FORBIDDEN` */
export function requireSystemAdministrator({ principal }: RestRequest): void {
  requireAdministrator(policyFor(principal, SYSTEM_TENANT), principal);
}

/** Requires an administrator of the caller's tenant. @throws {ServiceError} `UNAUTHORIZED`, `FORBIDDEN` */
export function requireTenantAdministrator({ principal }: RestRequest): void {
  requireAdministrator(policyFor(principal, principal.tenant), principal);
}
