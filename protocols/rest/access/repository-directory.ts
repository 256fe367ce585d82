import type { FoundBranch, FoundRepository } from './found-branch.ts';
import type { BranchEntry, TagEntry } from '#actors/repository/messages.ts';
import type { RepositoryEntry } from '#actors/tenant/messages.ts';
import { actorId } from '#runtime/actor/actor-id.ts';
import { engineCaller } from '#runtime/actor/engine-caller.ts';
import type { ActorId, LocalReads, Router } from '#runtime/actor/ports.ts';
import type { Precondition, ReadConsistency } from '#runtime/commit/behaviour.ts';
import { parseRevision, type Revision } from '#runtime/content/revision.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { BuiltInUpgrades } from '../ports.ts';
import type { BranchUse } from './found-branch.ts';
import { afterwards, recovering, type Soon } from '#runtime/base/event-loop/soon.ts';

/**
 * Resolves the names in an address to actors. Names are looked up in the actors that own them, for every request:
 * these keep them decoded in memory, and a deleted name is gone at once.
 *
 * In a cluster this member's replica of the tenant's registry is used if there is one, because otherwise the
 * registry's owner would serve every request of the tenant. The result is a guess that the owner of the repository
 * confirms, because actor ids are never reused. If that owner has no such actor, the registry's owner is queried. A
 * branch of another member's repository is resolved in the same way for callers that send the guess's precondition
 * with their message.
 *
 * A repository or branch that is used for the first time after a server upgrade receives the built-ins of the new
 * version before it is returned, unless the read is `local`.
 *
 * @see docs/decisions/0029-name-resolution-from-replicas.md
 */
export class RepositoryDirectory {
  readonly #router: Router;
  readonly #upgrades: BuiltInUpgrades;
  readonly #nearby: LocalReads | undefined;
  /** Keyed by entry: the actors return the same entry object until something changes. */
  readonly #repositories = new WeakMap<RepositoryEntry, FoundRepository>();
  readonly #branches = new WeakMap<BranchEntry | TagEntry, FoundBranch>();
  readonly #engine = engineCaller('');
  /** The most recent tenant; consecutive requests often belong to one. */
  #lastTenant = { name: '', actor: '' as ActorId };

  /** @param nearby this process's replicas of tenant registries that other members may own */
  constructor(router: Router, upgrades: BuiltInUpgrades, nearby?: LocalReads) {
    this.#router = router;
    this.#upgrades = upgrades;
    this.#nearby = nearby;
  }

  /** @throws {ServiceError} `REPOSITORY_NOT_FOUND`, also for an unknown tenant */
  repository(tenant: string, name: string, consistency?: ReadConsistency): Soon<FoundRepository> {
    const query = { type: 'FindRepository', repositoryId: name };
    const entry = this.#find(this.#tenantActor(tenant), query, consistency);
    return afterwards(entry as Soon<RepositoryEntry | undefined>, (known) => {
      if (known === undefined) {
        throw new ServiceError('REPOSITORY_NOT_FOUND', `Repository '${name}' not found`);
      }
      const found = this.#foundRepository(tenant, known);
      // A local read does not wait for writes on other members.
      if (consistency?.kind === 'local') return found;
      return this.#upgrades.repository(found.actor)?.then(() => found) ?? found;
    });
  }

