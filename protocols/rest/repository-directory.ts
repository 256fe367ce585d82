import type { BranchEntry } from '#actors/repository/messages.ts';
import type { RepositoryEntry } from '#actors/tenant/messages.ts';
import { actorId } from '#runtime/actor/actor-id.ts';
import { engineCaller } from '#runtime/actor/engine-caller.ts';
import type { ActorId, Router } from '#runtime/actor/ports.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { BuiltInUpgrades } from './ports.ts';
import { afterwards, type Soon } from './soon.ts';

/** A repository that was looked up by name. */
export interface FoundRepository {
  readonly tenant: string;
  readonly name: string;
  /** `{name}~{uid}`: the part of actor ids. */
  readonly part: string;
  /** Its `repository` actor. */
  readonly actor: ActorId;
}

/** A branch that was looked up by name. */
export interface FoundBranch {
  readonly repository: FoundRepository;
  readonly name: string;
  /** Its `branch` actor. */
  readonly actor: ActorId;
}

/**
 * Finds the actors behind the names in an address. Names are looked up in the actors that own them, at every
 * request: they keep them decoded in memory, and what was deleted is gone at once.
 *
 * A repository or branch that is used for the first time after an upgrade of the server receives the built-ins
 * of the new version before it is handed out.
 */
export class RepositoryDirectory {
  readonly #router: Router;
  readonly #upgrades: BuiltInUpgrades;
  /** The actors hand out the same entry object until something changes, so it stands for what was made of it. */
  readonly #repositories = new WeakMap<RepositoryEntry, FoundRepository>();
  readonly #branches = new WeakMap<BranchEntry, FoundBranch>();
  readonly #engine = engineCaller('');
  /** The tenant that was asked for last; most requests are of one. */
  #lastTenant = { name: '', actor: '' as ActorId };

  constructor(router: Router, upgrades: BuiltInUpgrades) {
    this.#router = router;
    this.#upgrades = upgrades;
  }

  /** @throws {ServiceError} `REPOSITORY_NOT_FOUND`, also for an unknown tenant */
  repository(tenant: string, name: string): Soon<FoundRepository> {
    const entry = this.#ask(this.#tenantActor(tenant), { type: 'FindRepository', repositoryId: name });
    return afterwards(entry as Soon<RepositoryEntry | undefined>, (known) => {
      if (known === undefined) {
        throw new ServiceError('REPOSITORY_NOT_FOUND', `Repository '${name}' not found`);
      }
      const found = this.#foundRepository(tenant, known);
      return afterwards(this.#upgrades.repository(found.actor), () => found);
    });
  }

  /** @throws {ServiceError} `REPOSITORY_NOT_FOUND`, `BRANCH_NOT_FOUND` */
  branch(tenant: string, repositoryName: string, name: string): Soon<FoundBranch> {
    return afterwards(this.repository(tenant, repositoryName), (repository) =>
      this.branchOf(repository, name),
    );
  }

  /** @throws {ServiceError} `BRANCH_NOT_FOUND` */
  branchOf(repository: FoundRepository, name: string): Soon<FoundBranch> {
    const entry = this.#ask(repository.actor, { type: 'FindBranch', name });
    return afterwards(entry as Soon<BranchEntry | undefined>, (known) => {
      if (known === undefined) throw new ServiceError('BRANCH_NOT_FOUND', `Branch '${name}' not found`);
      const found = this.#foundBranch(repository, known);
      return afterwards(this.#upgrades.branch(repository.actor, found.actor), () => found);
    });
  }

  #tenantActor(tenant: string): ActorId {
    if (this.#lastTenant.name !== tenant) {
      this.#lastTenant = { name: tenant, actor: actorId(tenant, 'tenant') };
    }
    return this.#lastTenant.actor;
  }

  #foundRepository(tenant: string, entry: RepositoryEntry): FoundRepository {
    const kept = this.#repositories.get(entry);
    if (kept !== undefined) return kept;
    const part = `${entry.repositoryId}~${entry.uid}`;
    const actor = actorId(tenant, part, 'repository');
    const found = Object.freeze({ tenant, name: entry.repositoryId, part, actor });
    this.#repositories.set(entry, found);
    return found;
  }

  #foundBranch(repository: FoundRepository, entry: BranchEntry): FoundBranch {
    const kept = this.#branches.get(entry);
    if (kept !== undefined) return kept;
    const actor = actorId(repository.tenant, repository.part, `${entry.name}~${entry.uid}`, 'branch');
    const found = Object.freeze({ repository, name: entry.name, actor });
    this.#branches.set(entry, found);
    return found;
  }

  /** An actor that does not exist knows no names. */
  #ask(actor: ActorId, query: unknown): unknown {
    const missing = (error: unknown): undefined => {
      if (error instanceof ServiceError && error.code === 'NOT_FOUND') return undefined;
      throw error;
    };
    try {
      const answer = this.#router.query(actor, query, this.#engine);
      return answer instanceof Promise ? answer.catch(missing) : answer;
    } catch (error) {
      return missing(error);
    }
  }
}
