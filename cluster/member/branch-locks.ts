import type { BranchEntry, FindBranch } from '#actors/repository/messages.ts';
import type { LocksProvisioning } from '#protocols/rest/ports.ts';
import type { FoundBranch } from '#protocols/rest/repository-directory.ts';
import { engineCaller } from '#runtime/actor/engine-caller.ts';
import type { ActorLifecycle, Router } from '#runtime/actor/ports.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';

/**
 * Makes the locks of a branch when somebody first asks for them: most branches never need any. They go with the
 * branch.
 */
export class MemberLocks implements LocksProvisioning {
  readonly isEnabled: boolean;
  readonly #router: Router;
  readonly #lifecycle: ActorLifecycle;
  readonly #stopping = new AbortController();

  constructor(router: Router, lifecycle: ActorLifecycle, isEnabled: boolean) {
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
    await this.#requireListed(branch);
    await this.#lifecycle.create(branch.locks);
    try {
      await this.#requireListed(branch);
    } catch (error) {
      // The branch was deleted meanwhile: its locks would stay behind.
      await this.#lifecycle.destroyUnder(branch.locks);
      throw error;
    }
  }

  async #requireListed({ name, repository, uid }: FoundBranch): Promise<void> {
    const query: FindBranch = { type: 'FindBranch', name };
    const caller = engineCaller(repository.tenant);
    const known = (await this.#router.query(repository.actor, query, caller)) as BranchEntry | undefined;
    if (known?.uid === uid) return;
    throw new ServiceError('BRANCH_NOT_FOUND', `Branch '${name}' not found`);
  }
}
