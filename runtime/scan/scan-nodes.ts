import { assert } from '#runtime/base/assert.ts';
import { sortInSlices } from '#runtime/base/event-loop/sliced-sort.ts';
import { bytesText, textBytes } from '#runtime/shard/binary-key.ts';
import { HeadNodeReader } from '#runtime/tree/node-reader.ts';
import { PastNodeReader } from '#runtime/tree/past-node-reader.ts';
import type { NodeRecord } from '#runtime/tree/record/node-record.ts';
import { RecordView } from '#runtime/tree/record/record-view.ts';
import type { Moment } from './moment.ts';
import { PART_BYTES } from './places.ts';
import type { RowPredicate } from './row-filter.ts';
import { visitNodes } from './visited-nodes.ts';

/** Nodes that are looked up between two pauses. */
const LOOK_UPS_PER_STEP = 64;

/** The nodes to read; as in a request of `scan`. */
export interface NodesRequest {
  readonly workspace: string;
  readonly reverse?: boolean;
  readonly after?: string | undefined;
  readonly skip?: number;
  readonly limit?: number;
  readonly placesMax?: number;
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
 * At a revision the present row of a node is its state unless it is newer. A newer one makes way for a look-up of the state,
 * and so does a node that was removed since.
 *
 * @returns the rest where rows in place do not tell what the state is: too many nodes changed since, or the revision did not
 *   lead to the head
 */
export function* scanNodes(
  moment: Moment,
  request: NodesRequest,
  filter: RowPredicate | undefined,
): Generator<NodeRow | undefined, RestOfScan | string | undefined> {
  const { reverse = false, workspace } = request;
  const view = new RecordView();
  const removed = new RemovedNodes(moment, workspace, reverse);
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
    const found = id();
    const row = { position: textBytes(found), id: found, record: whole ?? view.record() };
    rows.push(row);
    return row;
  };
  while (limit > 0) {
    const isKnown = yield* removed.look();
    const { tree } = moment;
    const past = tree instanceof PastNodeReader ? tree : undefined;
    if (!isKnown || past?.decidesInPlace === false) {
      // The source may end here: the next scan will tell.
      return placesMax === 0 ? last : { after, skip, limit, placesMax };
    }
    const before = removed.behind(after);
    let isOver = false;
    let kept = 0;
    const end = visitNodes(moment.reader, { workspace, after, before, reverse }, view, (row, id) => {
      isOver = limit === 0 || placesMax === 0;
      if (isOver) return false;
      if (past?.isDecidedByKey(row.sinceKey()) === false) return undefined;
      if (countsPlaces) {
        placesMax -= 1;
        last = textBytes(id());
      }
      kept += take(id)?.record.bytes.length ?? 0;
      return kept < PART_BYTES;
    });
    yield* rows;
    rows = [];
    if (isOver) return limit === 0 ? undefined : last;
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

/** Nodes of a workspace that may be in the state of a moment, and have no present row. */
class RemovedNodes {
  readonly #moment: Moment;
  readonly #workspace: string;
  readonly #reverse: boolean;
  /** Their ids as bytes, the next one of the scan last. */
  #ids: string[] = [];
  /** What was known when they were looked up. */
  #changed = 0;
  #moves = 0;

  constructor(moment: Moment, workspace: string, reverse: boolean) {
    this.#moment = moment;
    this.#workspace = workspace;
    this.#reverse = reverse;
  }

  /** Looks them up where that may have changed since the last call. @returns whether they are known */
  *look(): Generator<undefined, boolean> {
    const moment = this.#moment;
    if (moment.at === undefined) return true;
    for (;;) {
      const changed = yield* moment.changedIn(this.#workspace).ids();
      if (changed === undefined) return false;
      const { moves } = moment;
      if (changed.size === this.#changed && moves === this.#moves) return true;
      const ids = yield* this.#withoutRow(changed);
      const next = (a: string, b: string): number => (a < b === this.#reverse ? -1 : 1);
      const sorted = yield* sortInSlices(ids, next);
      // The snapshot may have been left meanwhile.
      if (moment.moves !== moves) continue;
      this.#changed = changed.size;
      this.#moves = moves;
      this.#ids = [...sorted];
    }
  }

  /** The next one behind a position. */
  behind(after: string | undefined): string | undefined {
    const isPassed = (id: string): boolean =>
      after !== undefined && (this.#reverse ? id >= after : id <= after);
    while (this.#ids.length > 0 && isPassed(this.#ids.at(-1) as string)) this.#ids.pop();
    return this.#ids.at(-1);
  }

  *#withoutRow(changed: ReadonlySet<string>): Generator<undefined, string[]> {
    const found: string[] = [];
    let looked = 0;
    for (const id of [...changed]) {
      if (!new HeadNodeReader(this.#moment.reader).has(this.#workspace, id)) found.push(textBytes(id));
      looked += 1;
      if (looked % LOOK_UPS_PER_STEP === 0) yield undefined;
    }
    return found;
  }
}
