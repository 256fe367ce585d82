import type { Policy } from '#runtime/access/policy.ts';
import type { Clock } from '#runtime/base/time/clock.ts';
import type { RequestBudget } from '#runtime/budget/request-budget.ts';
import type { Caller, QueryContext } from '#runtime/commit/behaviour.ts';
import type { ShardSnapshot, TableReader } from '#runtime/shard/shard.ts';

/**
 * The context of a query that reads another branch: the data of that branch, and everything else of the query, so that its
 * time, work and memory are counted once.
 */
export class LentContext implements QueryContext {
  caller: Caller;
  readonly #asking: QueryContext;
  readonly #lent: QueryContext;

  /** @param policy of the caller of the query, on the other branch */
  constructor(asking: QueryContext, lent: QueryContext, policy: Policy) {
    this.#asking = asking;
    this.#lent = lent;
    this.caller = { ...asking.caller, policy };
  }

  usePolicy(policy: Policy): void {
    this.caller = { ...this.caller, policy };
  }

  get budget(): RequestBudget {
    return this.#asking.budget;
  }

  get clock(): Clock {
    return this.#asking.clock;
  }

  get view(): TableReader {
    return this.#lent.view;
  }

  pin(): ShardSnapshot {
    return this.#lent.pin();
  }

  stay(): () => void {
    return this.#lent.stay();
  }

  pause(): Promise<void> | undefined {
    return this.#asking.pause();
  }

  rest(): Promise<void> {
    return this.#asking.rest();
  }

  mustPause(): boolean {
    return this.#asking.mustPause();
  }

  takeRoom(bytes: number): Promise<void> | undefined {
    return this.#asking.takeRoom(bytes);
  }

  giveRoom(bytes: number): void {
    this.#asking.giveRoom(bytes);
  }
}
