import { Buffer } from 'node:buffer';
import { type ReadScope, wholeScope } from '#runtime/access/policy.ts';
import { assert } from '#runtime/base/assert.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { RequestBudget } from '#runtime/budget/request-budget.ts';
import { END } from '#runtime/shard/binary-key.ts';
import { LargeValue } from '#runtime/shard/large-value.ts';
import { Column } from '#runtime/tree/record/record-layout.ts';
import { RecordView } from '#runtime/tree/record/record-view.ts';
import { NodeRecord } from '#runtime/tree/record/node-record.ts';
import { HeadNodeReader } from '#runtime/tree/node-reader.ts';
import { PastNodeReader } from '#runtime/tree/past-node-reader.ts';
import type { Moment } from './moment.ts';
import { NodePlaces } from './node-places.ts';
import { IndexPlaces, type ValueSource } from './index-places.ts';
import { OverlaidPlaces } from './overlaid-places.ts';
import { PathPlaces } from './path-places.ts';
import { type CountedPart, isOf, type Place, type PlacePart, type PlaceSource } from './places.ts';
import { type ReferenceSource, ReferencePlaces } from './reference-places.ts';
import { type RowPredicate, rowFilter } from './row-filter.ts';
import { scanNodes } from './scan-nodes.ts';
import { ChildPlaces, SubtreePlaces } from './tree-places.ts';
import { TypePlaces } from './type-places.ts';
import { UniquePlaces, type UniqueSource } from './unique-places.ts';

/**
 * An ordered list of nodes of a workspace:
 *
 * | Kind | Nodes | Order and position |
 * |---|---|---|
 * | `nodes` | all | id |
 * | `children` | the children of a node | editorial order; order key |
 * | `subtree` | the descendants of a node | document order; order keys |
 * | `paths` | the descendants of a node or only its children, of one type or of all | path, by bytes |
 * | `index` | those of one type or of all with certain values | values as an index compares them; key and id |
 * | `unique` | those with a value in a unique property | canonical JSON text of the value; key and id |
 * | `references` | those that refer to a node | id |
 *
 * The last three, and nodes of one type, are found by tables that have the present state only. At a revision their cost
 * follows the rows and the nodes that changed since, see {@link changedFor}.
 */
export type ScanSource =
  | { readonly kind: 'nodes'; readonly workspace: string }
  | { readonly kind: 'children'; readonly workspace: string; readonly parentId: string }
  | { readonly kind: 'subtree'; readonly workspace: string; readonly topId: string }
  | {
      readonly kind: 'paths';
      readonly workspace: string;
      /** Path of the node below which they are; absent: the root. */
      readonly below?: string | undefined;
      readonly nodeType?: string | undefined;
      /** Whether only the children of that node are listed. */
      readonly isChildren?: boolean | undefined;
    }
  | ValueSource
  | UniqueSource
  | ReferenceSource;

/** One scan. */
export interface ScanRequest {
  readonly source: ScanSource;
  /** From the last row to the first. */
  readonly reverse?: boolean;
  /** Only rows behind this position, in the direction of the scan. */
  readonly after?: string | undefined;
  /**
   * The nodes that the caller may read; the others are not counted in anything. Rows that do not tell in place whether they
   * are in it are returned as well.
   */
  readonly scope: ReadScope;
  /** Only rows for which it holds; absent: all. */
  readonly predicate?: RowPredicate;
  /**
   * Is offered rows for which the predicate holds where they are stored, in the order of the scan. A row that it takes is not
   * returned as well, so it is not copied. Rows of which only a copy is at hand may not be offered.
   */
  readonly takes?: RowPredicate;
  /** Whether the scan is to yield before it looks at another row: so many were taken, or the rest is of no use. */
  readonly isFull?: () => boolean;
  /** Number of rows to leave out first. Without a predicate and a scope their nodes are not read. */
  readonly skip?: number;
  /** The most rows to return. */
  readonly limit?: number;
  /** Counts what the scan keeps in memory, and the work of conditions of the scope; absent: nothing does. */
  readonly budget?: RequestBudget;
  /**
   * The most places to pass, so that a scan that finds nothing is no longer than another. Each place that has no row is then
   * told, by undefined: who asks counts them.
   */
  readonly placesMax?: number;
  /**
   * Whether each row is answered before the scan goes on. At the head its record may then be over bytes that are valid only
   * until something else is read, if it is shorter than {@link PASSING_BYTES_MAX}, and the row tells whether the node has
   * children.
   */
  readonly isPassing?: boolean;
}

