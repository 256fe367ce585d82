import type { Random } from '#runtime/base/random.ts';
import type { CallId } from '#runtime/commit/behaviour.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';

/** Maximum number of concurrent calls of one member to one actor. */
export const SLOTS_MAX = 65_536;

const SESSION_BYTES = 8;

/** The slots of one actor. */
interface Slots {
  /** Released slots; the most recently used one is taken first. */
  readonly free: number[];
  /** Number of slots that have ever been taken. */
  count: number;
}

/**
 * Assigns ids to the calls of one process of a member. A slot belongs to one call to an actor at a time, and the owner
 * stores the outcome of the last call of each slot: so as few slots as possible are used.
 */
export class CallIds {
  readonly #session: string;
  /** Actors with calls under way. */
  readonly #actors = new Map<string, Slots>();
  #number = 0;

  constructor(random: Random) {
    this.#session = Buffer.from(random.bytes(SESSION_BYTES)).toString('hex');
  }

  /** Actors with calls under way. */
  get size(): number {
    return this.#actors.size;
  }

  /**
   * Takes an id for a call to an actor; it must be returned with {@link release}.
   *
   * @throws {ServiceError} `OVERLOADED` when too many are under way
   */
  take(actor: string): CallId {
    let slots = this.#actors.get(actor);
    if (slots === undefined) {
      slots = { free: [], count: 0 };
      this.#actors.set(actor, slots);
    }
    const slot = slots.free.pop() ?? slots.count++;
    if (slot >= SLOTS_MAX) {
      slots.count -= 1;
      throw new ServiceError('OVERLOADED');
    }
    this.#number += 1;
    return { session: this.#session, slot, number: this.#number };
  }

  /** Releases the id: the caller has the reply, or no longer waits. */
  release(actor: string, { slot }: CallId): void {
    const slots = this.#actors.get(actor);
    if (slots === undefined) return;
    slots.free.push(slot);
    if (slots.free.length === slots.count) this.#actors.delete(actor);
  }
}
