import type { BecomeFork, ReadRevision } from '#actors/branch/messages.ts';
import type {
  BranchAddress,
  BranchEntry,
  BranchUnregistered,
  FindBranch,
  FindTag,
  ListBranches,
  ListRetiredBranches,
  ListTags,
  PutTag,
  RefuseCreation,
  ReadRepository,
  RegisterBranch,
  RemoveTag,
  RepositoryQuery,
  RepositoryState,
  TagEntry,
  TagRemoved,
  UnregisterBranch,
} from '#actors/repository/messages.ts';
import type { BranchProvisioning, NewBranch, NewTag, RepositoryAddress } from '#protocols/rest/ports.ts';
import { requireAdministrator } from '#runtime/access/policy.ts';
import { actorId } from '#runtime/actor/actor-id.ts';
import { engineCaller } from '#runtime/actor/engine-caller.ts';
import type { ActorId, ActorLifecycle, Delivery, Router } from '#runtime/actor/ports.ts';
import { beginRemoval, noOwnerIntents, type OwnerIntents } from '#runtime/actor/store/owner-intents.ts';
import type { Random } from '#runtime/base/random.ts';
import { crashPoint } from '#runtime/commit/crash-point.ts';
import { requireNewBranchName } from '#runtime/content/names.ts';
import {
  compareRevisions,
  formatRevision,
  parseRevision,
  type Revision,
  revisionZero,
} from '#runtime/content/revision.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { JobRequest } from '#runtime/jobs/job.ts';
import type { MemberJobs } from '#server/jobs/member-jobs.ts';
import { newUid, partOf } from '#server/registry/part-names.ts';
import { isCertainlyRefused, isOver, toItsEnd } from '#server/registry/registration.ts';
import { historyCopyJob } from '#server/jobs/revision-history-copy.ts';
import type { UnknownRemoval, UnknownRemovals } from './unknown-removals.ts';

/** Default upstream of a branch. @see docs/interface/branches.md#the-branch-object */
const UPSTREAM_DEFAULT = 'main';

/** Receives the background jobs of a repository that are committed with a branch. */
export type JobOutlet = Pick<MemberJobs, 'deliver' | 'prepare'>;

/**
 * Creates and removes branches and tags of a repository, which involves its own actor and those of branches.
 *
 * - A branch is created first and registered last: until then it is invisible.
 * - It is unregistered first, which makes it invisible, then removed from disk.
 * - Both are noted before they begin. The next start removes the remains of a crash, see
 *   `MemberProvisioning.sweep`.
 */
export class MemberBranches implements BranchProvisioning {
  readonly #router: Router;
  readonly #lifecycle: ActorLifecycle;
  readonly #random: Random;
  readonly #jobs: JobOutlet;
  readonly #unsettled: OwnerIntents;
  readonly #unknown: UnknownRemovals | undefined;

  /**
   * @param unsettled notes of creations and removals in progress; default: none
   * @param unknown follows removals with an unknown outcome; default: none
   */
  constructor(
    router: Router,
    lifecycle: ActorLifecycle,
    random: Random,
    jobs: JobOutlet,
    unsettled: OwnerIntents = noOwnerIntents,
    unknown?: UnknownRemovals,
  ) {
    this.#unsettled = unsettled;
    this.#unknown = unknown;
    this.#router = router;
    this.#lifecycle = lifecycle;
    this.#random = random;
    this.#jobs = jobs;
  }

