import { principalKey } from '#runtime/access/principal.ts';
import type { Clock, Timer } from '#runtime/base/time/clock.ts';
import type { Caller, Turn } from '#runtime/commit/behaviour.ts';
import { DeferredReply } from '#runtime/commit/deferred-reply.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { type AcquireLock, LOCK_ANSWER_MS, type LockGrant, type LockRefused } from './messages.ts';
import { type InLine, WaitLines } from './wait-lines.ts';

/** Most waiting acquires of one branch. */
const WAITERS_MAX = 10_000;

/** The answer to an acquire that was not granted the lock. */
export const refusedLock: LockRefused = Object.freeze({ acquired: false });

/** An acquire that waits. */
export class Waiter implements InLine {
  readonly key: string;
  readonly ttlMs: number;
  readonly owner: string | null;
  /** When it stops waiting, on the monotonic clock, in milliseconds. */
  readonly untilMs: number;
  readonly reply = new DeferredReply();
  /** Set when the lock was granted; the caller may not have the answer yet. */
  token: number | undefined;

  constructor({ key, owner, ttlMs }: AcquireLock, untilMs: number) {
    this.key = key;
    this.ttlMs = ttlMs;
    this.owner = owner;
    this.untilMs = untilMs;
  }
}

/** Events of waiters outside of turns. */
export interface WaitEvents {
  /** The wait time has ended and the waiter is still in the queue. */
  timeUp(waiter: Waiter): void;
  /** The caller disconnected after the lock was granted and before the grant was answered. */
  grantUnsent(waiter: Waiter): void;
}

/**
 * The waiters for the locks of a branch. A waiter leaves the queue when it is granted the lock, when its time ends,
 * when its caller disconnects, or when all waits are ended.
 */
export class LockWaits {
  readonly #lines = new WaitLines<Waiter>();
  /** Number of waiting acquires by caller. */
  readonly #byPrincipal = new Map<string, number>();
  readonly #clock: Clock;
  readonly #events: WaitEvents;
  /** Waiters the running command has answered. If the command is rolled back, they have lost their place. */
  #answered: Waiter[] = [];
  #lost: Waiter[] = [];

  constructor(clock: Clock, events: WaitEvents) {
    this.#clock = clock;
    this.#events = events;
  }

  get size(): number {
    return this.#lines.size;
  }

  /** Number of waiters for a lock. */
  waitingFor(key: string): number {
    return this.#lines.waitingFor(key);
  }

  /** Whether the running command has answered a waiter. */
  get hasAnswered(): boolean {
    return this.#answered.length > 0;
  }

  /** A command begins. */
  begin(): void {
    if (this.#answered.length > 0) this.#answered = [];
  }

  /** @throws {ServiceError} `RATE_LIMITED` when too many acquires wait, in total or of the caller */
  join(command: AcquireLock, caller: Caller): DeferredReply {
    if (this.#lines.size >= WAITERS_MAX) {
      throw new ServiceError('RATE_LIMITED', `At most ${WAITERS_MAX} acquires of a branch may wait`);
    }
    const principal = principalKey(caller.principal);
    const own = this.#byPrincipal.get(principal) ?? 0;
    // When half of the places are taken, one caller may have at most a quarter of all places.
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
   * Grants a lock to the waiter that has waited longest.
   *
   * @param grant makes the answer to a waiter
   * @returns the answered waiter; undefined without waiters
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

  /** Answers a waiter whose time has ended that the lock was refused, unless it was granted the lock before. */
  end(waiter: Waiter, turn: Turn): void {
    if (!this.#lines.leave(waiter)) return;
    this.#answered.push(waiter);
    waiter.reply.answer(turn, refusedLock);
  }

  /** Removes a waiter from the queue and fails it. */
  fail(waiter: Waiter, error: unknown): void {
    if (this.#lines.leave(waiter)) waiter.reply.fail(error);
  }

  /** Removes and fails every waiter. */
  failAll(error: unknown): void {
    for (const waiter of this.#lines.clear()) waiter.reply.fail(error);
  }

  /** Records the waiters that lost their place because the running command, or the batch it ended, was rolled back. */
  forget(): void {
    this.#lost.push(...this.#answered);
    this.#answered = [];
  }

  /** Fails the waiters that lost their place with a rolled back command. Waiters with an answer are not affected. */
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
      // A caller with an idempotency key can repeat the request and receive the grant. A caller of a member that stops
      // still receives it: grants are answered before the connections are closed.
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

/** Why a wait was aborted: the member of the client stops, or the client disconnected. */
function reasonOf(signal: AbortSignal | undefined): ServiceError {
  const reason: unknown = signal?.reason;
  return reason instanceof ServiceError ? reason : new ServiceError('REQUEST_CANCELLED');
}
