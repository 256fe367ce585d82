import type { Clock } from '#runtime/base/time/clock.ts';
import type { Caller, CallId } from '#runtime/commit/behaviour.ts';
import { OUTCOME_KEPT_MS } from '#runtime/commit/call-outcomes.ts';
import type { ErrorCode } from '#runtime/errors/error-registry.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import {
  type Call,
  type CallKind,
  OLDEST_CALL_VERSION,
  PRECONDITION_CALL_VERSION,
  versionNeeded,
} from './call-frames.ts';
import type { CallIds } from './call-ids.ts';
import type { CallOutcome, RemoteCalls } from './remote-calls.ts';

/**
 * Time for which a call is repeated, in milliseconds: half of the time for which its outcome is stored, because that
 * is measured by the clock of another machine.
 */
const REPEATED_MS_MAX = OUTCOME_KEPT_MS / 2;

/** Kinds of calls that may have an effect. */
const withEffect: ReadonlySet<CallKind> = new Set(['command', 'create', 'fork', 'destroy']);

/** Time within which an owner whose writes have stopped must be replaced, in milliseconds. */
const STOPPED_MS_MAX = 10_000;

/** Content of a call, without caller and attempts. */
export type Asked = Pick<Call, 'kind' | 'actor' | 'message' | 'idempotency'>;

/**
 * One call that is sent to the owner of an actor until it is answered. A call that may have an effect has an id while
 * it is under way, the same for every attempt.
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
  /** The first owner that could no longer write, and the time until which a replacement is awaited. */
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

  /** The id under which another member may have executed it; undefined while it is certain that none has. */
  get doubtful(): CallId | undefined {
    return this.#isDoubtful ? this.#id : undefined;
  }

  /**
   * The id under which it was sent: this member then also executes it under that id. NATS reports without a seal that
   * a call had no responders. That is sufficient to call another member, but not where the call could be executed
   * twice.
   */
  get sent(): CallId | undefined {
    return this.#id;
  }

  /** Monotonic time until which it may be sent again, in milliseconds. */
  get untilMs(): number {
    return this.#untilMs;
  }

  /**
   * Sends it to a member.
   *
   * @throws {ServiceError} the error of that member
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
    const { precondition, principal, signal } = this.#caller;
    const call: Call = {
      // A member that would ignore the precondition, or a part of the message, must not accept the call.
      version: Math.max(
        precondition === undefined ? OLDEST_CALL_VERSION : PRECONDITION_CALL_VERSION,
        versionNeeded(this.#what.message, principal),
      ),
      ...this.#what,
      principal,
      ...(precondition === undefined ? {} : { precondition }),
      waitMs: Math.max(0, this.#deadlineMs - nowMs),
      ...(this.#id === undefined ? {} : { id: this.#id }),
      ...(this.#isDoubtful ? { isRepeated: true } : {}),
    };
    try {
      const outcome = await this.#calls.call(subject, call, this.#deadlineMs, signal);
      if (outcome.kind === 'lost') this.#isDoubtful = true;
      return outcome;
    } catch (error) {
      // Its replies were cut off, whatever they were.
      if (hasCode(error, 'SHUTTING_DOWN')) this.#isDoubtful = true;
      if (this.#id === undefined || !hasCode(error, 'WRITES_STOPPED')) throw error;
      // Its log was closed or is no longer trusted; the next owner knows the outcome of the last batch.
      this.#isDoubtful = true;
      if (this.#stopped !== undefined) throw error;
      this.#stopped = { subject, untilMs: nowMs + STOPPED_MS_MAX };
      return { kind: 'lost' };
    }
  }

  /** Ends it: it is answered, or its caller no longer waits. */
  end(): void {
    if (this.#id !== undefined) this.#ids.release(this.#what.actor, this.#id);
  }
}

function hasCode(error: unknown, code: ErrorCode): boolean {
  return error instanceof ServiceError && error.code === code;
}
