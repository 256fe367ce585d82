import type { RequestBudget } from '#runtime/budget/request-budget.ts';
import { mergeSorted } from '#runtime/base/merge-sorted.ts';
import { sortInSlices } from '#runtime/base/event-loop/sliced-sort.ts';
import { LargeValue } from '#runtime/shard/large-value.ts';
import { compareRevisions, type Revision } from '#runtime/content/revision.ts';
import { readBranchHead } from '#runtime/tree/revision-store.ts';
import type { NodeRecord } from '#runtime/tree/record/node-record.ts';
import type { RecordView } from '#runtime/tree/record/record-view.ts';
import type { IndexedSource } from './indexed-source.ts';
import type { Moment } from './moment.ts';
import { keepPlace, placesBetween } from './place-list.ts';
import {
  type CountedPart,
  isOf,
  type PartBounds,
  type Place,
  type PlacePart,
  type PlaceSource,
} from './places.ts';

/** Estimated nanoseconds to read a node, and each byte of it. */
const NODE_WORK = 5_000;
const BYTE_WORK = 2;

const none: ReadonlySet<string> = new Set();

/**
 * An indexed source at a moment. Nodes that did not change since have their rows in the table of the present state. The
 * others are left out there, and their states at the moment are put in where they belong. The cost follows the rows that
 * are read, and the changed nodes, each of which is read once.
 *
 * Where too many nodes changed, or the table does not have all nodes, the nodes are read without it. That may begin in the
 * middle of a walk, because positions are the same: a walk whose snapshot is left meets other present states.
 */
export class OverlaidPlaces implements PlaceSource {
  readonly #moment: Moment;
  readonly #source: IndexedSource;
  readonly #budget: RequestBudget | undefined;
  /** Changed nodes whose states were looked up. */
  readonly #looked = new Set<string>();
  /** Their places, in the order of the source. */
  #changed: readonly Place[] = [];
  #withoutTable: PlaceSource | undefined;
  /** The snapshot whose catalog was looked at. */
  #seen: { readonly head: Revision; readonly moves: number; readonly hasAll: boolean } | undefined;

  constructor(moment: Moment, source: IndexedSource, budget?: RequestBudget) {
    this.#moment = moment;
    this.#source = source;
    this.#budget = budget;
  }

  /** Number of changed nodes to look at; undefined when the nodes are read without the table. */
  *changedCount(): Generator<undefined, number | undefined> {
    return (yield* this.#changedIds())?.size;
  }

  *part(bounds: PartBounds): Generator<undefined, PlacePart> {
    if ((yield* this.#prepare()) !== undefined) {
      const part = yield* this.#source.rows.part(bounds);
      // The snapshot may have been left meanwhile. What changed up to now was perhaps read.
      const changed = yield* this.#prepare();
      if (changed !== undefined) return this.#united(part, changed, bounds);
    }
    this.#withoutTable ??= this.#source.withoutTable();
    const { next, places } = yield* this.#withoutTable.part(bounds);
    const isLoose = this.#withoutTable.has !== undefined;
    const judged = isLoose ? places.map((place) => ({ ...place, isLoose })) : places;
    return next === undefined ? { places: judged } : { places: judged, next };
  }

  countPart(bounds: Omit<PartBounds, 'reverse'>): CountedPart | undefined {
    // At a revision changed nodes are left out and put in.
    const isPresent = this.#moment.at === undefined && this.#withoutTable === undefined;
    return isPresent && this.#hasAll() ? this.#source.rows.countPart?.(bounds) : undefined;
  }

  has(record: NodeRecord): Generator<undefined, boolean> {
    return isOf(this.#withoutTable ?? this.#source.rows, record);
  }

  hasInPlace(view: RecordView): boolean | undefined {
    return (this.#withoutTable ?? this.#source.rows).hasInPlace?.(view);
  }

  /** The rows of a part whose nodes did not change, and the changed nodes among them. */
  #united({ next, places }: PlacePart, changed: ReadonlySet<string>, bounds: PartBounds): PlacePart {
    const { after, most, reverse } = bounds;
    if (changed.size === 0) return next === undefined ? { places, changed } : { places, next, changed };
    const kept = places.filter(({ id }) => !changed.has(id));
    const added = placesBetween(this.#changed, after, next, reverse, most + 1);
    const united = mergeSorted(kept, added, (a, b) => a.position < b.position !== reverse);
    if (united.length <= most)
      return next === undefined ? { places: united, changed } : { places: united, next, changed };
    const cut = united.slice(0, most);
    return { places: cut, next: (cut.at(-1) as Place).position, changed };
  }

  /**
   * The changed nodes, after those that were not known yet are looked up; undefined when the table is of no use. No change
   * of the head is left out.
   */
  *#prepare(): Generator<undefined, ReadonlySet<string> | undefined> {
    for (;;) {
      const changed = yield* this.#changedIds();
      if (changed === undefined || changed.size === this.#looked.size) return changed;
      yield* this.#lookUp(changed);
    }
  }

  *#changedIds(): Generator<undefined, ReadonlySet<string> | undefined> {
    if (this.#withoutTable !== undefined) return undefined;
    const changed =
      this.#moment.at === undefined ? none : yield* this.#moment.changedIn(this.#source.workspace).ids();
    return changed !== undefined && this.#hasAll() ? changed : undefined;
  }

  #hasAll(): boolean {
    const { countsMoves, moves, reader } = this.#moment;
    const seen = this.#seen;
    const isSame = seen?.moves === moves;
    // Between two moves that are counted there is one state.
    if (isSame && countsMoves) return seen.hasAll;
    const { head } = readBranchHead(reader);
    if (isSame && compareRevisions(seen.head, head) === 0) return seen.hasAll;
    const hasAll = this.#source.hasAll(reader);
    this.#seen = { head, moves, hasAll };
    return hasAll;
  }

  *#lookUp(changed: ReadonlySet<string>): Generator<undefined, void> {
    const { workspace } = this.#source;
    const found: Place[] = [];
    for (const id of [...changed]) {
      if (this.#looked.has(id)) continue;
      const { tree } = this.#moment;
      const quick = tree.quickById(workspace, id);
      const record = quick instanceof LargeValue ? yield* tree.byIdInSteps(workspace, id) : quick;
      this.#budget?.spend(NODE_WORK + (record?.bytes.length ?? 0) * BYTE_WORK);
      const position = record === undefined ? undefined : yield* this.#source.positionOf(record);
      if (position !== undefined) found.push(keepPlace({ position, id }, this.#budget));
      this.#moment.rest();
      this.#looked.add(id);
      yield undefined;
    }
    const all = [...this.#changed, ...found];
    this.#changed = yield* sortInSlices(all, (a, b) => (a.position < b.position ? -1 : 1));
  }
}
