import type { RequestBudget } from '#runtime/budget/request-budget.ts';
import type { QueryWindow } from './query-page.ts';
import { sortInSlices } from '#runtime/base/sliced-sort.ts';

/** Matches kept beyond those wanted, so that they are seldom sorted. */
const SPARE_MATCHES = 512;

/** Bytes a match takes besides its texts. */
const MATCH_BYTES = 200;

/** A match with what it is sorted by. */
export interface Sortable {
  /** Characters of its id, path and keys. */
  readonly characters: number;
}

/**
 * The first of many matches by an order: what the window does not reach is let go of on the way, so that memory
 * follows the window and not the number of matches.
 */
export class BestMatches<Match extends Sortable> {
  readonly #compare: (a: Match, b: Match) => number;
  readonly #budget: RequestBudget;
  /** Matches the window reaches. */
  readonly #wanted: number;
  #kept: Match[] = [];
  #count = 0;

  constructor(window: QueryWindow, compare: (a: Match, b: Match) => number, budget: RequestBudget) {
    this.#compare = compare;
    this.#budget = budget;
    const { limit, offset } = window;
    this.#wanted = limit === null ? Number.POSITIVE_INFINITY : offset + limit;
  }

  /** Matches that were added. */
  get count(): number {
    return this.#count;
  }

  /**
   * Adds a match.
   *
   * @returns yields undefined where the work may rest
   * @throws {ServiceError} `REQUEST_TOO_EXPENSIVE`
   */
  *add(match: Match): Generator<undefined, void> {
    this.#count += 1;
    this.#budget.keep(bytesOf(match));
    this.#kept.push(match);
    if (this.#kept.length >= 2 * this.#wanted + SPARE_MATCHES) yield* this.#letGo();
  }

  /** The matches the window reaches, in order. Nothing is added any more. */
  *sorted(): Generator<undefined, readonly Match[]> {
    yield* this.#letGo();
    return this.#kept;
  }

  /** Lets go of everything that is kept. */
  close(): void {
    for (const match of this.#kept) this.#budget.free(bytesOf(match));
    this.#kept = [];
  }

  *#letGo(): Generator<undefined, void> {
    const sorted = yield* sortInSlices(this.#kept, this.#compare);
    this.#kept = sorted.slice(0, this.#wanted);
    for (let index = this.#kept.length; index < sorted.length; index += 1) {
      this.#budget.free(bytesOf(sorted[index] as Match));
    }
  }
}

function bytesOf({ characters }: Sortable): number {
  return MATCH_BYTES + 2 * characters;
}
