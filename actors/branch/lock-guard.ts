import type { GuardLock, HeldLock, SettleGuards } from '#actors/locks/messages.ts';
import type { ActorContext } from '#runtime/commit/behaviour.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';

const settleGuards: SettleGuards = Object.freeze({ type: 'SettleGuards' });

/**
 * Checks that writes hold the locks they name. A lock that passed the check stays held until the outcome of the write
 * is known: it is not granted to another holder before the write is durable.
 */
export class LockGuard {
  readonly #context: ActorContext;
  readonly #locks: string;
  #hasGuards = false;

  constructor(context: ActorContext) {
    this.#context = context;
    this.#locks = `${context.id.slice(0, context.id.lastIndexOf('/'))}/locks`;
  }

  /** Must be called before the write changes anything. @throws {ServiceError} `LOCK_NOT_HELD` */
  require({ key, token }: HeldLock): void {
    const query: GuardLock = { type: 'GuardLock', key, token };
    if (this.#ask(query) !== true) {
      throw new ServiceError(
        'LOCK_NOT_HELD',
        `The lock '${key.slice(0, 80)}' is not held with token ${token}`,
      );
    }
    this.#hasGuards = true;
  }

  /** Reports that the outcome of every write so far is known. */
  settle(): void {
    if (!this.#hasGuards) return;
    this.#hasGuards = false;
    this.#ask(settleGuards);
  }

  /** A branch whose locks were never used has no lock actor. */
  #ask(query: GuardLock | SettleGuards): unknown {
    try {
      return this.#context.ask(this.#locks, query);
    } catch (error) {
      if (error instanceof ServiceError && error.code === 'NOT_FOUND') return undefined;
      throw error;
    }
  }
}
