import type { InstallBuiltIns } from '#actors/branch/messages.ts';
import type { InitializeRepository, RepositoryInitialized } from '#actors/repository/messages.ts';
import type {
  BootstrapTenant,
  CompleteTenant,
  FindRepository,
  FirstAdmin,
  ListTenants,
  ListUnfinishedTenants,
  RegisterRepository,
  RegisterTenant,
  RepositoryEntry,
  TenantEntry,
  TenantMade,
  UnfinishedTenant,
  UnregisterRepository,
} from '#actors/tenant/messages.ts';
import type { NewRepository, NewTenant, Provisioning } from '#protocols/rest/ports.ts';
import { requireAdministrator } from '#runtime/access/policy.ts';
import { SYSTEM_TENANT } from '#runtime/access/system-tenant.ts';
import { actorId } from '#runtime/actor/actor-id.ts';
import { engineCaller } from '#runtime/actor/engine-caller.ts';
import type { ActorId, ActorLifecycle, Delivery, Router } from '#runtime/actor/ports.ts';
import { beginRemoval, noOwnerIntents, type OwnerIntents } from '#runtime/actor/store/owner-intents.ts';
import type { Random } from '#runtime/base/random.ts';
import { requireNewBranchName, requireRepositoryName } from '#runtime/content/names.ts';
import { newLanguageSettings } from '#runtime/content/translations/translation-config.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { readNameFloor } from '#server/registry/name-floor.ts';
import { newUid, partOf } from '#server/registry/part-names.ts';
import { isRegistered } from '#server/registry/registered-owners.ts';
import { isCertainlyRefused, toItsEnd } from '#server/registry/registration.ts';

/**
 * Creates and removes repositories and tenants, which involves several actors and hence several commits.
 *
 * - A repository is created from the bottom up and registered last: until then it is invisible.
 * - It is removed from the top down: unregistered first, which makes it invisible, then its files.
 * - Both are noted before they begin. {@link MemberProvisioning.sweep} removes the remains of a crash at the next
 *   start; unregistered data without such a note is kept.
 * - A tenant is registered first, together with the data for its creation, because its name is its actor's name and
 *   there is nothing to roll back: {@link MemberProvisioning.finishTenants} continues after a crash.
 */
export class MemberProvisioning implements Provisioning {
  readonly #router: Router;
  readonly #lifecycle: ActorLifecycle;
  readonly #random: Random;
  readonly #unsettled: OwnerIntents;
  readonly #requireNew: (actor: ActorId) => Promise<void>;

  /**
   * @param unsettled notes of creations and removals in progress; default: none, and nothing is swept
   * @param requireNew rejects unless it is certain that a missing actor never existed; default: it is certain, where a
   *   start compares the expected actors with the existing ones
   */
  constructor(
    router: Router,
    lifecycle: ActorLifecycle,
    random: Random,
    unsettled: OwnerIntents = noOwnerIntents,
    requireNew: (actor: ActorId) => Promise<void> = () => Promise.resolve(),
  ) {
    this.#requireNew = requireNew;
    this.#router = router;
    this.#lifecycle = lifecycle;
    this.#random = random;
    this.#unsettled = unsettled;
  }

