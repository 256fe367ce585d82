import type { BranchEntry, FindBranch } from '#actors/repository/messages.ts';
import type { LocksProvisioning } from '#protocols/rest/ports.ts';
import type { FoundBranch } from '#protocols/rest/repository-directory.ts';
import { engineCaller } from '#runtime/actor/engine-caller.ts';
import type { ActorLifecycle, Router } from '#runtime/actor/ports.ts';
import { PremiseRefuted } from '#runtime/actor/premise.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';

/**
 * Makes the locks of a branch when somebody first asks for them: most branches never need any. They go with the
 * branch.
 *
 * Nothing here removes locks. Whoever owns the branch makes them in one step, and makes sure in that step that the
 * branch is there: two requests may both be the first, and locks that one of them was granted from must stay whatever
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

  /** Ends what waits at this member for a lock, here or elsewhere, with `SHUTTING_DOWN`. */
  stop(): void {
    this.#stopping.abort(new ServiceError('SHUTTING_DOWN'));
  }

  async createLocks(branch: FoundBranch): Promise<void> {
    const { locks, name, repository, uid } = branch;
    const query: FindBranch = { type: 'FindBranch', name };
    try {
      await this.#lifecycle.create(locks, { actor: repository.actor, query, uid });
    } catch (error) {
      if (!(error instanceof PremiseRefuted)) throw error;
      await this.#requireListed(branch, query);
      // The branch is there, so the owner is of a version that confirms nothing. Locks whose branch goes meanwhile
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
