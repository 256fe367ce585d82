import { engineCaller } from '#runtime/actor/engine-caller.ts';
import type { ActorId, Router } from '#runtime/actor/ports.ts';
import { backoffMs } from '#runtime/base/time/backoff.ts';
import { BoundedTurns } from '#runtime/base/event-loop/bounded-turns.ts';
import { type Clock, sleep } from '#runtime/base/time/clock.ts';
import type { Random } from '#runtime/base/random.ts';
import type { Caller } from '#runtime/commit/behaviour.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { RevisionCommitted } from '#runtime/tree/branch-events.ts';
import type { NodeChange } from '#runtime/tree/revision-record.ts';
import type { BusLimits } from './bus-limits.ts';
import type { EventsPage, ReadEventsAfter } from './history-messages.ts';

/** A branch's answer about one part of a revision, as its message declares it. */
interface RecordPart {
  readonly changes: readonly NodeChange[] | undefined;
}

/** Reads committed revisions from branches through the router, so that the owner answers wherever it runs. */
export class BranchHistory {
  readonly #router: Router;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #limits: BusLimits;
  readonly #turns: BoundedTurns;

  constructor(router: Router, clock: Clock, random: Random, limits: BusLimits) {
    this.#router = router;
    this.#clock = clock;
    this.#random = random;
    this.#limits = limits;
    this.#turns = new BoundedTurns({ runningMax: limits.readsMax, waitingMax: limits.readsWaitingMax });
  }

  /**
   * One page of the events after a revision.
   *
   * @param after undefined: only the present position of the branch
   * @throws {ServiceError} `BRANCH_NOT_FOUND`; `OVERLOADED`; the errors of reading from the branch
   */
  async after(branch: ActorId, after: string | undefined): Promise<EventsPage> {
    const query: ReadEventsAfter = { type: 'ReadEventsAfter', ...(after === undefined ? {} : { after }) };
    return (await this.#ask(branch, query)) as EventsPage;
  }

  /**
   * As {@link BranchHistory.after}, with retries while the branch is unavailable.
   *
   * @param isWanted checked before every retry
   * @returns undefined when the result is no longer wanted
   * @throws {ServiceError} `BRANCH_NOT_FOUND`, and errors that a retry would not change
   */
  async afterPatiently(
    branch: ActorId,
    after: string | undefined,
    isWanted: () => boolean,
  ): Promise<EventsPage | undefined> {
    for (let retries = 0; isWanted(); retries++) {
      try {
        return await this.after(branch, after);
      } catch (error) {
        if (!(error instanceof ServiceError) || error.entry.advice === 'give-up') throw error;
      }
      await sleep(this.#clock, backoffMs(this.#limits.retry, retries, this.#random));
    }
    return undefined;
  }

  /** All node changes of a revision, in parts. @throws {ServiceError} the errors of reading from the branch */
  async *changes(branch: ActorId, event: RevisionCommitted): AsyncGenerator<readonly NodeChange[], void> {
    if (event.changes !== undefined) {
      yield event.changes;
      return;
    }
    for (let part = 0; ; part++) {
      const query = { type: 'ReadRecordPart', revision: event.revision, part };
      const answer = (await this.#ask(branch, query)) as RecordPart | undefined;
      if (answer?.changes === undefined) return;
      yield answer.changes;
    }
  }

  async #ask(branch: ActorId, query: unknown): Promise<unknown> {
    const asked = this.#turns.run(async () => this.#router.query(branch, query, this.#caller(branch)));
    if (asked === undefined) throw new ServiceError('OVERLOADED');
    try {
      return await asked;
    } catch (error) {
      if (!(error instanceof ServiceError) || error.code !== 'NOT_FOUND') throw error;
      throw branchGone(error);
    }
  }

  #caller(branch: ActorId): Caller {
    const tenant = decodeURIComponent(branch.slice(0, branch.indexOf('/')));
    const deadlineMs = this.#clock.monotonicMs() + this.#limits.readTimeoutMs;
    return { ...engineCaller(tenant), deadlineMs };
  }
}

/** The error that ends a subscription when its branch has been removed. */
export function branchGone(cause?: unknown): ServiceError {
  return new ServiceError('BRANCH_NOT_FOUND', 'The branch was deleted', { cause });
}
