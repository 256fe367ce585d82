import type { GuardLock, HeldLock, SettleGuards } from '#actors/locks/messages.ts';
import type { ActorContext } from '#runtime/commit/behaviour.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';

const settleGuards: SettleGuards = Object.freeze({ type: 'SettleGuards' });

/**
 * Holds writes to the locks they name. A lock that was found held stays held until the outcome of the write is known:
 * nobody else is granted it while the write is on its way to the disk.
 */
export class LockGuard {
  readonly #context: ActorContext;
  readonly #locks: string;
  #hasGuards = false;

  constructor(context: ActorContext) {
    this.#context = context;
    this.#locks = `${context.id.slice(0, context.id.lastIndexOf('/'))}/locks`;
  }

  /** Call it before the write changes anything. @throws {ServiceError} `LOCK_NOT_HELD` */
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

  /** The outcome of every write so far is known. */
  settle(): void {
    if (!this.#hasGuards) return;
    this.#hasGuards = false;
    this.#ask(settleGuards);
  }

  /** A branch whose locks nobody has used has no actor for them. */
  #ask(query: GuardLock | SettleGuards): unknown {
    try {
      return this.#context.ask(this.#locks, query);
    } catch (error) {
      if (error instanceof ServiceError && error.code === 'NOT_FOUND') return undefined;
      throw error;
    }
  }
}
