import { ServiceError } from '#runtime/errors/service-error.ts';
import type { ByteBudget } from './byte-budget.ts';

/** Limits of one request. */
export interface RequestLimits {
  /** Work, in nanoseconds of processor time as the callers of {@link RequestBudget.spend} estimate it. */
  readonly workMax: number;
  /** Bytes held at the same time, as the callers of {@link RequestBudget.keep} estimate them. */
  readonly memoryMax: number;
  /** Bytes of stored nodes held at the same time to be compared, see {@link RequestBudget.hold}; absent: 512 MiB. */
  readonly heldMax?: number;
  /**
   * What all reads of the process may hold together; absent: each has only its own limit. Some dozens of requests below their limits
   * would together be more than the heap.
   */
  readonly pool?: ByteBudget;
}

const mebibyte = 1024 * 1024;

/** Most bytes of stored nodes that a request holds, whatever the size of the heap. */
export const HELD_BYTES_MAX: number = 512 * mebibyte;

/** Default limits of a request: half of its time limit, and the memory of about 300,000 matches. */
export const defaultRequestLimits: RequestLimits = Object.freeze({
  workMax: 30_000_000_000,
  memoryMax: 128 * mebibyte,
});

/**
 * The processor time and memory used by one request, as counted by its scans, filters, sorts, patterns and checks. It
 * limits the sum; each step is responsible for its own length.
 *
 * Work is estimated and not measured, so that a request is refused on every machine or on none.
 */
export class RequestBudget {
  readonly #limits: RequestLimits;
  readonly #pool: ByteBudget | undefined;
  /** Whether the pool counts what this request holds. */
  #isShared = true;
  #work = 0;
  #memory = 0;
  #held = 0;

  /** @param pool the part of all reads; whoever gives one must call {@link close} */
  constructor(limits: RequestLimits = defaultRequestLimits, pool?: ByteBudget) {
    this.#limits = limits;
    this.#pool = pool;
  }

  /** Work so far, in estimated nanoseconds. */
  get work(): number {
    return this.#work;
  }

  /** Bytes held at present. */
  get memory(): number {
    return this.#memory;
  }

  /** Bytes of stored nodes held, see {@link hold}. */
  get held(): number {
    return this.#held;
  }

  /** Limit of {@link held}. */
  get heldMax(): number {
    return this.#limits.heldMax ?? HELD_BYTES_MAX;
  }

  /**
   * Counts stored nodes that stay in memory until the request ends, because it compares whole sets of them: a merge, a
   * list of conflicts, a revert. They have a limit of their own. With {@link keep} a commit could make more than could
   * be merged.
   *
   * @param bytes of the records, and of what they are decoded into
   * @throws {ServiceError} `REQUEST_TOO_EXPENSIVE`
   */
  hold(bytes: number): void {
    this.#held += bytes;
    if (this.#held <= this.heldMax) return;
    const mebibytes = Math.floor(this.heldMax / mebibyte);
    throw new ServiceError(
      'REQUEST_TOO_EXPENSIVE',
      `The changed nodes take more than the ${mebibytes} MiB that may be compared at once; do it in parts.`,
    );
  }

  /** Counts nodes as no longer held. */
  drop(bytes: number): void {
    this.#held -= bytes;
  }

  /**
   * Counts work, preferably before it is done.
   *
   * @param work estimated nanoseconds
   * @throws {ServiceError} `REQUEST_TOO_EXPENSIVE`
   */
  spend(work: number): void {
    this.#work += work;
    if (this.#work <= this.#limits.workMax) return;
    const seconds = this.#limits.workMax / 1_000_000_000;
    throw new ServiceError(
      'REQUEST_TOO_EXPENSIVE',
      `The request takes more than the ${seconds} s of work that one may take; narrow it down, or split it.`,
    );
  }

  /**
   * Counts memory that stays in use.
   *
   * @throws {ServiceError} `REQUEST_TOO_EXPENSIVE`; `OVERLOADED` when other requests have left too little
   */
  keep(bytes: number): void {
    if (this.#memory + bytes <= this.#limits.memoryMax) {
      if (this.#isShared) this.#takeShared(bytes);
      this.#memory += bytes;
      return;
    }
    const mebibytes = this.#limits.memoryMax / mebibyte;
    throw new ServiceError(
      'REQUEST_TOO_EXPENSIVE',
      `The request takes more than the ${mebibytes} MiB of memory that one may take; narrow it down, or ask for less at a time (limit).`,
    );
  }

  /** Counts memory as released: at most what was counted, because a refused {@link keep} counts nothing. */
  free(bytes: number): void {
    const freed = Math.min(bytes, this.#memory);
    this.#memory -= freed;
    if (this.#isShared) this.#pool?.give(freed);
  }

  /** Gives back to the pool all that is counted, and counts there no more: the request has ended, or its answer waits. */
  close(): void {
    if (this.#isShared) this.#pool?.give(this.#memory);
    this.#isShared = false;
  }

  /** Counts in the pool again: the answer is begun. @throws {ServiceError} `OVERLOADED` */
  reopen(): void {
    if (this.#isShared) return;
    this.#takeShared(this.#memory);
    this.#isShared = true;
  }

  #takeShared(bytes: number): void {
    if (this.#pool?.take(bytes) !== false) return;
    throw new ServiceError(
      'OVERLOADED',
      'The requests under way use all memory that is meant for them; try again shortly.',
    );
  }
}
