import { policyFor, requireAdministrator } from '#runtime/access/policy.ts';
import { SYSTEM_TENANT } from '#runtime/access/system-tenant.ts';
import type { RestRequest, RestRoute } from '../rest-route.ts';

/**
 * Lets every route ask who may use it at all before anything else is looked at: whoever may not is refused alike whatever
 * they send, and learns nothing of its parameters and fields. What depends on the repository or the node is asked by the
 * actor that has it.
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

/** Refuses whoever is no administrator of the system. @throws {ServiceError} `UNAUTHORIZED`, `FORBIDDEN` */
export function requireSystemAdministrator({ principal }: RestRequest): void {
  requireAdministrator(policyFor(principal, SYSTEM_TENANT), principal);
}

/** Refuses whoever is no administrator of their tenant. @throws {ServiceError} `UNAUTHORIZED`, `FORBIDDEN` */
export function requireTenantAdministrator({ principal }: RestRequest): void {
  requireAdministrator(policyFor(principal, principal.tenant), principal);
}