/** Length of the records that are not copied where a scan is passing. */
export const PASSING_BYTES_MAX = 64 * 1024;

/** A node that a scan found. */
export interface ScanRow {
  /** Its position in the source: the cursor behind which another scan of the same source goes on. */
  readonly position: string;
  readonly id: string;
  readonly record: NodeRecord;
  /** Whether the node has children, where that was looked up before, see {@link ScanRequest.isPassing}. */
  readonly hasChildren?: boolean | undefined;
}

/**
 * Places read in the first part of a scan, and in later ones: an answer that ends after some rows needs few, a long scan
 * many. Where the number of places is given, all of them are needed.
 */
const FIRST_PART = 16;
const PART_MAX = 256;

/** Places that are counted by their keys between two pauses: one costs less than half a microsecond. */
const COUNTED_MAX = 4_096;

/** Places that are passed without a pause where their rows are taken or left out in place: some tenths of a millisecond. */
const PASSED_PER_STEP = 32;

/** Estimated nanoseconds of work of conditions after which the next place waits. */
const STEP_WORK = 500_000;

/** A row that was taken where it is stored. */
const taken = Symbol('taken');

/**
 * Places up to which all nodes at a revision are read with their versions: it costs less than to learn which nodes of the
 * workspace changed since.
 */
const SHORT_PLACES = 1_000;

/**
 * Reads the nodes of a source in its order, at the head or at a revision. Every read of many nodes goes through here.
 *
 * The revision decides what is seen, not a snapshot of the store: a scan may stop anywhere and be continued later behind
 * the position of its last row, at the same revision, and shows each node once.
 *
 * The cost follows the places that are passed: some microseconds for each whose node is read, less for those that are
 * skipped.
 *
 * @returns yields rows, and undefined where the work may pause; no range of the store is open then. Returns the position
 *   of the last place where `placesMax` ended it before the end of the source
 * @throws {ServiceError} `DATA_CORRUPTED`
 */
export function* scan(
  moment: Moment,
  request: ScanRequest,
): Generator<ScanRow | undefined, string | undefined> {
  const { predicate, scope, source } = request;
  if (scope.isNone || isTypeHidden(source, scope)) return undefined;
  const filter = rowFilter(scope, predicate, request.budget);
  const isShort = (request.placesMax ?? Number.POSITIVE_INFINITY) <= SHORT_PLACES && moment.at !== undefined;
  if (source.kind !== 'nodes' || isShort) return yield* scanPlaces(moment, request, filter);
  const end = yield* scanNodes(moment, { ...request, workspace: source.workspace }, filter);
  return typeof end === 'object' ? yield* scanPlaces(moment, { ...request, ...end }, filter) : end;
}

