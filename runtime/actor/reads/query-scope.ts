import type { Policy } from '#runtime/access/policy.ts';
import type { Clock } from '#runtime/base/time/clock.ts';
import { RequestBudget, type RequestLimits } from '#runtime/budget/request-budget.ts';
import type { Caller, QueryContext } from '#runtime/commit/behaviour.ts';
import type { SlicedWork, SliceScheduler } from '#runtime/base/event-loop/slice-scheduler.ts';
import type { SliceOwner } from '#runtime/base/event-loop/slice-owner.ts';
import { checkWaiting, sliceKeyOf } from '#runtime/commit/waiting-caller.ts';
import { readerOver } from '#runtime/shard/reader-over.ts';
import type { ShardSnapshot, TableReader } from '#runtime/shard/shard.ts';

/** The parts of an actor that a query uses. */
export interface QueriedActor {
  /** Durable state; valid within one turn of the event loop. */
  readonly view: TableReader;
  /** Pins the durable state. */
  readonly pin: () => ShardSnapshot;
  /** Running reads that span several turns of the event loop. */
  reads: number;
}

/** The context of one query. A class instead of closures, because one is created for every point read. */
export class QueryScope implements QueryContext, SliceOwner {
  caller: Caller;
  readonly #actor: QueriedActor;
  readonly clock: Clock;
  readonly #slices: SliceScheduler;
  readonly #limits: RequestLimits | undefined;
  #work: SlicedWork | undefined;
  #budget: RequestBudget | undefined;
  /** How often {@link stay} is in force. */
  #stays = 0;
  #isAnswered = false;

  /** @param limits resource limits of the request; absent: the default */
  constructor(
    actor: QueriedActor,
    caller: Caller,
    clock: Clock,
    slices: SliceScheduler,
    limits?: RequestLimits,
  ) {
    this.#limits = limits;
    this.caller = caller;
    this.#actor = actor;
    this.clock = clock;
    this.#slices = slices;
  }

  usePolicy(policy: Policy): void {
    this.caller = { ...this.caller, policy };
  }

  get budget(): RequestBudget {
    this.#budget ??= new RequestBudget(this.#limits, this.#limits?.pool);
    return this.#budget;
  }

  get view(): TableReader {
    return this.#actor.view;
  }

  pin(): ShardSnapshot {
    const snapshot = this.#actor.pin();
    const leave = this.stay();
    let isOpen = true;
    return {
      ...readerOver(snapshot),
      close: () => {
        if (!isOpen) return;
        isOpen = false;
        leave();
        snapshot.close();
      },
    };
  }

  stay(): () => void {
    const actor = this.#actor;
    // A stream is read after the query was answered.
    this.#budget?.reopen();
    actor.reads += 1;
    this.#stays += 1;
    let isStaying = true;
    return () => {
      if (!isStaying) return;
      isStaying = false;
      actor.reads -= 1;
      this.#stays -= 1;
      this.#giveBack();
    };
  }

  pause(): Promise<void> | undefined {
    return this.#sliced().pause();
  }

  rest(): Promise<void> {
    return this.#sliced().rest();
  }

  mustPause(): boolean {
    return this.#sliced().isOver();
  }

  takeRoom(bytes: number): Promise<void> | undefined {
    return this.#slices.room.take(bytes, this);
  }

  giveRoom(bytes: number): void {
    this.#slices.room.give(bytes);
  }

  get sliceKey(): string {
    return sliceKeyOf(this.caller);
  }

  /** To be called when the query is answered: gives back the memory that it has counted, a stream when it ends. */
  end(): void {
    this.#isAnswered = true;
    this.#giveBack();
  }

  #giveBack(): void {
    if (this.#isAnswered && this.#stays === 0) this.#budget?.close();
  }

  requireWaiting(): void {
    checkWaiting(this.caller, this.clock);
  }

  /** Created by the first long loop, because most queries have none. */
  #sliced(): SlicedWork {
    this.#work ??= this.#slices.begin('read', this);
    return this.#work;
  }
}

/**
 * Answers a query: counts it among the reads of its actor while it runs, and gives back its memory when it is answered.
 *
 * @param ask runs the query
 * @param refuse reports an error and throws it
 */
export function answerQuery(
  actor: Pick<QueriedActor, 'reads'>,
  scope: QueryScope,
  ask: () => unknown,
  refuse: (error: unknown) => never,
): unknown {
  let answer: unknown;
  try {
    answer = ask();
  } catch (error) {
    scope.end();
    return refuse(error);
  }
  if (!(answer instanceof Promise)) {
    scope.end();
    return answer;
  }
  actor.reads += 1;
  return answer.catch(refuse).finally(() => {
    actor.reads -= 1;
    scope.end();
  });
}
