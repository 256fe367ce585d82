import { isInScope, type ReadScope, wholeScope } from '#runtime/access/policy.ts';
import { assert } from '#runtime/base/assert.ts';
import type { RequestBudget } from '#runtime/budget/request-budget.ts';
import { LargeValue } from '#runtime/shard/large-value.ts';
import { NodeRecord } from '#runtime/tree/record/node-record.ts';
import { HeadNodeReader } from '#runtime/tree/node-reader.ts';
import { PastNodeReader } from '#runtime/tree/past-node-reader.ts';
import type { Moment } from './moment.ts';
import { NodePlaces } from './node-places.ts';
import { PathPlaces } from './path-places.ts';
import type { Place, PlacePart, PlaceSource } from './places.ts';
import { ChildPlaces, SubtreePlaces } from './tree-places.ts';

/**
 * An ordered list of nodes of a workspace:
 *
 * | Kind | Nodes | Order and position |
 * |---|---|---|
 * | `nodes` | all | id |
 * | `children` | the children of a node | editorial order; order key |
 * | `subtree` | the descendants of a node | document order; order keys |
 * | `paths` | the descendants of a node or only its children, of one type or of all | path, by bytes |
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
    };

/** One scan. */
export interface ScanRequest {
  readonly source: ScanSource;
  /** From the last row to the first. */
  readonly reverse?: boolean;
  /** Only rows behind this position, in the direction of the scan. */
  readonly after?: string | undefined;
  /** The nodes that the caller may read; the others are not counted in anything. */
  readonly scope: ReadScope;
  /** Only rows for which it holds; absent: all. It must not wait. */
  readonly predicate?: (row: ScanRow) => boolean;
  /** Number of rows to leave out first. Without a predicate and a scope their nodes are not read. */
  readonly skip?: number;
  /** The most rows to return. */
  readonly limit?: number;
  /** Counts what the scan keeps in memory; absent: nothing does. */
  readonly budget?: RequestBudget;
  /** The most places to pass, so that a scan that finds nothing is no longer than another. */
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
  const { placesMax = Number.POSITIVE_INFINITY, predicate, reverse = false, scope, source } = request;
  const isPassing = request.isPassing === true;
  if (scope.isNone || isTypeHidden(source, scope)) return undefined;
  const places = placesOf(moment, source, scope, request.budget);
  const countsKeys = scope.isAll && predicate === undefined;
  let skip = request.skip ?? 0;
  let left = request.limit ?? Number.POSITIVE_INFINITY;
  let { after } = request;
  let passed = 0;
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
      if (skip > 0 && countsKeys && moment.at === undefined) {
        skip -= 1;
        continue;
      }
      // Nothing is read between the record and its answer.
      const hasChildren = isPassing ? (parents?.has(place.id) ?? isParent(moment, source, place)) : undefined;
      const passing = isPassing ? passingRecord(moment, source, place) : undefined;
      const record = passing ?? (yield* recordAt(moment, source.workspace, place));
      // Only the ids of a workspace are those of all revisions.
      const mayLack = source.kind === 'nodes' && moment.at !== undefined;
      assert(record !== undefined || mayLack, `node ${place.id} is listed but not stored`);
      const isFound = record !== undefined && (moment.at === undefined || places.has?.(record) !== false);
      const isReadable = isFound && isReadableIn(scope, place.id, record);
      const row = isReadable ? { position: place.position, id: place.id, record, hasChildren } : undefined;
      const isMatch = row !== undefined && (predicate === undefined || predicate(row));
      if (!isMatch || skip > 0) {
        if (isMatch) skip -= 1;
        yield undefined;
        continue;
      }
      yield row;
      left -= 1;
      if (left === 0) return undefined;
    }
    if (part.next === undefined) return undefined;
    after = part.next;
    yield undefined;
  }
  return undefined;
}

/**
 * Number of nodes of a source at the head, by its places alone: no node is read.
 *
 * @returns yields where the work may pause
 */
export function* countPlaces(moment: Moment, source: ScanSource): Generator<undefined, number> {
  assert(moment.at === undefined, 'at a revision a place need not have a node');
  const places = placesOf(moment, source, wholeScope);
  let count = 0;
  let after: string | undefined;
  do {
    const part = yield* places.part({ after, reverse: false, most: PART_MAX });
    count += part.places.length;
    after = part.next;
    yield undefined;
  } while (after !== undefined);
  return count;
}

/** Whether a source has nodes of one type only, and that is not in the scope. */
function isTypeHidden(source: ScanSource, { nodeTypes }: ReadScope): boolean {
  if (source.kind !== 'paths' || source.nodeType === undefined || nodeTypes === undefined) return false;
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
    case 'paths':
      return new PathPlaces(moment, { ...source, tops, budget });
  }
}

/** The node at a place. A large one is read in steps. @returns undefined when there was none at the revision */
function* recordAt(
  moment: Moment,
  workspace: string,
  { id, present }: Place,
): Generator<undefined, NodeRecord | undefined> {
  const { tree } = moment;
  if (present instanceof Uint8Array) {
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

/** Those of the nodes at some places that have children; undefined where that has to be looked up for each. */
function parentsAmong(
  { tree }: Moment,
  { workspace }: ScanSource,
  { places }: PlacePart,
): ReadonlySet<string> | undefined {
  if (!(tree instanceof HeadNodeReader)) return undefined;
  return tree.parentsAmong(
    workspace,
    places.map(({ id }) => id),
  );
}

function isParent({ tree }: Moment, { workspace }: ScanSource, { id }: Place): boolean | undefined {
  return tree instanceof HeadNodeReader ? tree.hasChildren(workspace, id) : undefined;
}

/** The node at a place, see {@link ScanRequest.isPassing}; undefined when it has to be copied. */
function passingRecord(
  { tree }: Moment,
  { workspace }: ScanSource,
  { id, present }: Place,
): NodeRecord | undefined {
  if (present !== undefined || !(tree instanceof HeadNodeReader)) return undefined;
  const found = tree.peekById(workspace, id);
  return found instanceof NodeRecord && found.bytes.length < PASSING_BYTES_MAX ? found : undefined;
}

function isReadableIn(scope: ReadScope, id: string, record: NodeRecord): boolean {
  if (scope.isAll) return true;
  const { nodeType, path } = record;
  return isInScope(scope, { id, nodeType, path });
}
