import type { Clock } from '#runtime/base/time/clock.ts';

/** Bytes received in one turn of the event loop after which no other connection is read in it. */
const TURN_BYTES = 8 * 1024 * 1024;

/** A body that is being received. */
export interface ReceivedBody {
  /** Stops reading until {@link goOn}. Nothing arrives meanwhile. */
  holdBack(): void;
  goOn(): void;
}

/**
 * Limits how much of large bodies is received in one turn of the event loop. The library reads up to 5 MiB of each
 * connection whose peer is faster than the process, and every byte is copied: 30 of them took 100 ms of processor time,
 * half of it to collect garbage.
 */
export class ReceivingTurns {
  readonly #clock: Clock;
  readonly #bytesMax: number;
  readonly #bodies = new Set<ReceivedBody>();
  /** Bytes of this turn. */
  #bytes = 0;

  constructor(clock: Clock, bytesMax: number = TURN_BYTES) {
    this.#clock = clock;
    this.#bytesMax = bytesMax;
  }

  /** A part of a body has arrived, and more will follow. */
  received(body: ReceivedBody, bytes: number): void {
    if (this.#bytes === 0) this.#clock.soon(() => this.#nextTurn());
    const before = this.#bytes;
    this.#bytes += bytes;
    this.#bodies.add(body);
    if (before >= this.#bytesMax || this.#bytes < this.#bytesMax) return;
    // Not this one: the library reads the rest of what it has got, which must not end a body that is held back.
    for (const other of this.#bodies) if (other !== body) other.holdBack();
  }

  /** Nothing of a body will arrive any more, or it will be discarded. */
  ended(body: ReceivedBody): void {
    this.#bodies.delete(body);
  }

  #nextTurn(): void {
    this.#bytes = 0;
    for (const body of this.#bodies) body.goOn();
  }
}
