import { assert } from '#runtime/base/assert.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { ActorEvent, Turn } from './behaviour.ts';

/** The outcome of a deferred reply; `error` is undefined exactly when it was answered. */
export interface DeferredOutcome {
  readonly result: unknown;
  readonly error: unknown;
}

/** Callbacks of the commit loop for the request of a deferred reply. */
interface Request {
  /**
   * Keeps the outcome for repetitions of the request, in the turn of the answer.
   *
   * @throws {ServiceError} when it could not be kept
   */
  readonly keep: (turn: Turn, result: unknown) => void;
  /** Whether the request has an idempotency key, so that its client can repeat it after disconnecting. */
  readonly isKeyed: boolean;
}

/** Internal event that tells the commit loop that a deferred reply was answered in a batch. */
class DeferredAnswer implements ActorEvent {
  readonly type = 'DeferredAnswer';
  readonly reply: DeferredReply;
  readonly result: unknown;

  constructor(reply: DeferredReply, result: unknown) {
    this.reply = reply;
    this.result = result;
  }
}

/**
 * The reply of a command that waits for a later command of its actor, as an acquire waits for a release. A command
 * returns one instead of its result; the later command answers it.
 *
 * - The answer is sent with the batch of the command that gave it, behind the same output gate.
 * - The outcome is kept under the idempotency key in the turn of the answer. Until then a repetition of the request
 *   is refused as still running.
 * - It exists only in memory: its holder must answer or fail it before the actor closes.
 */
export class DeferredReply {
  /** Resolves when the answer is durable, or when the reply has failed. */
  readonly outcome: Promise<DeferredOutcome>;
  #settle: (outcome: DeferredOutcome) => void = () => {};
  #isOpen = true;
  #request: Request | undefined;

  constructor() {
    this.outcome = new Promise((resolve) => {
      this.#settle = resolve;
    });
  }

  /** Whether it may still be answered. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** For the commit loop: sets the request of this reply. */
  bind(request: Request): void {
    assert(this.#request === undefined, 'a deferred reply is the result of one command');
    this.#request = request;
  }

  /** Whether its outcome is kept for a client that disconnects and repeats the request. */
  get isKept(): boolean {
    return this.#request?.isKeyed === true;
  }

  /**
   * Answers the reply; the answer is sent once the present batch is durable.
   *
   * @returns false when it can no longer be answered: it has failed, or its outcome could not be kept
   */
  answer(turn: Turn, result: unknown): boolean {
    if (!this.#isOpen || this.#request === undefined) return false;
    try {
      this.#request.keep(turn, result);
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      this.fail(error);
      return false;
    }
    this.#isOpen = false;
    turn.emit(new DeferredAnswer(this, result));
    return true;
  }

  /** Fails the reply with an error, unless it is already settled. */
  fail(error: unknown): void {
    this.#isOpen = false;
    this.#settle({ result: undefined, error });
  }

  /** For the commit loop: the batch of the answer is durable. */
  settle(result: unknown): void {
    this.#settle({ result, error: undefined });
  }
}

/** Sends the answers of a durable batch. @returns the remaining events */
export function settleDeferred(events: readonly ActorEvent[]): readonly ActorEvent[] {
  if (!events.some((event) => event instanceof DeferredAnswer)) return events;
  return events.filter((event) => {
    if (!(event instanceof DeferredAnswer)) return true;
    event.reply.settle(event.result);
    return false;
  });
}

/** Fails the answers of a discarded batch. */
export function failDeferred(events: readonly ActorEvent[], error: unknown): void {
  for (const event of events) if (event instanceof DeferredAnswer) event.reply.fail(error);
}
