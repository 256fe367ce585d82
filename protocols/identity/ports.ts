import type { ActorId } from '#runtime/actor/ports.ts';

/** Creates the identities of a tenant. Implemented by the process that owns the actors. */
export interface IdentitiesProvisioning {
  /**
   * Creates the actor on first use. Idempotent.
   *
   * @returns its id
   * @throws {ServiceError} `TENANT_NOT_FOUND`
   */
  createIdentities(tenant: string): Promise<ActorId>;
}