  async createRepository(
    tenant: string,
    repository: NewRepository,
    delivery: Delivery,
  ): Promise<RepositoryEntry> {
    const { principal, policy } = delivery.caller;
    requireAdministrator(policy, principal);
    const name = requireRepositoryName(repository.repositoryId);
    requireNewBranchName(repository.defaultBranch);
    newLanguageSettings(repository.defaultLanguage, repository.supportedLanguages);
    await this.#checkFree(tenant, name, delivery);
    const uid = newUid(this.#random);
    const owner = actorId(tenant, partOf(name, uid));
    const tokenFloor = await readNameFloor(this.#router, tenant, name);
    let entry: RepositoryEntry;
    let isRegistering = false;
    await this.#unsettled.begin(owner);
    try {
      const initialized = await this.#fillRepository(owner, tenant, repository, tokenFloor);
      const register: RegisterRepository = {
        type: 'RegisterRepository',
        repositoryId: name,
        uid,
        tokenFloor,
        ...initialized,
      };
      isRegistering = true;
      const registered = await this.#router.command(tenantActor(tenant), register, toItsEnd(delivery));
      entry = registered as RepositoryEntry;
    } catch (error) {
      // Otherwise it may be registered, and clients may have written to it; if it is not, a start removes it.
      if (!isRegistering || (await isCertainlyRefused(this.#router, owner, error)))
        await this.#discard(owner).catch(() => undefined);
      throw error;
    }
    // The request was a repetition of one that created the repository already.
    if (entry.uid !== uid) await this.#discard(owner);
    else await this.#unsettled.settled(owner);
    return entry;
  }

  async removeRepository(tenant: string, repositoryId: string, delivery: Delivery): Promise<void> {
    const command: UnregisterRepository = { type: 'UnregisterRepository', repositoryId };
    const known = await this.#find(tenant, repositoryId);
    if (known !== undefined) await beginRemoval(this.#unsettled, actorId(tenant, repositoryPart(known)));
    const entry = (await this.#command(tenantActor(tenant), command, toItsEnd(delivery))) as RepositoryEntry;
    await this.#discard(actorId(tenant, repositoryPart(entry)));
  }

  async createTenant(tenant: NewTenant, delivery: Delivery): Promise<TenantEntry> {
    const command: RegisterTenant = { type: 'RegisterTenant', ...tenant };
    const registered = await this.#router.command(tenantActor(SYSTEM_TENANT), command, toItsEnd(delivery));
    await this.#makeTenant(tenant.tenantId, tenant.admin);
    return registered as TenantEntry;
  }

  /**
   * Creates the system tenant if it does not exist.
   *
   * @param firstAdmin called only when the tenant must be created
   * @returns whether it was created
   */
  async bootstrap(firstAdmin: () => Promise<FirstAdmin>): Promise<boolean> {
    if (await this.isBootstrapped()) return false;
    const command: BootstrapTenant = {
      type: 'BootstrapTenant',
      tenantId: SYSTEM_TENANT,
      admin: await firstAdmin(),
    };
    const caller = engineCaller(SYSTEM_TENANT);
    const made = await this.#router.command(tenantActor(SYSTEM_TENANT), command, { caller });
    return (made as TenantMade).created;
  }

  /**
   * Returns whether the system tenant has been created. Afterwards its actor exists: it is created if it never
   * existed, and not replaced if it is only missing.
   *
   * @throws the error for a missing one
   */
  async isBootstrapped(): Promise<boolean> {
    const actor = tenantActor(SYSTEM_TENANT);
    const query: ListTenants = { type: 'ListTenants', tenantId: SYSTEM_TENANT };
    try {
      const caller = engineCaller(SYSTEM_TENANT);
      const known = (await this.#router.query(actor, query, caller)) as readonly TenantEntry[];
      return known.length > 0;
    } catch (error) {
      if (!(error instanceof ServiceError) || error.code !== 'NOT_FOUND') throw error;
    }
    await this.#requireNew(actor);
    await this.#lifecycle.create(actor);
    return false;
  }

  /** Completes the creation of tenants that was interrupted. @returns their names */
  async finishTenants(): Promise<readonly string[]> {
    const query: ListUnfinishedTenants = { type: 'ListUnfinishedTenants' };
    const unfinished = (await this.#router.query(
      tenantActor(SYSTEM_TENANT),
      query,
      engineCaller(SYSTEM_TENANT),
    )) as readonly UnfinishedTenant[];
    for (const { tenantId, admin } of unfinished) await this.#makeTenant(tenantId, admin);
    return unfinished.map(({ tenantId }) => tenantId);
  }

  /**
   * Removes the remains of interrupted creations and removals of repositories and branches, and tenants of an
   * interrupted restore: data that was noted and is not registered. For a process that has all actors.
   *
   * @param onFailure called for an owner whose registration cannot be determined; it is kept
   * @param onUnread called for an unreadable note; the data it names is kept
   * @returns what was removed
   */
  async sweep(
    onFailure: (owner: string, cause: unknown) => void,
    onUnread?: (path: string, cause: unknown) => void,
  ): Promise<readonly string[]> {
    const removed: string[] = [];
    for (const owner of await this.#unsettled.all(onUnread)) {
      try {
        if (await isRegistered(this.#router, owner)) await this.#unsettled.settled(owner);
        else {
          await this.#discard(owner);
          removed.push(owner);
        }
      } catch (cause) {
        onFailure(owner, cause);
      }
    }
    return removed;
  }

  async #discard(owner: string): Promise<void> {
    await this.#lifecycle.destroyUnder(owner);
    await this.#unsettled.settled(owner);
  }

  async #makeTenant(tenantId: string, admin: FirstAdmin): Promise<void> {
    const actor = tenantActor(tenantId);
    const caller = engineCaller(tenantId);
    const bootstrap: BootstrapTenant = { type: 'BootstrapTenant', tenantId, admin };
    const complete: CompleteTenant = { type: 'CompleteTenant', tenantId };
    await this.#lifecycle.create(actor);
    await this.#router.command(actor, bootstrap, { caller });
    await this.#router.command(tenantActor(SYSTEM_TENANT), complete, { caller: engineCaller(SYSTEM_TENANT) });
  }

  /** Avoids useless work; the registration decides which request is first. */
  async #checkFree(tenant: string, name: string, delivery: Delivery): Promise<void> {
    // A repetition must reach the stored outcome of the first request.
    if (delivery.idempotency !== undefined) return;
    if ((await this.#find(tenant, name)) === undefined) return;
    throw new ServiceError('REPOSITORY_ALREADY_EXISTS', `Repository '${name}' already exists`, {
      field: 'repo_id',
    });
  }

  /** A tenant that does not exist has no repositories. */
  async #find(tenant: string, repositoryId: string): Promise<RepositoryEntry | undefined> {
    const query: FindRepository = { type: 'FindRepository', repositoryId };
    try {
      return (await this.#router.query(tenantActor(tenant), query, engineCaller(tenant))) as
        | RepositoryEntry
        | undefined;
    } catch (error) {
      if (error instanceof ServiceError && error.code === 'NOT_FOUND') return undefined;
      throw error;
    }
  }

  async #fillRepository(
    owner: string,
    tenant: string,
    repository: NewRepository,
    tokenFloor: number,
  ): Promise<RepositoryInitialized | undefined> {
    const branchUid = newUid(this.#random);
    const { defaultBranch } = repository;
    const repositoryActor = `${owner}/repository`;
    const branchPart = encodeURIComponent(partOf(defaultBranch, branchUid));
    const branchActor = `${owner}/${branchPart}/branch`;
    await this.#lifecycle.create(repositoryActor);
    await this.#lifecycle.create(branchActor);
    const delivery: Delivery = { caller: engineCaller(tenant) };
    const initialize: InitializeRepository = {
      type: 'InitializeRepository',
      ...repository,
      defaultBranchUid: branchUid,
      tokenFloor,
    };
    const initialized = await this.#router.command(repositoryActor, initialize, delivery);
    const install: InstallBuiltIns = { type: 'InstallBuiltIns' };
    await this.#router.command(branchActor, install, delivery);
    return initialized as RepositoryInitialized | undefined;
  }

  /** A tenant that does not exist has no repositories. */
  async #command(actor: ActorId, command: UnregisterRepository, delivery: Delivery): Promise<unknown> {
    try {
      return await this.#router.command(actor, command, delivery);
    } catch (error) {
      if (!(error instanceof ServiceError) || error.code !== 'NOT_FOUND') throw error;
      throw new ServiceError('REPOSITORY_NOT_FOUND', `Repository '${command.repositoryId}' not found`);
    }
  }
}

function tenantActor(tenant: string): ActorId {
  return actorId(tenant, 'tenant');
}

function repositoryPart({ repositoryId, uid }: RepositoryEntry): string {
  return partOf(repositoryId, uid);
}
