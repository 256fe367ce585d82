import type { LinkRequested } from '#actors/identities/link-messages.ts';
import type { FailedLogin, IdentitiesCommand, IdentitiesQuery } from '#actors/identities/messages.ts';
import { SYSTEM_TENANT } from '#runtime/access/system-tenant.ts';
import { actorId } from '#runtime/actor/actor-id.ts';
import { engineCaller } from '#runtime/actor/engine-caller.ts';
import type { Router } from '#runtime/actor/ports.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { clientPlace } from './client-place.ts';
import type { IdentitiesProvisioning } from './ports.ts';

/** Dependencies of {@link AbsentTenants}. */
export interface AbsentTenantsContext {
  readonly router: Router;
  readonly provisioning: IdentitiesProvisioning;
}

/** An attempt in a tenant without identities. */
export interface AbsentAttempt {
  readonly tenant: string;
  readonly email: string;
  /** Of the client. */
  readonly address: string;
}

const identities = actorId(SYSTEM_TENANT, 'identities');

/**
 * Counts attempts in tenants in which nobody has registered, or that do not exist, as the identities of a tenant do: by
 * all members together, and durably. So a tenant that does not exist is answered like one in which nobody has the
 * address.
 *
 * @see docs/security.md#what-strangers-learn
 */
export class AbsentTenants {
  readonly #context: AbsentTenantsContext;

  constructor(context: AbsentTenantsContext) {
    this.#context = context;
  }

  /** How long logins with an address are refused, in seconds; 0: they are compared. */
  async lockedSeconds({ address, email, tenant }: AbsentAttempt): Promise<number> {
    const place = clientPlace(tenant, address);
    const query: IdentitiesQuery = { type: 'FindAbsentLock', tenant, email, place };
    try {
      const { router } = this.#context;
      return (await router.query(identities, query, engineCaller(SYSTEM_TENANT))) as number;
    } catch (error) {
      // Nobody has failed yet.
      if (isMissing(error)) return 0;
      throw error;
    }
  }

  /** Counts a login, which failed. */
  countLogin({ address, email, tenant }: AbsentAttempt): Promise<FailedLogin> {
    const place = clientPlace(tenant, address);
    return this.#command<FailedLogin>({ type: 'CountAbsentLogin', tenant, email, place });
  }

  /** Counts a request for a link. @throws {ServiceError} `RATE_LIMITED` */
  countLink({ address, email, tenant }: AbsentAttempt): Promise<LinkRequested> {
    const place = clientPlace(tenant, address);
    return this.#command<LinkRequested>({ type: 'CountAbsentLink', tenant, email, place });
  }

  async #command<Result>(command: IdentitiesCommand): Promise<Result> {
    const { provisioning, router } = this.#context;
    const send = () => router.command(identities, command, { caller: engineCaller(SYSTEM_TENANT) });
    try {
      return (await send()) as Result;
    } catch (error) {
      if (!isMissing(error)) throw error;
      await provisioning.createIdentities(SYSTEM_TENANT);
      return (await send()) as Result;
    }
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof ServiceError && error.code === 'NOT_FOUND';
}
