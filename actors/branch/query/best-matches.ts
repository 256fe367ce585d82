import type { RequestBudget } from '#runtime/budget/request-budget.ts';
import type { QueryWindow } from './query-page.ts';
import { sortInSlices } from '#runtime/base/event-loop/sliced-sort.ts';

/** Matches kept beyond those needed, so that sorting is rare. */
const SPARE_MATCHES = 512;

/** Bytes of a match without its texts. */
const MATCH_BYTES = 200;

/** A match with its sort keys. */
export interface Sortable {
  /** Characters of its id, path and keys. */
  readonly characters: number;
}

/**
 * The first of many matches in an order. Matches beyond the window are dropped on the way, so that memory grows with
 * the window and not with the number of matches.
 */
export class BestMatches<Match extends Sortable> {
  readonly #compare: (a: Match, b: Match) => number;
  readonly #budget: RequestBudget;
  /** Number of matches up to the end of the window. */
  readonly #wanted: number;
  #kept: Match[] = [];
  #count = 0;

  constructor(window: QueryWindow, compare: (a: Match, b: Match) => number, budget: RequestBudget) {
    this.#compare = compare;
    this.#budget = budget;
    const { limit, offset } = window;
    this.#wanted = limit === null ? Number.POSITIVE_INFINITY : offset + limit;
  }

  /** Number of matches added. */
  get count(): number {
    return this.#count;
  }

  /**
   * Adds a match.
   *
   * @returns yields undefined where the work may pause
   * @throws {ServiceError} `REQUEST_TOO_EXPENSIVE`
   */
  *add(match: Match): Generator<undefined, void> {
    this.#count += 1;
    this.#budget.keep(bytesOf(match));
    this.#kept.push(match);
    if (this.#kept.length >= 2 * this.#wanted + SPARE_MATCHES) yield* this.#letGo();
  }

  /** The matches up to the end of the window, in order. No match may be added after it. */
  *sorted(): Generator<undefined, readonly Match[]> {
    yield* this.#letGo();
    return this.#kept;
  }

  /** Releases all kept matches. */
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
