import type { IdentitiesProvisioning } from '#protocols/identity/ports.ts';
import { actorId } from '#runtime/actor/actor-id.ts';
import type { ActorId, ActorLifecycle, Router } from '#runtime/actor/ports.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { isRegistered } from '#server/registry/registered-owners.ts';

/**
 * Creates the identities of a tenant when somebody registers for the first time, or an administrator configures how:
 * most tenants have administrators only. A tenant is never removed, so nothing has to be undone.
 */
export class MemberIdentities implements IdentitiesProvisioning {
  readonly #router: Router;
  readonly #lifecycle: Pick<ActorLifecycle, 'create' | 'exists'>;

  constructor(router: Router, lifecycle: Pick<ActorLifecycle, 'create' | 'exists'>) {
    this.#router = router;
    this.#lifecycle = lifecycle;
  }

  async createIdentities(tenant: string): Promise<ActorId> {
    const actor = actorId(tenant, 'identities');
    if (await this.#lifecycle.exists(actor)) return actor;
    if (!(await isRegistered(this.#router, encodeURIComponent(tenant))))
      throw new ServiceError('TENANT_NOT_FOUND', `Tenant '${tenant}' not found`);
    await this.#lifecycle.create(actor);
    return actor;
  }
}
