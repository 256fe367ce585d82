import type { Random } from '#runtime/base/random.ts';
import type { CallId } from '#runtime/commit/behaviour.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';

/** Calls one member may have under way to one actor. */
export const SLOTS_MAX = 65_536;

const SESSION_BYTES = 8;

/** The slots of one actor. */
interface Slots {
  /** Slots that were in use and are not; the one that was used last is taken first. */
  readonly free: number[];
  /** Slots that have ever been taken. */
  count: number;
}

/**
 * Names the calls of one life of a member. A slot belongs to one call to an actor at a time, and its owner keeps the
 * outcome of the last call of each: so few are used as possible.
 */
export class CallIds {
  readonly #session: string;
  /** Actors that have calls under way. */
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
   * A name for a call to an actor; give it back with {@link release}.
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

  /** The call is over: its caller has the answer, or wants none any more. */
  release(actor: string, { slot }: CallId): void {
    const slots = this.#actors.get(actor);
    if (slots === undefined) return;
    slots.free.push(slot);
    if (slots.free.length === slots.count) this.#actors.delete(actor);
  }
}