/** Rows at the places of a source. The parameters and results are those of {@link scan}. */
function* scanPlaces(
  moment: Moment,
  request: ScanRequest,
  filter: RowPredicate | undefined,
): Generator<ScanRow | undefined, string | undefined> {
  const { budget, isFull, placesMax = Number.POSITIVE_INFINITY, reverse = false, scope, source } = request;
  const isPassing = request.isPassing === true;
  const places = placesOf(moment, source, scope, request.budget);
  const countsKeys = filter === undefined;
  const view = new RecordView();
  let skip = request.skip ?? 0;
  let left = request.limit ?? Number.POSITIVE_INFINITY;
  let { after } = request;
  let passed = 0;
  const unpausedMax = request.placesMax === undefined ? PASSED_PER_STEP : 1;
  let unpaused = 0;
  let pausedAt = budget?.work ?? 0;
  let last: string | undefined;
  const first = request.placesMax === undefined ? FIRST_PART : PART_MAX;
  for (let most = first; left > 0; most = Math.min(2 * most, PART_MAX)) {
    // One place more than may be passed tells whether the source ends there.
    const wanted = Math.min(most, countsKeys ? skip + left : most, placesMax - passed + 1);
    const part = yield* places.part({ after, reverse, most: wanted });
    const parents = isPassing && source.kind === 'children' ? parentsAmong(moment, source, part) : undefined;
    for (const place of part.places) {
      if (passed === placesMax) return last;
      passed += 1;
      last = place.position;
      if (skip > 0 && countsKeys && !mayLack(moment, source, place)) {
        skip -= 1;
        continue;
      }
      // Nothing is read between the record and its answer.
      const hasChildren = isPassing
        ? (place.hasChildren ?? parents?.has(place.id) ?? isParent(moment, source, place))
        : undefined;
      const takes = skip > 0 ? undefined : request.takes;
      const found = yield* matchAt(moment, source, places, place, { filter, isPassing, takes, view });
      const isMatch =
        found !== undefined && (found === taken || place.isLoose !== true || (yield* isOf(places, found)));
      if (isMatch && skip === 0) {
        if (found !== taken) {
          yield { position: place.position, id: place.id, record: found, hasChildren };
          unpaused = 0;
        }
        left -= 1;
        if (left === 0) return undefined;
      } else if (isMatch) skip -= 1;
      unpaused += 1;
      const isDue = unpaused >= unpausedMax || (budget !== undefined && budget.work - pausedAt >= STEP_WORK);
      if (!isDue && isFull?.() !== true) continue;
      unpaused = 0;
      pausedAt = budget?.work ?? 0;
      moment.rest();
      yield undefined;
    }
    if (part.next === undefined) return undefined;
    after = part.next;
    moment.rest();
    yield undefined;
  }
  return undefined;
}

/**
 * Number of places of a source, by keys: at most so many nodes are found by a scan of it.
 *
 * @param most the count ends above it
 * @returns yields where the work may pause
 */
export function* countPlaces(
  moment: Moment,
  source: ScanSource,
  most: number = Number.POSITIVE_INFINITY,
): Generator<undefined, number> {
  const places = placesOf(moment, source, wholeScope);
  let count = 0;
  let after: string | undefined;
  do {
    const part: CountedPart = yield* countedPart(places, after, Math.max(Math.floor(most) + 1 - count, 1));
    count += part.count;
    after = part.next;
    moment.rest();
    yield undefined;
  } while (after !== undefined && count <= most);
  return count;
}

/** @param most places that are counted, at least one */
function* countedPart(
  places: PlaceSource,
  after: string | undefined,
  most: number,
): Generator<undefined, CountedPart> {
  const counted = places.countPart?.({ after, most: Math.min(COUNTED_MAX, most) });
  if (counted !== undefined) return counted;
  const part = yield* places.part({ after, reverse: false, most: Math.min(PART_MAX, most) });
  const isLoose = part.places.some((place) => place.isLoose === true);
  const { length: count } = part.places;
  return part.next === undefined ? { count, isLoose } : { count, isLoose, next: part.next };
}

/**
 * Number of nodes of a source for which a condition holds that holds for every node of it in its present state. Only nodes
 * that have changed since are read.
 *
 * @param holds absent: for every state
 * @returns undefined when places have to be compared to know which nodes they are of. Yields where the work may pause
 */
export function* countNodes(
  moment: Moment,
  source: ScanSource,
  holds?: (record: NodeRecord) => boolean,
): Generator<undefined, number | undefined> {
  if (holds === undefined || moment.at === undefined) return yield* countAll(moment, source);
  let count = 0;
  for (const part of partsOf(moment, source)) {
    for (const place of part?.places ?? []) {
      if (mayLack(moment, source, place)) return undefined;
      if (part?.changed?.has(place.id) === false) {
        count += 1;
        continue;
      }
      const record = yield* recordAt(moment, source.workspace, place, false);
      if (record !== undefined && holds(record)) count += 1;
      moment.rest();
      yield undefined;
    }
    moment.rest();
    yield undefined;
  }
  return count;
}

