import type {
  IdentitiesCommand,
  IdentitiesQuery,
  Identity,
  ReadConfiguration,
} from '#actors/identities/messages.ts';
import type { AccessEntry } from '#actors/identities/people-messages.ts';
import {
  type AuthConfiguration,
  defaultAuthConfiguration,
} from '#runtime/access/identity/auth-configuration.ts';
import { actorId } from '#runtime/actor/actor-id.ts';
import { engineCaller } from '#runtime/actor/engine-caller.ts';
import type { Delivery, Router } from '#runtime/actor/ports.ts';
import type { Caller } from '#runtime/commit/behaviour.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';

/** Errors that say that an invitation is not open any more. */
const hasEnded: ReadonlySet<string> = new Set(['CONFLICT', 'NOT_FOUND']);

/** The identities of tenants, in which nobody may have registered yet. */
export class TenantPeople {
  readonly #router: Pick<Router, 'command' | 'query'>;

  constructor(router: Pick<Router, 'command' | 'query'>) {
    this.#router = router;
  }

  /** @returns undefined for a tenant without identities */
  async query<Answer>(
    tenant: string,
    query: IdentitiesQuery,
    caller: Caller = engineCaller(tenant),
  ): Promise<Answer | undefined> {
    try {
      return (await this.#router.query(actorId(tenant, 'identities'), query, caller)) as Answer;
    } catch (error) {
      if (error instanceof ServiceError && error.code === 'NOT_FOUND') return undefined;
      throw error;
    }
  }

  /** @throws {ServiceError} the errors of the command; `IDENTITY_NOT_FOUND` in a tenant without identities */
  async command<Result>(
    tenant: string,
    command: IdentitiesCommand,
    delivery: Delivery = { caller: engineCaller(tenant) },
  ): Promise<Result> {
    try {
      return (await this.#router.command(actorId(tenant, 'identities'), command, delivery)) as Result;
    } catch (error) {
      // No command about one identity answers this code.
      if (error instanceof ServiceError && error.code === 'NOT_FOUND' && 'identityId' in command)
        throw new ServiceError('IDENTITY_NOT_FOUND');
      throw error;
    }
  }

  /** @throws {ServiceError} `IDENTITY_NOT_FOUND` */
  async require(tenant: string, identityId: string): Promise<Identity> {
    const found = await this.query<Identity>(tenant, { type: 'FindIdentity', identityId });
    if (found === undefined) throw new ServiceError('IDENTITY_NOT_FOUND');
    return found;
  }

  /**
   * The invitation to a repository that is open for a person.
   *
   * @param repository its part of actor ids
   */
  async invitationFor(
    tenant: string,
    repository: string,
    { email_verified: isVerified, identity_id: identityId }: Identity,
  ): Promise<AccessEntry | undefined> {
    // Most logins need not ask.
    if (!isVerified) return undefined;
    return await this.query<AccessEntry>(tenant, { type: 'FindInvitation', repository, identityId });
  }

  /**
   * Begins to use the invitation that is open for a person. Nobody withdraws or replaces it from then on.
   *
   * @param repository its part of actor ids
   * @returns undefined for a person without one
   */
  async takeInvitation(
    tenant: string,
    repository: string,
    { identity_id: identityId }: Identity,
  ): Promise<AccessEntry | undefined> {
    const command = { type: 'TakeInvitation', repository, identityId } as const;
    return (await this.command<AccessEntry | null>(tenant, command)) ?? undefined;
  }

  /** An invitation was used. One that was withdrawn meanwhile, or after which there is another one, stays what it is. */
  async endUse(tenant: string, repository: string, id: string): Promise<void> {
    const decision = { type: 'DecideAccess', repository, id, decision: 'active', reason: null } as const;
    try {
      await this.command(tenant, { ...decision, by: 'system' });
    } catch (error) {
      if (!(error instanceof ServiceError) || !hasEnded.has(error.code)) throw error;
    }
  }

  /**
   * Withdraws the invitation to a repository that is open for the address of a person, if there is one.
   *
   * @param repository its part of actor ids
   */
  async endInvitation(
    tenant: string,
    repository: string,
    identityId: string,
    reason: string | null,
    by: string,
  ): Promise<void> {
    try {
      await this.command(tenant, { type: 'EndInvitation', repository, identityId, reason, by });
    } catch (error) {
      // A tenant without identities has no invitations.
      if (!(error instanceof ServiceError) || error.code !== 'IDENTITY_NOT_FOUND') throw error;
    }
  }

  /** How people authenticate in a tenant. */
  async configuration(tenant: string): Promise<AuthConfiguration> {
    const read = await this.query<ReadConfiguration>(tenant, { type: 'ReadAuthentication' });
    return read?.configuration ?? defaultAuthConfiguration;
  }
}