  /**
   * The branch of a name, or the branch that a tag refers to.
   *
   * @throws {ServiceError} `REPOSITORY_NOT_FOUND`, `BRANCH_NOT_FOUND`; `READ_ONLY_REVISION` for writing to a tag
   */
  branch(
    tenant: string,
    repositoryName: string,
    name: string,
    use: BranchUse,
    consistency?: ReadConsistency,
  ): Soon<FoundBranch> {
    return this.#inRepository(tenant, repositoryName, consistency, (repository) =>
      this.branchOf(repository, name, use, consistency),
    );
  }

  /**
   * As {@link RepositoryDirectory.branch}, or a guess from this member's replica if another member owns the branch.
   * Every message to a guessed branch must then carry the precondition of its {@link FoundBranch.guess}.
   */
  likelyBranch(
    tenant: string,
    repositoryName: string,
    name: string,
    use: BranchUse,
    consistency?: ReadConsistency,
  ): Soon<FoundBranch> {
    return this.#inRepository(tenant, repositoryName, consistency, (repository, isGuess) => {
      const guess = isGuess ? this.#guessBranch(repository, name, use) : undefined;
      // Pending built-ins cannot be installed in a guessed branch, because it may be deleted.
      if (guess !== undefined && this.#upgrades.isCurrent(guess.actor)) return guess;
      return this.branchOf(repository, name, use, consistency);
    });
  }

  /**
   * As {@link RepositoryDirectory.branch}, in a repository. @throws {ServiceError} `BRANCH_NOT_FOUND`,
   * `READ_ONLY_REVISION`
   */
  branchOf(
    repository: FoundRepository,
    name: string,
    use: BranchUse,
    consistency?: ReadConsistency,
  ): Soon<FoundBranch> {
    const entry = this.#ask(repository.actor, { type: 'FindBranch', name }, consistency);
    return afterwards(entry as Soon<BranchEntry | undefined>, (known) => {
      if (known === undefined) return this.#tagged(repository, name, use, consistency);
      const found = this.foundBranch(repository, known);
      if (consistency?.kind === 'local') return found;
      return afterwards(this.#upgrades.branch(repository.actor, found.actor, use), () => found);
    });
  }

  /**
   * A branch by name, for data other than its content. The content is unaffected: no built-ins are installed. A tag
   * has content only.
   *
   * @throws {ServiceError} `REPOSITORY_NOT_FOUND`, `BRANCH_NOT_FOUND`; `READ_ONLY_REVISION` for a tag
   */
  besideContent(
    tenant: string,
    repositoryName: string,
    name: string,
    consistency?: ReadConsistency,
  ): Soon<FoundBranch> {
    return this.#inRepository(tenant, repositoryName, consistency, (repository) =>
      this.#besideContentOf(repository, name, consistency),
    );
  }

  /**
   * As {@link RepositoryDirectory.besideContent}, but may be a guess as in {@link RepositoryDirectory.likelyBranch}.
   */
  likelyBesideContent(
    tenant: string,
    repositoryName: string,
    name: string,
    consistency?: ReadConsistency,
  ): Soon<FoundBranch> {
    return this.#inRepository(tenant, repositoryName, consistency, (repository, isGuess) => {
      const guess = isGuess ? this.#guessBranch(repository, name, 'write') : undefined;
      return guess ?? this.#besideContentOf(repository, name, consistency);
    });
  }

  /**
   * Performs a lookup in a repository; the repository from this member's replica is tried first.
   *
   * @param lookUp throws `BRANCH_NOT_FOUND` also if the repository no longer exists; `isGuess` tells that this is
   *   possible
   */
  #inRepository<Found>(
    tenant: string,
    name: string,
    consistency: ReadConsistency | undefined,
    lookUp: (repository: FoundRepository, isGuess: boolean) => Soon<Found>,
  ): Soon<Found> {
    const guess = consistency === undefined ? this.#guess(tenant, name) : undefined;
    if (guess === undefined) {
      const found = this.repository(tenant, name, consistency);
      return afterwards(found, (known) => lookUp(known, false));
    }
    return recovering(
      () => lookUp(guess, true),
      (error) => {
        if (!(error instanceof ServiceError) || error.code !== 'BRANCH_NOT_FOUND') throw error;
        return afterwards(this.repository(tenant, name), (known) => {
          if (known.actor === guess.actor) throw error;
          return lookUp(known, false);
        });
      },
    );
  }

  /** The repository of a name in this member's replica; it may be deleted or replaced by now. */
  #guess(tenant: string, name: string): FoundRepository | undefined {
    const query = { type: 'FindRepository', repositoryId: name };
    const entry = this.#nearby?.tryLocal(this.#tenantActor(tenant), query, this.#engine);
    return entry === undefined ? undefined : this.#foundRepository(tenant, entry as RepositoryEntry);
  }

  /** The branch of a name in this member's replica of another member's repository; tags are never guessed. */
  #guessBranch(repository: FoundRepository, name: string, use: BranchUse): FoundBranch | undefined {
    const nearby = this.#nearby;
    if (nearby?.ownerConfirms(repository.actor) !== true) return undefined;
    const query = { type: 'FindBranch', name };
    const entry = nearby.tryLocal(repository.actor, query, this.#engine) as BranchEntry | undefined;
    if (entry === undefined) return undefined;
    const { uid } = entry;
    const precondition: Precondition = { actor: repository.actor, query, uid };
    return { ...this.foundBranch(repository, entry), guess: { precondition, use } };
  }

  #besideContentOf(
    repository: FoundRepository,
    name: string,
    consistency: ReadConsistency | undefined,
  ): Soon<FoundBranch> {
    const entry = this.#ask(repository.actor, { type: 'FindBranch', name }, consistency);
    return afterwards(entry as Soon<BranchEntry | undefined>, (known) =>
      known === undefined
        ? this.#tagged(repository, name, 'write', consistency)
        : this.foundBranch(repository, known),
    );
  }

  /** The branch of an entry. No built-ins are installed, so a branch that was created empty stays empty. */
  foundBranch(repository: FoundRepository, entry: BranchEntry): FoundBranch {
    const kept = this.#branches.get(entry);
    if (kept !== undefined) return kept;
    const found = addressOf(repository, entry.name, entry, undefined);
    this.#branches.set(entry, found);
    return found;
  }

  #tagged(
    repository: FoundRepository,
    name: string,
    use: BranchUse,
    consistency: ReadConsistency | undefined,
  ): Soon<FoundBranch> {
    const entry = this.#ask(repository.actor, { type: 'FindTag', name }, consistency);
    return afterwards(entry as Soon<TagEntry | undefined>, (tag) => {
      if (tag === undefined) {
        // If the caller has seen a revision, the replica may not have received the branch yet.
        if (hasSeen(consistency)) return this.branchOf(repository, name, use);
        throw branchNotFound(name);
      }
      if (use === 'write') {
        throw new ServiceError('READ_ONLY_REVISION', `'${name}' is a tag; write to a branch`);
      }
      const kept = this.#branches.get(tag);
      if (kept !== undefined) return kept;
      const taggedAt = Object.freeze(parseRevision(tag.revision));
      const found = addressOf(repository, name, tag.branch, taggedAt);
      this.#branches.set(tag, found);
      return found;
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

  /**
   * As {@link RepositoryDirectory.#ask}; if the caller has seen a revision, a missing name is looked up at the owner.
   */
  #find(actor: ActorId, query: unknown, consistency: ReadConsistency | undefined): unknown {
    const entry = this.#ask(actor, query, consistency) as Soon<unknown>;
    if (!hasSeen(consistency)) return entry;
    return afterwards(entry, (known) => known ?? this.#ask(actor, query, undefined));
  }

  /** Queries an actor; one that does not exist has no names. */
  #ask(actor: ActorId, query: unknown, consistency: ReadConsistency | undefined): unknown {
    try {
      const caller = consistency === undefined ? this.#engine : { ...this.#engine, consistency };
      const answer = this.#router.query(actor, query, caller);
      return answer instanceof Promise ? answer.catch(nothingWhereMissing) : answer;
    } catch (error) {
      return nothingWhereMissing(error);
    }
  }
}

/** Whether the read goes to a replica that may lack a revision the caller has seen. */
function hasSeen(consistency: ReadConsistency | undefined): boolean {
  return consistency?.kind === 'local' && consistency.seen !== undefined;
}

/** @param name the name it was resolved by: its own, or that of a tag */
function addressOf(
  repository: FoundRepository,
  name: string,
  branch: Pick<BranchEntry, 'name' | 'uid'>,
  taggedAt: Revision | undefined,
): FoundBranch {
  const { part, tenant } = repository;
  const { uid } = branch;
  const owner = actorId(tenant, part, `${branch.name}~${uid}`);
  const actor = `${owner}/branch`;
  return Object.freeze({ repository, name, uid, actor, locks: `${owner}/locks`, taggedAt, guess: undefined });
}

function branchNotFound(name: string): ServiceError {
  return new ServiceError('BRANCH_NOT_FOUND', `Branch '${name}' not found`);
}

function nothingWhereMissing(error: unknown): undefined {
  if (error instanceof ServiceError && error.code === 'NOT_FOUND') return undefined;
  throw error;
}
