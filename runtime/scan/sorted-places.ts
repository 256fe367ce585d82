import type { RequestBudget } from '#runtime/budget/request-budget.ts';
import { sortInSlices } from '#runtime/base/event-loop/sliced-sort.ts';
import { LargeValue } from '#runtime/shard/large-value.ts';
import type { IndexedSource } from './indexed-source.ts';
import type { Moment } from './moment.ts';
import { keepPlace, placesBetween } from './place-list.ts';
import type { PartBounds, Place, PlacePart, PlaceSource } from './places.ts';

/** Places read in a part of the source. */
const PART = 256;

/** Estimated nanoseconds to read a node. */
const NODE_WORK = 5_000;

/**
 * The nodes of an indexed source without its table: all nodes among which they are are read, and their places are kept and
 * sorted. The cost follows those nodes, whatever the range.
 */
export class SortedPlaces implements PlaceSource {
  readonly #moment: Moment;
  readonly #among: PlaceSource;
  readonly #source: Pick<IndexedSource, 'workspace' | 'positionOf'>;
  readonly #budget: RequestBudget | undefined;
  #sorted: readonly Place[] | undefined;

  /** @param among has all nodes of the source, and others */
  constructor(
    moment: Moment,
    among: PlaceSource,
    source: Pick<IndexedSource, 'workspace' | 'positionOf'>,
    budget?: RequestBudget,
  ) {
    this.#moment = moment;
    this.#among = among;
    this.#source = source;
    this.#budget = budget;
  }

  *part({ after, most, reverse }: PartBounds): Generator<undefined, PlacePart> {
    this.#sorted ??= yield* this.#collected();
    const places = placesBetween(this.#sorted, after, undefined, reverse, most);
    return places.length < most ? { places } : { places, next: (places.at(-1) as Place).position };
  }

  *#collected(): Generator<undefined, readonly Place[]> {
    const { workspace } = this.#source;
    const found: Place[] = [];
    for (let after: string | undefined, isFirst = true; isFirst || after !== undefined; isFirst = false) {
      const part: PlacePart = yield* this.#among.part({ after, most: PART, reverse: false });
      for (const { id } of part.places) {
        const { tree } = this.#moment;
        const quick = tree.quickById(workspace, id);
        const record = quick instanceof LargeValue ? yield* tree.byIdInSteps(workspace, id) : quick;
        this.#budget?.spend(NODE_WORK);
        const position = record === undefined ? undefined : yield* this.#source.positionOf(record);
        if (position !== undefined) found.push(keepPlace({ position, id }, this.#budget));
        this.#moment.rest();
        yield undefined;
      }
      after = part.next;
    }
    return yield* sortInSlices(found, (a, b) => (a.position < b.position ? -1 : 1));
  }
}
