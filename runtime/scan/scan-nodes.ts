import { assert } from '#runtime/base/assert.ts';
import type { RequestBudget } from '#runtime/budget/request-budget.ts';
import { sortInSlices } from '#runtime/base/event-loop/sliced-sort.ts';
import { mergeSorted } from '#runtime/base/merge-sorted.ts';
import { bytesText, textBytes } from '#runtime/shard/binary-key.ts';
import { PastNodeReader } from '#runtime/tree/past-node-reader.ts';
import type { NodeRecord } from '#runtime/tree/record/node-record.ts';
import { RecordView } from '#runtime/tree/record/record-view.ts';
import type { Moment } from './moment.ts';
import { PART_BYTES } from './places.ts';
import type { RowPredicate } from './row-filter.ts';
import { visitNodes } from './visited-nodes.ts';

/** Ids that are sorted without a pause. */
const SORTED_AT_ONCE = 1_000;

/** Estimated nanoseconds of filters after which the scan may pause. */
const SLICE_WORK = 1_000_000;

/** The nodes to read; as in a request of `scan`. */
export interface NodesRequest {
  readonly workspace: string;
  readonly reverse?: boolean;
  readonly after?: string | undefined;
  readonly skip?: number;
  readonly limit?: number;
  readonly placesMax?: number;
  readonly budget?: RequestBudget;
  readonly takes?: RowPredicate;
  readonly isFull?: () => boolean;
}

/** A node that was found, with its position. */
export interface NodeRow {
  readonly position: string;
  readonly id: string;
  readonly record: NodeRecord;
}

/** How much of a scan is left, and where it goes on. */
export type RestOfScan = Required<Pick<NodesRequest, 'after' | 'skip' | 'limit' | 'placesMax'>>;

/**
 * The nodes of a workspace, see `scan`. Rows are looked at where they are stored, and only those that leave the scan are
 * copied.
 *
 * At a revision the present row of a node is its state unless the node changed since. Where one did, also where it was removed,
 * the rows make way for a look-up of its state.
 *
 * @returns the rest where rows in place do not tell what the state is: too many nodes changed since, or the revision did not
 *   lead to the head
 */
export function* scanNodes(
  moment: Moment,
  request: NodesRequest,
  filter: RowPredicate | undefined,
): Generator<NodeRow | undefined, RestOfScan | string | undefined> {
  const { budget, isFull, reverse = false, takes, workspace } = request;
  const view = new RecordView();
  const changed = new ChangedPlaces(moment, workspace, reverse);
  let { after, limit = Number.POSITIVE_INFINITY, placesMax = Number.POSITIVE_INFINITY, skip = 0 } = request;
  const countsPlaces = request.placesMax !== undefined;
  let last: string | undefined;
  let rows: NodeRow[] = [];
  /** Takes the row of the view if it matches. */
  const take = (id: () => string, whole?: NodeRecord): NodeRow | undefined => {
    if (filter !== undefined && !filter(view)) return undefined;
    if (skip > 0) {
      skip -= 1;
      return undefined;
    }
    limit -= 1;
    if (takes?.(view) === true) return undefined;
    const found = id();
    const row = { position: textBytes(found), id: found, record: whole ?? view.record() };
    rows.push(row);
    return row;
  };
  while (limit > 0) {
    const isKnown = yield* changed.look();
    const { tree } = moment;
    const past = tree instanceof PastNodeReader ? tree : undefined;
    if (!isKnown || past?.decidesInPlace === false) {
      // The source may end here: the next scan will tell.
      return placesMax === 0 ? last : { after, skip, limit, placesMax };
    }
    const before = changed.behind(after);
    let isOver = false;
    let kept = 0;
    const workBefore = budget?.work ?? 0;
    const end = visitNodes(moment.reader, { workspace, after, before, reverse }, view, (row, id) => {
      isOver = limit === 0 || placesMax === 0;
      if (isOver) return false;
      if (past?.isDecidedByKey(row.sinceKey()) === false) return undefined;
      if (countsPlaces) {
        placesMax -= 1;
        last = textBytes(id());
      }
      kept += take(id)?.record.bytes.length ?? 0;
      if (kept >= PART_BYTES || isFull?.() === true) return false;
      return budget === undefined || budget.work - workBefore < SLICE_WORK;
    });
    yield* rows;
    rows = [];
    if (limit === 0) return undefined;
    if (isOver) return last;
    if (end.isDone && before === undefined) return undefined;
    after = end.isDone ? before : end.last;
    const left = end.isDone ? bytesText(before as string) : end.left;
    if (left !== undefined) {
      if (placesMax === 0) return last;
      placesMax -= 1;
      last = after;
      const record = yield* moment.tree.byIdInSteps(workspace, left);
      assert(record !== undefined || past !== undefined, `node ${left} is listed but not stored`);
      if (record !== undefined) {
        view.point(record.bytes, record.bytes.length);
        take(() => left, record);
        yield* rows;
        rows = [];
      }
    }
    moment.rest();
    yield undefined;
  }
  return undefined;
}

/** Nodes of a workspace that changed since a moment: each is read by itself, whether it has a present row or not. */
class ChangedPlaces {
  readonly #moment: Moment;
  readonly #workspace: string;
  readonly #reverse: boolean;
  /** Their ids as bytes, the next one of the scan last. */
  #ids: readonly string[] = [];
  /** Number of those that were taken in. */
  #known = 0;

  constructor(moment: Moment, workspace: string, reverse: boolean) {
    this.#moment = moment;
    this.#workspace = workspace;
    this.#reverse = reverse;
  }

  /** Takes in those that are new, up to the head of the reader at the end of the call. @returns whether they are known */
  *look(): Generator<undefined, boolean> {
    if (this.#moment.at === undefined) return true;
    for (;;) {
      const changed = yield* this.#moment.changedIn(this.#workspace).ids();
      if (changed === undefined) return false;
      if (changed.size === this.#known) return true;
      // Ids are only added to the set, behind the others. After a pause there may be more.
      const added = [...changed].slice(this.#known).map(textBytes);
      this.#known = changed.size;
      const isBefore = (a: string, b: string): boolean => a < b === this.#reverse;
      const inOrder = (a: string, b: string): number => (isBefore(a, b) ? -1 : 1);
      const isShort = added.length <= SORTED_AT_ONCE;
      const sorted = isShort ? added.sort(inOrder) : yield* sortInSlices(added, inOrder);
      this.#ids = mergeSorted(this.#ids, sorted, isBefore);
    }
  }

  /** The next one behind a position. */
  behind(after: string | undefined): string | undefined {
    const isPassed = (id: string): boolean =>
      after !== undefined && (this.#reverse ? id >= after : id <= after);
    let left = this.#ids.length;
    while (left > 0 && isPassed(this.#ids[left - 1] as string)) left -= 1;
    if (left < this.#ids.length) this.#ids = this.#ids.slice(0, left);
    return this.#ids.at(-1);
  }
}
