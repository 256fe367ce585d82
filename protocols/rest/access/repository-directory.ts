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
import { afterwards, recovering, type Soon } from '../soon.ts';

/**
 * Finds the actors behind the names in an address. Names are looked up in the actors that own them, at every
 * request: they keep them decoded in memory, and what was deleted is gone at once.
 *
 * In a cluster the registry of the tenant, which is part of every address, is looked at where this member has it: its
 * owner would have to answer for every request of the tenant. What it says is a guess that the owner of the repository
 * confirms, because ids of actors are never used again; where that has no such actor, the registry's owner is asked.
 * So is a branch of another member's repository, for those who send their message with the precondition of the guess.
 *
 * A repository or branch that is used for the first time after an upgrade of the server receives the built-ins
 * of the new version before it is handed out, unless it is read as this member has it (`local`).
 *
 * @see docs/decisions/0029-name-resolution-from-replicas.md
 */
export class RepositoryDirectory {
  readonly #router: Router;
  readonly #upgrades: BuiltInUpgrades;
  readonly #nearby: LocalReads | undefined;
  /** The actors hand out the same entry object until something changes, so it stands for what was made of it. */
  readonly #repositories = new WeakMap<RepositoryEntry, FoundRepository>();
  readonly #branches = new WeakMap<BranchEntry | TagEntry, FoundBranch>();
  readonly #engine = engineCaller('');
  /** The tenant that was asked for last; most requests are of one. */
  #lastTenant = { name: '', actor: '' as ActorId };

  /** @param nearby what this process has of the registries of tenants, where others may own them */
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
      // Whoever takes what is here does not wait for what is written elsewhere.
      if (consistency?.kind === 'local') return found;
      return this.#upgrades.repository(found.actor)?.then(() => found) ?? found;
    });
  }

  /**
   * A branch, or what a tag names, by name.
   *
   * @throws {ServiceError} `REPOSITORY_NOT_FOUND`, `BRANCH_NOT_FOUND`; `READ_ONLY_REVISION` for a tag that is to be
   *   written to
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
   * As {@link RepositoryDirectory.branch}, or as this member knows the branch where its owner is another one: then
   * every message to it has to go with the precondition of its {@link FoundBranch.guess}.
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
      // What has to be installed first may not be installed in a branch that may be gone.
      if (guess !== undefined && this.#upgrades.isCurrent(guess.actor)) return guess;
      return this.branchOf(repository, name, use, consistency);
    });
  }

  /** As {@link RepositoryDirectory.branch}, in a repository. @throws {ServiceError} `BRANCH_NOT_FOUND`, `READ_ONLY_REVISION` */
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
   * A branch by name, for what lies beside its content, which is not touched: no built-ins are installed. A tag has
   * nothing beside content.
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

  /** As {@link RepositoryDirectory.besideContent} and {@link RepositoryDirectory.likelyBranch}. */
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
   * Looks something up in a repository, in the one this member knows by that name if that is enough.
   *
   * @param lookUp throws `BRANCH_NOT_FOUND` also where there is no such repository any more; told whether it may be so
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

  /** The repository this member knows by a name; it may be gone, or another one by now. */
  #guess(tenant: string, name: string): FoundRepository | undefined {
    const query = { type: 'FindRepository', repositoryId: name };
    const entry = this.#nearby?.tryLocal(this.#tenantActor(tenant), query, this.#engine);
    return entry === undefined ? undefined : this.#foundRepository(tenant, entry as RepositoryEntry);
  }

  /** The branch this member knows by a name in a repository of another one; tags are always looked up. */
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

  /** The branch of an entry that was looked up. It is not touched, so that one that was made empty stays so. */
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
        // Of a branch where somebody has seen a revision the replica has only not read yet.
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

  /** As {@link RepositoryDirectory.#ask}; what somebody has seen a revision of is known to the owner at least. */
  #find(actor: ActorId, query: unknown, consistency: ReadConsistency | undefined): unknown {
    const entry = this.#ask(actor, query, consistency) as Soon<unknown>;
    if (!hasSeen(consistency)) return entry;
    return afterwards(entry, (known) => known ?? this.#ask(actor, query, undefined));
  }

  /** An actor that does not exist knows no names. */
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

/** Whether a replica is asked that may lack what the caller has seen. */
function hasSeen(consistency: ReadConsistency | undefined): boolean {
  return consistency?.kind === 'local' && consistency.seen !== undefined;
}

/** @param name what it was asked for by: its own, or that of a tag */
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