  async createBranch(
    repository: RepositoryAddress,
    branch: NewBranch,
    delivery: Delivery,
  ): Promise<BranchEntry> {
    requireAdministrator(delivery.caller.policy, delivery.caller.principal);
    const name = requireNewBranchName(branch.name);
    await this.#checkFree(repository, name, delivery);
    let source: BranchAddress | undefined;
    try {
      source = await this.#sourceOf(repository, branch);
    } catch (error) {
      return (await this.#refuse(repository, error, delivery)) as BranchEntry;
    }
    const uid = newUid(this.#random);
    const owner = actorId(repository.tenant, repository.part, partOf(name, uid));
    let isRegistering = false;
    await this.#unsettled.begin(owner);
    try {
      const createdFrom = await this.#fill(repository, `${owner}/branch`, source, branch.fromRevision);
      crashPoint('before-branch-register');
      const registration = registrationOf(branch, uid, createdFrom);
      const job = source === undefined ? undefined : await this.#jobFor(repository, name, owner);
      const register = job === undefined ? registration : { ...registration, job };
      isRegistering = true;
      const registered = await this.#router.command(repository.actor, register, toItsEnd(delivery));
      const entry = registered as BranchEntry;
      // So that the job is listed when the branch is answered; after a failure it is delivered later.
      if (job !== undefined) await this.#jobs.deliver(repository.actor);
      // The request was a repetition of one that created the branch already.
      if (entry.uid !== uid) await this.#discard(owner);
      else await this.#unsettled.settled(owner);
      return entry;
    } catch (error) {
      // Otherwise it may be registered, and clients may have written to it; if it is not, a start removes it.
      if (!isRegistering || (await isCertainlyRefused(this.#router, owner, error)))
        await this.#discard(owner).catch(() => undefined);
      throw error;
    }
  }

  async removeBranch(repository: RepositoryAddress, name: string, delivery: Delivery): Promise<void> {
    requireAdministrator(delivery.caller.policy, delivery.caller.principal);
    const successors = await this.#successorsOf(repository, name);
    const known = (await this.#ask(repository, { type: 'FindBranch', name })) as BranchEntry | undefined;
    if (known !== undefined) await beginRemoval(this.#unsettled, ownerOf(repository, known));
    const seal = newUid(this.#random);
    const command: UnregisterBranch = { type: 'UnregisterBranch', name, successors, seal };
    let removed: unknown;
    try {
      removed = await this.#router.command(repository.actor, command, toItsEnd(delivery));
    } catch (error) {
      if (known !== undefined && !isOver(error)) this.#followRemoval(repository, known, 'branch');
      throw error;
    }
    const { branch, isRetired } = removed as BranchUnregistered;
    await this.#removeActors(ownerOf(repository, branch), isRetired);
  }

  /** Follows a removal with an unknown outcome: the branch or tag may be removed nevertheless, or later. */
  #followRemoval(repository: RepositoryAddress, branch: BranchAddress, what: UnknownRemoval['what']): void {
    const finish = (isRetired: boolean): Promise<void> =>
      this.#removeActors(ownerOf(repository, branch), isRetired);
    this.#unknown?.follow({ repository, branch, what, finish });
  }

  /** @param owner of a branch that is no longer listed @param isRetired whether its content stays for a tag */
  async #removeActors(owner: string, isRetired: boolean): Promise<void> {
    if (!isRetired) return this.#discard(owner);
    await this.#lifecycle.destroyUnder(`${owner}/locks`);
    await this.#unsettled.settled(owner);
  }

  async createTag(repository: RepositoryAddress, tag: NewTag, delivery: Delivery): Promise<TagEntry> {
    requireAdministrator(delivery.caller.policy, delivery.caller.principal);
    const name = requireNewBranchName(tag.name, 'tag');
    const branch = await this.#holderOf(repository, tag.revision);
    if (branch === undefined)
      return (await this.#refuse(repository, revisionNotFound(tag.revision), delivery)) as TagEntry;
    const { createdBy, message, revision } = tag;
    const put: PutTag = {
      type: 'PutTag',
      tag: {
        name,
        revision: formatRevision(revision),
        createdBy,
        message,
        protected: tag.protected,
        branch: { name: branch.name, uid: branch.uid },
      },
    };
    return (await this.#router.command(repository.actor, put, delivery)) as TagEntry;
  }

  async removeTag(repository: RepositoryAddress, name: string, delivery: Delivery): Promise<void> {
    const known = (await this.#ask(repository, { type: 'FindTag', name })) as TagEntry | undefined;
    const owner = known === undefined ? undefined : ownerOf(repository, known.branch);
    if (owner !== undefined) await beginRemoval(this.#unsettled, owner);
    const command: RemoveTag = { type: 'RemoveTag', name };
    let removed: unknown;
    try {
      removed = await this.#router.command(repository.actor, command, toItsEnd(delivery));
    } catch (error) {
      if (known !== undefined && !isOver(error)) this.#followRemoval(repository, known.branch, 'tag');
      throw error;
    }
    const { released } = removed as TagRemoved;
    if (released !== null) await this.#discard(ownerOf(repository, released));
    else if (owner !== undefined) await this.#unsettled.settled(owner);
  }

  /** Avoids a useless fork; the registration decides which request is first. */
  async #checkFree(repository: RepositoryAddress, name: string, delivery: Delivery): Promise<void> {
    // A repetition must reach the stored outcome of the first request.
    if (delivery.idempotency !== undefined) return;
    const findBranch: FindBranch = { type: 'FindBranch', name };
    const findTag: FindTag = { type: 'FindTag', name };
    const known = (await this.#ask(repository, findBranch)) ?? (await this.#ask(repository, findTag));
    if (known === undefined) return;
    throw new ServiceError('BRANCH_ALREADY_EXISTS', `A branch or tag '${name}' already exists`, {
      field: 'name',
    });
  }

  /**
   * Refuses a creation whose source was not found.
   *
   * @returns the first outcome if the request is a repetition: its source may have been deleted since
   * @throws {ServiceError} the refusal
   */
  async #refuse(repository: RepositoryAddress, refusal: unknown, delivery: Delivery): Promise<unknown> {
    if (delivery.idempotency === undefined || !isSourceMissing(refusal)) throw refusal;
    const { code, field, message } = refusal;
    const command: RefuseCreation = {
      type: 'RefuseCreation',
      code,
      message,
      ...(field === undefined ? {} : { field }),
    };
    return this.#router.command(repository.actor, command, toItsEnd(delivery));
  }

  /**
   * Returns the branch that is forked.
   *
   * @returns undefined for an empty branch
   * @throws {ServiceError} `BRANCH_NOT_FOUND`, `REVISION_NOT_FOUND`
   */
  async #sourceOf(
    repository: RepositoryAddress,
    { fromRevision, sourceBranch, upstreamBranch }: NewBranch,
  ): Promise<BranchAddress | undefined> {
    const forked = sourceBranch ?? upstreamBranch;
    if (forked !== undefined) {
      const query: FindBranch = { type: 'FindBranch', name: forked };
      const source = (await this.#ask(repository, query)) as BranchEntry | undefined;
      if (source === undefined) throw upstreamNotFound(forked);
      if (fromRevision === undefined) return source;
      if (isZero(fromRevision)) return undefined;
      if (await this.#hasRevision(repository, source, fromRevision)) return source;
      throw revisionNotFound(fromRevision);
    }
    if (fromRevision === undefined || isZero(fromRevision)) return undefined;
    const holder = await this.#holderOf(repository, fromRevision);
    if (holder === undefined) throw revisionNotFound(fromRevision);
    return holder;
  }

  /**
   * Creates the actor of a new branch.
   *
   * @param source undefined: an empty one
   * @returns the revision it was forked at
   */
  async #fill(
    repository: RepositoryAddress,
    actor: ActorId,
    source: BranchAddress | undefined,
    at: Revision | undefined,
  ): Promise<string | null> {
    if (source === undefined) {
      await this.#lifecycle.create(actor);
      return at === undefined ? null : formatRevision(at);
    }
    try {
      await this.#lifecycle.fork(actorOf(repository, source), actor);
    } catch (error) {
      if (!isMissing(error)) throw error;
      throw new ServiceError('BRANCH_NOT_FOUND', `Branch '${source.name}' was deleted meanwhile`);
    }
    crashPoint('before-fork-rewind');
    const command: BecomeFork = {
      type: 'BecomeFork',
      sourceName: source.name,
      ...(at === undefined ? {} : { revision: formatRevision(at) }),
    };
    const caller = engineCaller(repository.tenant);
    const { head } = (await this.#router.command(actor, command, { caller })) as { readonly head: string };
    return head;
  }

  /** Returns the job that completes a fork. @param owner of its actors */
  async #jobFor({ part, tenant }: RepositoryAddress, name: string, owner: string): Promise<JobRequest> {
    await this.#jobs.prepare(actorId(tenant, part));
    return historyCopyJob(`${part.slice(0, part.lastIndexOf('~'))}/${name}`, `${owner}/branch`);
  }

  /** Returns, for each tag of a branch, another branch that has its revision, if there is one. */
  async #successorsOf(repository: RepositoryAddress, name: string): Promise<Record<string, BranchAddress>> {
    const find: FindBranch = { type: 'FindBranch', name };
    const branch = (await this.#ask(repository, find)) as BranchEntry | undefined;
    if (branch === undefined) return {};
    const list: ListTags = { type: 'ListTags' };
    const tags = (await this.#ask(repository, list)) as readonly TagEntry[];
    const successors: [string, BranchAddress][] = [];
    for (const tag of tags) {
      if (tag.branch.uid !== branch.uid) continue;
      const successor = await this.#holderOf(repository, parseRevision(tag.revision), branch.uid);
      if (successor !== undefined) successors.push([tag.name, { name: successor.name, uid: successor.uid }]);
    }
    return Object.fromEntries(successors);
  }

  /**
   * Returns a branch that has a revision: the default branch if it does, else any other, else a deleted one whose
   * content is kept.
   *
   * @param exceptUid a branch that does not count
   */
  async #holderOf(
    repository: RepositoryAddress,
    revision: Revision,
    exceptUid?: string,
  ): Promise<BranchAddress | undefined> {
    const read: ReadRepository = { type: 'ReadRepository' };
    const list: ListBranches = { type: 'ListBranches' };
    const listRetired: ListRetiredBranches = { type: 'ListRetiredBranches' };
    const { defaultBranch } = (await this.#ask(repository, read)) as RepositoryState;
    const branches = (await this.#ask(repository, list)) as readonly BranchEntry[];
    const retired = (await this.#ask(repository, listRetired)) as readonly BranchAddress[];
    const isDefault = ({ name }: BranchEntry): boolean => name === defaultBranch;
    const others = branches.filter((branch) => !isDefault(branch));
    for (const branch of [...branches.filter(isDefault), ...others, ...retired]) {
      if (branch.uid === exceptUid) continue;
      if (await this.#hasRevision(repository, branch, revision)) return branch;
    }
    return undefined;
  }

  async #hasRevision(
    repository: RepositoryAddress,
    branch: BranchAddress,
    revision: Revision,
  ): Promise<boolean> {
    const query: ReadRevision = { type: 'ReadRevision', revision };
    const caller = engineCaller(repository.tenant);
    try {
      return (await this.#router.query(actorOf(repository, branch), query, caller)) !== undefined;
    } catch (error) {
      // Deleted since the list was read.
      if (isMissing(error)) return false;
      throw error;
    }
  }

  #ask(repository: RepositoryAddress, query: RepositoryQuery): unknown {
    return this.#router.query(repository.actor, query, engineCaller(repository.tenant));
  }

  async #discard(owner: string): Promise<void> {
    await this.#lifecycle.destroyUnder(owner);
    await this.#unsettled.settled(owner);
  }
}

function registrationOf(branch: NewBranch, uid: string, createdFrom: string | null): RegisterBranch {
  const { createdBy, description, name, upstreamBranch } = branch;
  return {
    type: 'RegisterBranch',
    branch: {
      name,
      uid,
      createdBy,
      createdFrom,
      upstreamBranch: upstreamBranch ?? UPSTREAM_DEFAULT,
      protected: branch.protected,
      description,
    },
    requiresUpstream: upstreamBranch !== undefined,
  };
}

/** Returns the prefix of the ids of a branch's actors. */
function ownerOf({ part, tenant }: RepositoryAddress, { name, uid }: BranchAddress): string {
  return actorId(tenant, part, partOf(name, uid));
}

function actorOf(repository: RepositoryAddress, branch: BranchAddress): ActorId {
  return `${ownerOf(repository, branch)}/branch`;
}

function isZero(revision: Revision): boolean {
  return compareRevisions(revision, revisionZero) === 0;
}

function isMissing(error: unknown): boolean {
  return error instanceof ServiceError && error.code === 'NOT_FOUND';
}

function isSourceMissing(error: unknown): error is ServiceError & { readonly code: RefuseCreation['code'] } {
  if (!(error instanceof ServiceError)) return false;
  return error.code === 'BRANCH_NOT_FOUND' || error.code === 'REVISION_NOT_FOUND';
}

function upstreamNotFound(name: string): ServiceError {
  return new ServiceError('BRANCH_NOT_FOUND', `Branch '${name}' not found`, { field: 'upstream_branch' });
}

function revisionNotFound(revision: Revision): ServiceError {
  return new ServiceError('REVISION_NOT_FOUND', `Revision '${formatRevision(revision)}' not found`);
}
