import { ServiceError } from '#runtime/errors/service-error.ts';

/**
 * The memory that all reads of a process use at the same time, as they count it. Each request has a limit of its own; without
 * this one, some dozens of requests below theirs would together be more than the heap.
 */
export class MemoryPool {
  readonly #bytesMax: number;
  #bytes = 0;

  /** @param bytesMax most bytes at the same time */
  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Bytes in use. */
  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Counts memory as in use.
   *
   * @throws {ServiceError} `OVERLOADED` when the requests under way have left too little; nothing is counted then
   */
  take(bytes: number): void {
    if (this.#bytes + bytes > this.#bytesMax)
      throw new ServiceError(
        'OVERLOADED',
        'The requests under way use all memory that is meant for them; try again shortly.',
      );
    this.#bytes += bytes;
  }

  /** Counts memory as released. */
  give(bytes: number): void {
    this.#bytes -= bytes;
  }
}