/** Number of nodes of a source, in any state. @returns as {@link countNodes} */
function* countAll(moment: Moment, source: ScanSource): Generator<undefined, number | undefined> {
  if (isWider(moment, source)) return undefined;
  const places = placesOf(moment, source, wholeScope);
  let count = 0;
  let after: string | undefined;
  do {
    const part: CountedPart = yield* countedPart(places, after, COUNTED_MAX);
    if (part.isLoose) return undefined;
    count += part.count;
    after = part.next;
    moment.rest();
    yield undefined;
  } while (after !== undefined);
  return count;
}

/** The parts of a source; undefined where the work may pause. */
function* partsOf(moment: Moment, source: ScanSource): Generator<PlacePart | undefined, void> {
  const places = placesOf(moment, source, wholeScope);
  let after: string | undefined;
  do {
    const part: PlacePart = yield* places.part({ after, reverse: false, most: PART_MAX });
    yield part;
    after = part.next;
  } while (after !== undefined);
}

/**
 * Number of nodes that a scan of a source at this moment looks at because they changed since. Undefined when they are too
 * many or an index lacks nodes: then it reads all nodes of the type or of the workspace and, for an order that is not
 * theirs, keeps the places of those that it finds and sorts them.
 *
 * @returns yields where the work may pause
 */
export function changedFor(moment: Moment, source: ScanSource): Generator<undefined, number | undefined> {
  const places = placesOf(moment, source, wholeScope);
  assert(places instanceof OverlaidPlaces, `nodes of ${source.kind} are not found by an index`);
  return places.changedCount();
}

/**
 * The ids of the nodes of a source in its order, by its places alone: no node is read. At a revision a source of all nodes
 * or of one type also has some of nodes that were in it at other revisions.
 *
 * @returns yields undefined where the work may pause
 */
export function* scanIds(moment: Moment, source: ScanSource): Generator<string | undefined, void> {
  const places = placesOf(moment, source, wholeScope);
  let after: string | undefined;
  for (let most = FIRST_PART; ; most = Math.min(2 * most, PART_MAX)) {
    const part = yield* places.part({ after, reverse: false, most });
    moment.rest();
    for (const { id } of part.places) yield id;
    if (part.next === undefined) return;
    after = part.next;
    yield undefined;
  }
}

/** Whether a source has nodes of one type only, and that is not in the scope. */
function isTypeHidden(source: ScanSource, { nodeTypes }: ReadScope): boolean {
  if (!('nodeType' in source) || source.nodeType === undefined || nodeTypes === undefined) return false;
  return !nodeTypes.has(source.nodeType);
}

function placesOf(
  moment: Moment,
  source: ScanSource,
  { tops }: ReadScope,
  budget?: RequestBudget,
): PlaceSource {
  const { workspace } = source;
  switch (source.kind) {
    case 'nodes':
      return new NodePlaces(moment, workspace);
    case 'children':
      return new ChildPlaces(moment, workspace, source.parentId);
    case 'subtree':
      return new SubtreePlaces(moment, workspace, source.topId);
    case 'paths': {
      const selection = { ...source, tops, budget };
      if (source.nodeType === undefined) return new PathPlaces(moment, selection);
      return new OverlaidPlaces(moment, new TypePlaces(moment, selection), budget);
    }
    case 'index':
      return new OverlaidPlaces(moment, new IndexPlaces(moment, source, budget), budget);
    case 'unique':
      return new OverlaidPlaces(moment, new UniquePlaces(moment, source, budget), budget);
    case 'references':
      return new OverlaidPlaces(moment, new ReferencePlaces(moment, source), budget);
  }
}

/** What a place is looked at with. */
interface PlaceMeans {
  /** See {@link ScanRequest.takes}. */
  readonly takes: RowPredicate | undefined;
  readonly filter: RowPredicate | undefined;
  readonly isPassing: boolean;
  /** Is moved to the row. */
  readonly view: RecordView;
}

/**
 * The node at a place if it passes a filter. At the head one that does not is neither copied nor verified. A large one is read
 * in steps.
 *
 * @returns undefined also when there was none at the revision
 */
