import type { RequestBudget } from '#runtime/budget/request-budget.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';

/**
 * Work that checking one node may take, in estimated nanoseconds: a check is one step, which nothing interrupts.
 * Patterns take nearly all of it: a node with 100 texts of 10,000 characters, each with a pattern, takes a tenth.
 */
export const CHECK_WORK_MAX = 30_000_000;

/** Estimated nanoseconds of comparing a value with another one. */
export const COMPARISON_WORK = 20;

/** Adds up the work of one check. */
export class CheckWork {
  readonly #budget: RequestBudget | undefined;
  #spent = 0;

  /** @param budget of the request that the check is a part of */
  constructor(budget?: RequestBudget) {
    this.#budget = budget;
  }

  /** @throws {ServiceError} `REQUEST_TOO_EXPENSIVE` */
  spend(nanoseconds: number): void {
    this.#spent += nanoseconds;
    if (this.#spent > CHECK_WORK_MAX) {
      throw new ServiceError(
        'REQUEST_TOO_EXPENSIVE',
        'This takes more work than one check may; simplify the patterns of the type, or shorten the texts they are matched against.',
      );
    }
    this.#budget?.spend(nanoseconds);
  }
}
