import { principalKey } from '#runtime/access/principal.ts';
import type { Clock, Timer } from '#runtime/base/clock.ts';
import type { Caller, Turn } from '#runtime/commit/behaviour.ts';
import { DeferredReply } from '#runtime/commit/deferred-reply.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { type AcquireLock, LOCK_ANSWER_MS, type LockGrant, type LockRefused } from './messages.ts';
import { type InLine, WaitLines } from './wait-lines.ts';

/** Acquires of one branch that may wait. */
const WAITERS_MAX = 10_000;

/** The answer of an acquire that did not get the lock. */
export const refusedLock: LockRefused = Object.freeze({ acquired: false });

/** An acquire that waits. */
export class Waiter implements InLine {
  readonly key: string;
  readonly ttlMs: number;
  readonly owner: string | null;
  /** When it stops waiting, on the monotonic clock, in milliseconds. */
  readonly untilMs: number;
  readonly reply = new DeferredReply();
  /** Set when it was granted the lock; its caller may not know yet. */
  token: number | undefined;

  constructor({ key, owner, ttlMs }: AcquireLock, untilMs: number) {
    this.key = key;
    this.ttlMs = ttlMs;
    this.owner = owner;
    this.untilMs = untilMs;
  }
}

/** What becomes of a waiter outside of any turn. */
export interface WaitEvents {
  /** Its time is up and it still stands in line. */
  timeUp(waiter: Waiter): void;
  /** Its caller went away after it was granted the lock and before the grant was answered. */
  grantUnsent(waiter: Waiter): void;
}

/**
 * Those who wait for the locks of a branch. They stand in line until they are granted the lock, their time is up,
 * their caller goes away, or everything ends.
 */
export class LockWaits {
  readonly #lines = new WaitLines<Waiter>();
  /** How many acquires of a caller wait. */
  readonly #byPrincipal = new Map<string, number>();
  readonly #clock: Clock;
  readonly #events: WaitEvents;
  /** Those the running command has answered: if it is taken back they have lost their place. */
  #answered: Waiter[] = [];
  #lost: Waiter[] = [];

  constructor(clock: Clock, events: WaitEvents) {
    this.#clock = clock;
    this.#events = events;
  }

  get size(): number {
    return this.#lines.size;
  }

  /** How many wait for a lock. */
  waitingFor(key: string): number {
    return this.#lines.waitingFor(key);
  }

  /** Whether the running command has answered anybody. */
  get hasAnswered(): boolean {
    return this.#answered.length > 0;
  }

  /** A command begins. */
  begin(): void {
    if (this.#answered.length > 0) this.#answered = [];
  }

  /** @throws {ServiceError} `RATE_LIMITED` when too many wait already, in all or of the caller's */
  join(command: AcquireLock, caller: Caller): DeferredReply {
    if (this.#lines.size >= WAITERS_MAX) {
      throw new ServiceError('RATE_LIMITED', `At most ${WAITERS_MAX} acquires of a branch may wait`);
    }
    const principal = principalKey(caller.principal);
    const own = this.#byPrincipal.get(principal) ?? 0;
    // Where it gets tight nobody takes all the places.
    if (2 * this.#lines.size >= WAITERS_MAX && 4 * own >= WAITERS_MAX) {
      throw new ServiceError('RATE_LIMITED', `At most ${WAITERS_MAX / 4} acquires of one caller may wait`);
    }
    this.#byPrincipal.set(principal, own + 1);
    const nowMs = this.#clock.monotonicMs();
    const { deadlineMs = Number.POSITIVE_INFINITY } = caller;
    const untilMs = Math.max(nowMs, Math.min(nowMs + command.waitMs, deadlineMs - LOCK_ANSWER_MS));
    const waiter = new Waiter(command, untilMs);
    this.#lines.join(waiter);
    this.#watch(waiter, caller, untilMs - nowMs);
    void waiter.reply.outcome.then(() => this.#left(principal));
    return waiter.reply;
  }

  #left(principal: string): void {
    const left = (this.#byPrincipal.get(principal) ?? 1) - 1;
    if (left === 0) this.#byPrincipal.delete(principal);
    else this.#byPrincipal.set(principal, left);
  }

  /**
   * Grants a lock to who has waited longest for it and still waits.
   *
   * @param grant makes the answer of a waiter
   * @returns the waiter, answered; undefined when nobody waits
   */
  grantNext(key: string, turn: Turn, grant: (waiter: Waiter) => LockGrant): Waiter | undefined {
    const nowMs = this.#clock.monotonicMs();
    for (let waiter = this.#lines.next(key); waiter !== undefined; waiter = this.#lines.next(key)) {
      this.#answered.push(waiter);
      if (nowMs >= waiter.untilMs) {
        waiter.reply.answer(turn, refusedLock);
        continue;
      }
      const granted = grant(waiter);
      if (!waiter.reply.answer(turn, granted)) continue;
      waiter.token = granted.token;
      return waiter;
    }
    return undefined;
  }

  /** The time of a waiter is up: it is told so, unless it got the lock meanwhile. */
  end(waiter: Waiter, turn: Turn): void {
    if (!this.#lines.leave(waiter)) return;
    this.#answered.push(waiter);
    waiter.reply.answer(turn, refusedLock);
  }

  /** Takes a waiter out of line with an error. */
  fail(waiter: Waiter, error: unknown): void {
    if (this.#lines.leave(waiter)) waiter.reply.fail(error);
  }

  /** Takes everybody out of line with an error. */
  failAll(error: unknown): void {
    for (const waiter of this.#lines.clear()) waiter.reply.fail(error);
  }

  /** The running command, or the batch it ended, was taken back. */
  forget(): void {
    this.#lost.push(...this.#answered);
    this.#answered = [];
  }

  /** Those who lost their place with a command that was taken back are told; who was answered has heard already. */
  batchEnded(): void {
    for (const waiter of this.#lost.splice(0)) waiter.reply.fail(new ServiceError('OVERLOADED'));
  }

  #watch(waiter: Waiter, { signal }: Caller, forMs: number): void {
    const timer: Timer = this.#clock.after(forMs, () => this.#events.timeUp(waiter));
    const onAbort = (): void => {
      const reason = reasonOf(signal);
      if (this.#lines.leave(waiter)) {
        waiter.reply.fail(reason);
        return;
      }
      // With a key the caller can ask again and hear of the grant. Who waits at a member that stops hears of it still:
      // what was granted is answered before the connections are closed.
      const isAnswered = waiter.reply.isKept || reason.code === 'SHUTTING_DOWN';
      if (waiter.token !== undefined && !isAnswered) this.#events.grantUnsent(waiter);
    };
    signal?.addEventListener('abort', onAbort, { once: true });
    void waiter.reply.outcome.then(() => {
      timer.cancel();
      signal?.removeEventListener('abort', onAbort);
    });
  }
}

/** Why somebody leaves the line: the member that waits for a client stops, or the client went away. */
function reasonOf(signal: AbortSignal | undefined): ServiceError {
  const reason: unknown = signal?.reason;
  return reason instanceof ServiceError ? reason : new ServiceError('REQUEST_CANCELLED');
}
