import { ServiceError } from '#runtime/errors/service-error.ts';
import type { PropertyRead, SharedWork } from '#runtime/rel/evaluation/evaluation.ts';

/** Estimated nanoseconds of a unit of work of conditions. */
const UNIT_NANOSECONDS = 5;

/**
 * Most work of one decision about a node, over all permissions, in units of conditions: about four milliseconds. That is twice
 * what a single condition may take.
 */
export const DECISION_WORK_MAX = 800_000;

/** The same about a row in place: some tens of microseconds. Many rows are looked at without a pause. */
export const ROW_WORK_MAX = 16_000;

/**
 * The work of decisions about nodes. One serves all decisions of a request, one after the other, and counts each of them in the
 * budget of the request.
 *
 * Work is estimated and not measured, so that a decision is refused on every machine or on none.
 *
 * @see docs/decisions/0077-work-of-decisions.md
 */
export class DecisionWork implements SharedWork {
  left = 0;
  isLacking = false;
  reads: Map<string, PropertyRead> | undefined;
  #kept: Map<string, PropertyRead> | undefined;
  readonly #spend: ((nanoseconds: number) => void) | undefined;
  #max = 0;
  #isInPlace = false;
  #isShared = false;

  /** @param spend counts estimated nanoseconds in the budget of the request; absent: nothing counts them */
  constructor(spend?: (nanoseconds: number) => void) {
    this.#spend = spend;
  }

  /** Begins a decision. @param isInPlace whether it is about a row in place, which another decision may follow */
  begin(isInPlace: boolean): void {
    this.#isInPlace = isInPlace;
    this.isLacking = false;
    if (!this.#isShared) this.left = isInPlace ? ROW_WORK_MAX : DECISION_WORK_MAX;
    this.#max = this.left;
  }

  /** Keeps the properties that are read where several conditions may ask for them. @param rules that may be asked */
  keepReads(rules: number): void {
    if (rules < 2) return;
    this.#kept ??= new Map();
    this.reads = this.#kept;
  }

  /** Carries out several decisions, between which nothing pauses, with the work of one. */
  together<T>(decide: () => T): T {
    if (this.#isShared) return decide();
    this.left = DECISION_WORK_MAX;
    this.#isShared = true;
    try {
      return decide();
    } finally {
      this.#isShared = false;
    }
  }

  /**
   * Takes work, in units.
   *
   * @returns whether there was as much left; false only about a row in place
   * @throws {ServiceError} `REQUEST_TOO_EXPENSIVE`
   */
  take(units: number): boolean {
    this.left -= units;
    if (this.left >= 0) return true;
    if (this.#isInPlace) return false;
    throw tooExpensive();
  }

  /** Refuses a decision that needs more work than is left. @throws {ServiceError} `REQUEST_TOO_EXPENSIVE` */
  refuse(): never {
    throw tooExpensive();
  }

  /** As {@link take}, in estimated nanoseconds, for work that no row in place needs. */
  takeTime(nanoseconds: number): void {
    this.take(nanoseconds / UNIT_NANOSECONDS);
  }

  /** Ends the decision. @throws {ServiceError} `REQUEST_TOO_EXPENSIVE` when all of them are too much for the request */
  end(): void {
    if (this.reads !== undefined && this.reads.size > 0) this.reads.clear();
    this.reads = undefined;
    const done = this.#max - Math.max(this.left, 0);
    if (done > 0) this.#spend?.(done * UNIT_NANOSECONDS);
  }
}

/** The error of a decision that takes too much work. It names no node: the caller might not be permitted to read it. */
function tooExpensive(): ServiceError {
  return new ServiceError(
    'REQUEST_TOO_EXPENSIVE',
    "The permissions of the caller's roles take more work for one node than they may; an administrator has to write fewer of them, or simpler conditions and paths.",
  );
}
