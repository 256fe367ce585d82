import type { BranchEntry, FindBranch } from '#actors/repository/messages.ts';
import type { LocksProvisioning } from '#protocols/rest/ports.ts';
import type { FoundBranch } from '#protocols/rest/access/found-branch.ts';
import { engineCaller } from '#runtime/actor/engine-caller.ts';
import type { ActorLifecycle, Router } from '#runtime/actor/ports.ts';
import { PreconditionRefuted } from '#runtime/actor/precondition.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';

/**
 * Creates the locks of a branch at the first request for them: most branches never need any. They are removed with the
 * branch.
 *
 * Nothing here removes locks. The owner of the branch creates them in one step, in which it verifies that the
 * branch exists: two requests may both be the first, and locks of which one request was granted must stay whatever
 * happens to the other.
 */
export class MemberLocks implements LocksProvisioning {
  readonly isEnabled: boolean;
  readonly #router: Router;
  readonly #lifecycle: Pick<ActorLifecycle, 'create'>;
  readonly #stopping = new AbortController();

  constructor(router: Router, lifecycle: Pick<ActorLifecycle, 'create'>, isEnabled: boolean) {
    this.#router = router;
    this.#lifecycle = lifecycle;
    this.isEnabled = isEnabled;
  }

  get stopping(): AbortSignal {
    return this.#stopping.signal;
  }

  /** Ends waiting lock requests at this member, for locks here or elsewhere, with `SHUTTING_DOWN`. */
  stop(): void {
    this.#stopping.abort(new ServiceError('SHUTTING_DOWN'));
  }

  async createLocks(branch: FoundBranch): Promise<void> {
    const { locks, name, repository, uid } = branch;
    const query: FindBranch = { type: 'FindBranch', name };
    try {
      await this.#lifecycle.create(locks, { actor: repository.actor, query, uid });
    } catch (error) {
      if (!(error instanceof PreconditionRefuted)) throw error;
      await this.#requireListed(branch, query);
      // The branch exists, so the owner is of a version without preconditions. Locks whose branch is removed meanwhile
      // grant nothing, and a start removes them.
      await this.#lifecycle.create(locks);
    }
  }

  async #requireListed({ name, repository, uid }: FoundBranch, query: FindBranch): Promise<void> {
    const caller = engineCaller(repository.tenant);
    const known = (await this.#router.query(repository.actor, query, caller)) as BranchEntry | undefined;
    if (known?.uid === uid) return;
    throw new ServiceError('BRANCH_NOT_FOUND', `Branch '${name}' not found`);
  }
}
