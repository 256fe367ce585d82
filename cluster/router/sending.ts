import type { Clock } from '#runtime/base/clock.ts';
import type { Caller, CallId } from '#runtime/commit/behaviour.ts';
import { OUTCOME_KEPT_MS } from '#runtime/commit/call-outcomes.ts';
import type { ErrorCode } from '#runtime/errors/error-registry.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { type Call, type CallKind, OLDEST_CALL_VERSION, PREMISE_CALL_VERSION } from './call-frames.ts';
import type { CallIds } from './call-ids.ts';
import type { CallOutcome, RemoteCalls } from './remote-calls.ts';

/**
 * Time during which a call is repeated, in milliseconds: half of what its outcome is kept for, because that is
 * judged by the clock of another machine.
 */
const REPEATED_MS_MAX = OUTCOME_KEPT_MS / 2;

/** What may have an effect. */
const withEffect: ReadonlySet<CallKind> = new Set(['command', 'create', 'fork', 'destroy']);

/** Time an owner that says that its writes have stopped has to be replaced, in milliseconds. */
const STOPPED_MS_MAX = 10_000;

/** What is asked, apart from who asks it, and how often. */
export type Asked = Pick<Call, 'kind' | 'actor' | 'message' | 'idempotency'>;

/**
 * One thing that is sent to the owner of an actor until it is answered. What may have an effect has an id while it is
 * under way, the same for every attempt.
 */
export class Sending {
  readonly #what: Asked;
  readonly #caller: Caller;
  readonly #deadlineMs: number;
  readonly #calls: RemoteCalls;
  readonly #clock: Clock;
  readonly #ids: CallIds;
  #id: CallId | undefined;
  #isDoubtful = false;
  #untilMs: number;
  /** The first owner that could not write any more, and until when another one is waited for. */
  #stopped: { readonly subject: string; readonly untilMs: number } | undefined;

  constructor(
    what: Asked,
    caller: Caller,
    deadlineMs: number,
    { calls, clock }: { readonly calls: RemoteCalls; readonly clock: Clock },
    ids: CallIds,
  ) {
    this.#what = what;
    this.#caller = caller;
    this.#deadlineMs = deadlineMs;
    this.#untilMs = deadlineMs;
    this.#calls = calls;
    this.#clock = clock;
    this.#ids = ids;
  }

  /** The id under which another member may have done it; undefined while it is certain that nobody has. */
  get doubtful(): CallId | undefined {
    return this.#isDoubtful ? this.#id : undefined;
  }

  /**
   * The id under which it was sent at all: what is done here then is done under it as well. That nobody took it is said
   * by NATS, which is believed when another member is asked, and not where it could be done twice.
   */
  get sent(): CallId | undefined {
    return this.#id;
  }

  /** Until when it may be sent again, on the monotonic clock, in milliseconds. */
  get untilMs(): number {
    return this.#untilMs;
  }

  /**
   * Sends it to a member.
   *
   * @throws {ServiceError} what that member answers
   */
  async send(subject: string): Promise<CallOutcome> {
    if (this.#stopped?.subject === subject) {
      if (this.#clock.monotonicMs() > this.#stopped.untilMs) throw new ServiceError('WRITES_STOPPED');
      return { kind: 'elsewhere' };
    }
    const nowMs = this.#clock.monotonicMs();
    if (withEffect.has(this.#what.kind) && this.#id === undefined) {
      this.#id = this.#ids.take(this.#what.actor);
      this.#untilMs = Math.min(this.#deadlineMs, nowMs + REPEATED_MS_MAX);
    }
    const { premise, principal, signal } = this.#caller;
    const call: Call = {
      // A member that would take no notice of the premise must not take the call.
      version: premise === undefined ? OLDEST_CALL_VERSION : PREMISE_CALL_VERSION,
      ...this.#what,
      principal,
      ...(premise === undefined ? {} : { premise }),
      waitMs: Math.max(0, this.#deadlineMs - nowMs),
      ...(this.#id === undefined ? {} : { id: this.#id }),
      ...(this.#isDoubtful ? { isRepeated: true } : {}),
    };
    try {
      const outcome = await this.#calls.call(subject, call, this.#deadlineMs, signal);
      if (outcome.kind === 'lost') this.#isDoubtful = true;
      return outcome;
    } catch (error) {
      // Its answers were cut off, whatever they were.
      if (hasCode(error, 'SHUTTING_DOWN')) this.#isDoubtful = true;
      if (this.#id === undefined || !hasCode(error, 'WRITES_STOPPED')) throw error;
      // Its log was closed or can be trusted no more; what became of the last batch the next owner knows.
      this.#isDoubtful = true;
      if (this.#stopped !== undefined) throw error;
      this.#stopped = { subject, untilMs: nowMs + STOPPED_MS_MAX };
      return { kind: 'lost' };
    }
  }

  /** It is answered, or nobody waits for an answer any more. */
  end(): void {
    if (this.#id !== undefined) this.#ids.release(this.#what.actor, this.#id);
  }
}

function hasCode(error: unknown, code: ErrorCode): boolean {
  return error instanceof ServiceError && error.code === code;
}
