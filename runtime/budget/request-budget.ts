import { ServiceError } from '#runtime/errors/service-error.ts';

/** What one request may use. */
export interface RequestLimits {
  /** Work, in nanoseconds of a processor as the callers of {@link RequestBudget.spend} estimate them. */
  readonly workMax: number;
  /** Bytes kept at the same time, as the callers of {@link RequestBudget.keep} estimate them. */
  readonly memoryMax: number;
}

const mebibyte = 1024 * 1024;

/** What a request may use unless told otherwise: half of the time it has, and what some 300,000 matches take. */
export const defaultRequestLimits: RequestLimits = Object.freeze({
  workMax: 30_000_000_000,
  memoryMax: 128 * mebibyte,
});

/**
 * What one request has used of the processor and of memory, counted by those who work for it: scans, filters, sorts,
 * patterns, checks. It bounds the sum; that no single step is long is for whoever takes the step.
 *
 * Work is counted and not measured, so that the same request is refused on every machine, or on none.
 */
export class RequestBudget {
  readonly #limits: RequestLimits;
  #work = 0;
  #memory = 0;

  constructor(limits: RequestLimits = defaultRequestLimits) {
    this.#limits = limits;
  }

  /** Work so far, in estimated nanoseconds. */
  get work(): number {
    return this.#work;
  }

  /** Bytes kept now. */
  get memory(): number {
    return this.#memory;
  }

  /**
   * Counts work, best before it is done.
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
   * @throws {ServiceError} `REQUEST_TOO_EXPENSIVE`
   */
  keep(bytes: number): void {
    if (this.#memory + bytes <= this.#limits.memoryMax) {
      this.#memory += bytes;
      return;
    }
    const mebibytes = this.#limits.memoryMax / mebibyte;
    throw new ServiceError(
      'REQUEST_TOO_EXPENSIVE',
      `The request takes more than the ${mebibytes} MiB of memory that one may take; narrow it down, or ask for less at a time (limit).`,
    );
  }

  /** Memory that is not in use any more. */
  free(bytes: number): void {
    this.#memory -= bytes;
  }
}
