import type { RequestBudget } from '#runtime/budget/request-budget.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';

/**
 * Limit of work for checking one node, in estimated nanoseconds: a check is one step that cannot be interrupted.
 * Patterns take nearly all of it: a node with 100 strings of 10,000 characters, each with a pattern, takes a tenth.
 */
export const CHECK_WORK_MAX = 30_000_000;

/** Estimated nanoseconds of one comparison of values. */
export const COMPARISON_WORK = 20;

/** Adds up the work of one check. */
export class CheckWork {
  readonly #budget: RequestBudget | undefined;
  #spent = 0;

  /** @param budget of the request that runs the check */
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