function* matchAt(
  moment: Moment,
  source: ScanSource,
  places: PlaceSource,
  place: Place,
  { filter, isPassing, takes, view }: PlaceMeans,
): Generator<undefined, NodeRecord | typeof taken | undefined> {
  const { workspace } = source;
  const { tree } = moment;
  const past = tree instanceof PastNodeReader ? tree : undefined;
  const isPeeked = past === undefined || past.decidesInPlace;
  let isNewer = false;
  if (place.present === undefined && isPeeked) {
    const stored = (past ?? (tree as HeadNodeReader)).peekStored(workspace, place.id);
    if (stored instanceof Buffer) {
      view.point(stored, stored.length);
      isNewer = past?.isDecidedByKey(view.sinceKey()) === false;
      if (!isNewer) {
        if (filter !== undefined && !filter(view)) return undefined;
        if (place.parentId !== undefined) requireChild(view, place);
        const isListed = place.isLoose !== true || places.hasInPlace?.(view);
        if (isListed === false) return undefined;
        if (isListed === true && takes?.(view) === true) return taken;
        const isInPlace = isPassing && past === undefined && stored.length < PASSING_BYTES_MAX;
        return isInPlace ? new NodeRecord(stored) : view.record();
      }
    }
  }
  const record = yield* recordAt(moment, workspace, place, isNewer);
  const isThere = record !== undefined || mayLack(moment, source, place);
  assert(isThere, `node ${place.id} is listed but not stored`);
  if (record === undefined || (filter === undefined && place.parentId === undefined)) return record;
  view.point(record.bytes, record.bytes.length);
  if (filter !== undefined && !filter(view)) return undefined;
  if (place.parentId !== undefined) requireChild(view, place);
  return record;
}

/** @throws {ServiceError} `DATA_CORRUPTED` where a damaged row of a list of children names another node */
function requireChild(view: RecordView, place: Place): void {
  const { position } = place;
  const orderKey = view.column(Column.orderKey) as string;
  const parentId = view.column(Column.parentId);
  const isThere = position === orderKey || position.endsWith(END + orderKey);
  if (isThere && parentId === place.parentId) return;
  throw new ServiceError(
    'DATA_CORRUPTED',
    'A list of children names a node that is not one of them; restore it from a backup',
  );
}

/** Whether a place need not have a node of the source. */
function mayLack(moment: Moment, source: ScanSource, { isLoose }: Place): boolean {
  return isLoose === true || isWider(moment, source);
}

/** Whether a source has places of nodes that are not there at the moment. */
function isWider({ at }: Moment, { kind }: ScanSource): boolean {
  // The ids of a workspace are those of all revisions.
  return kind === 'nodes' && at !== undefined;
}

/**
 * The node at a place. A large one is read in steps.
 *
 * @param isNewer whether the present row is known to be newer than the revision
 * @returns undefined when there was none at the revision
 */
function* recordAt(
  moment: Moment,
  workspace: string,
  { id, present }: Place,
  isNewer: boolean,
): Generator<undefined, NodeRecord | undefined> {
  const { tree } = moment;
  if (isNewer && tree instanceof PastNodeReader) {
    const found = tree.quickBehind(undefined, workspace, id);
    if (!(found instanceof LargeValue)) return found;
  } else if (present instanceof Uint8Array) {
    const record = new NodeRecord(present);
    if (!(tree instanceof PastNodeReader) || tree.isDecidedBy(record)) return record;
    const found = tree.quickBehind(record, workspace, id);
    if (!(found instanceof LargeValue)) return found;
  } else {
    const found = tree.quickById(workspace, id);
    if (!(found instanceof LargeValue)) return found;
  }
  return yield* moment.tree.byIdInSteps(workspace, id);
}

/** Those of the nodes at some places that have children. */
function parentsAmong(
  { tree }: Moment,
  { workspace }: ScanSource,
  { places }: PlacePart,
): ReadonlySet<string> {
  return tree.parentsAmong(
    workspace,
    places.map(({ id }) => id),
  );
}

function isParent({ tree }: Moment, { workspace }: ScanSource, { id }: Place): boolean | undefined {
  return tree instanceof HeadNodeReader ? tree.hasChildren(workspace, id) : undefined;
}
