import type {
  BranchAddress,
  ListBranches,
  ListRetiredBranches,
  RepositoryQuery,
} from '#actors/repository/messages.ts';
import type { RepositoryAddress } from '#protocols/rest/ports.ts';
import { engineCaller } from '#runtime/actor/engine-caller.ts';
import type { Router } from '#runtime/actor/ports.ts';
import { type Backoff, Retries } from '#runtime/base/time/backoff.ts';
import type { Clock } from '#runtime/base/time/clock.ts';
import type { Random } from '#runtime/base/random.ts';

/** Delays between two requests to a repository. */
const askBackoff: Backoff = Object.freeze({ firstMs: 1_000, factor: 2, mostMs: 60_000 });

/** Maximum number of requests for one branch: half an hour. */
const ASKS_MAX = 35;

/** Maximum number of followed branches; data of further removals stays on the disk. */
const FOLLOWED_MAX = 1_000;

/** The rest of a branch's removal. */
export interface UnknownRemoval {
  readonly repository: RepositoryAddress;
  /** Was listed, or kept for a tag, before its removal was requested. */
  readonly branch: BranchAddress;
  /** What was removed: the branch, or the last tag for which its content may have been kept after it was deleted. */
  readonly what: 'branch' | 'tag';
  /** @param isRetired whether its content stays for a tag */
  readonly finish: (isRetired: boolean) => Promise<void>;
}

/**
 * Removals of branches with an unknown outcome: the reply was lost with a connection or an owner. The repository is
 * asked until it no longer lists the branch; then the actors of the branch are removed as well.
 *
 * A branch that is not listed was removed, because exactly this one was listed before: no other one ever gets its
 * uid. The list of followed removals ends with the process.
 *
 * @see docs/decisions/0030-nothing-is-removed-by-inference.md
 */
export class UnknownRemovals {
  readonly #router: Pick<Router, 'query'>;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #followed = new Set<string>();
  #isClosed = false;

  constructor(router: Pick<Router, 'query'>, clock: Clock, random: Random) {
    this.#router = router;
    this.#clock = clock;
    this.#random = random;
  }

  /** Number of followed branches. */
  get size(): number {
    return this.#followed.size;
  }

  /** Follows a removal to its end. Never fails; failed steps are repeated. */
  follow(removal: UnknownRemoval): void {
    const { uid } = removal.branch;
    if (this.#isClosed || this.#followed.has(uid) || this.#followed.size >= FOLLOWED_MAX) return;
    this.#followed.add(uid);
    void this.#run(removal).finally(() => this.#followed.delete(uid));
  }

  /** Stops all requests and removals. */
  close(): void {
    this.#isClosed = true;
  }

  async #run({ branch, finish, repository, what }: UnknownRemoval): Promise<void> {
    const retries = new Retries(this.#clock, this.#random, askBackoff);
    for (let asks = 0; asks < ASKS_MAX; asks += 1) {
      await retries.wait();
      if (this.#isClosed) return;
      try {
        // In this order: the commit that retires a branch moves it from the first list to the second.
        const isListed = await this.#lists(repository, branch, {
          type: 'ListBranches',
        } satisfies ListBranches);
        // Then no tag keeps it.
        if (isListed && what === 'tag') return;
        const retired = { type: 'ListRetiredBranches' } satisfies ListRetiredBranches;
        const isRetired = !isListed && (await this.#lists(repository, branch, retired));
        if (isListed || (isRetired && what === 'tag')) continue;
        await finish(isRetired);
        return;
      } catch {
        // A new owner may take over soon.
      }
    }
  }

  async #lists(
    { actor, tenant }: RepositoryAddress,
    branch: BranchAddress,
    query: RepositoryQuery,
  ): Promise<boolean> {
    const listed = (await this.#router.query(actor, query, engineCaller(tenant))) as readonly BranchAddress[];
    return listed.some(({ name, uid }) => name === branch.name && uid === branch.uid);
  }
}
