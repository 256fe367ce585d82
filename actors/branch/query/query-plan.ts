import { ROOT_ID } from '#runtime/content/content-node.ts';
import { isNodeTypeName } from '#runtime/content/definitions/type-name.ts';
import type { ScanSource } from '#runtime/scan/scan.ts';
import { nodesIn } from '#runtime/scan/changed-nodes.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { type IndexFields, readTypeCount } from '#runtime/tree/index-catalog.ts';
import { propertiesOf } from '#runtime/tree/index-name.ts';
import { indexSize } from '#runtime/tree/index-statistics.ts';
import { parentEntry } from '#runtime/tree/node-reader.ts';
import type { NodeRecord } from '#runtime/tree/record/node-record.ts';
import type { VisibleNodes } from '../reads/visible-nodes.ts';
import type { Condition, DslQuery, Term } from './dsl-filter.ts';
import { commonIndexes, type IndexUse, indexUses } from './index-source.ts';

/** Reading a key costs about an eighth of reading a node. */
const KEYS_PER_NODE = 8;

/** Indexes that are looked at between two pauses: for each, all types of the workspace are. */
const INDEXES_PER_STEP = 3;

/** Rows of nodes that are looked at one after the other cost as much as a look-up of one. */
const ROWS_PER_LOOK_UP = 3;

type RootSource = Extract<ScanSource, { readonly kind: 'paths' }>;

/** Where the nodes of a query come from. Each of them is compared with the filter, unless all match. */
export type QueryPlan =
  | {
      /** All nodes of the source match, and are in the order of the answer. */
      readonly kind: 'matches';
      /** Undefined: there are none. */
      readonly source: ScanSource | undefined;
      /** Number of matches, if it is known. */
      readonly total: number | undefined;
    }
  | {
      readonly kind: 'candidates';
      readonly source: ScanSource;
      readonly isInPathOrder: boolean;
      /** A source in no useful order that has the same nodes and others, and still costs less to look at. */
      readonly unordered?: ScanSource;
    }
  | {
      /** Nodes in the order of the first fields to sort by. */
      readonly kind: 'sorted';
      readonly use: IndexUse;
      readonly total: number | undefined;
    };

/** An index that may serve the query, and what a walk over it costs. */
interface Walk {
  readonly use: IndexUse;
  /** Nodes that changed since the revision that is read. */
  readonly changed: number;
}

/**
 * Chooses the cheapest source that has all matches. Costs are estimated from the counters of the head, also for a query
 * at a revision.
 *
 * @returns yields undefined where the work may pause
 */
export function* planQuery(
  reader: TableReader,
  nodes: VisibleNodes,
  { filter, order, window }: DslQuery,
): Generator<undefined, QueryPlan> {
  const { isPast, workspace } = nodes;
  const rootCount = rootCountIn(reader, workspace);
  const terms = conjunction(filter);
  const typeTerm = terms.find(isTypeTerm);
  const nodeType = typeTerm === undefined ? undefined : typeOf(typeTerm);
  const catalog =
    nodeType !== undefined && isNodeTypeName(nodeType)
      ? readTypeCount(reader, workspace, nodeType)
      : undefined;
  const isNone = nodeType !== undefined && (!isNodeTypeName(nodeType) || (catalog === undefined && !isPast));
  if (isNone) return { kind: 'matches', source: undefined, total: 0 };

  const counts = new MatchCount(reader, nodes, filter, typeTerm, isPast ? undefined : rootCount);
  const ofType: RootSource = { kind: 'paths', workspace, isChildren: true, nodeType };
  if (counts.isTypeAlone && order.length === 0) {
    const isWhole = window.limit === null && window.offset === 0;
    return { kind: 'matches', source: ofType, total: isWhole ? undefined : yield* counts.ofSource(ofType) };
  }

  const fields = nodeType === undefined ? commonIndexes(reader, workspace) : catalog?.fields;
  const walks: Walk[] = [];
  let indexes = 0;
  const usable = fields === undefined ? undefined : withoutHidden(fields, nodes);
  for (const use of usable === undefined ? [] : indexUses({ workspace, nodeType, terms, order }, usable)) {
    const changed = yield* nodes.changedFor(use.source);
    if (changed !== undefined) walks.push({ use, changed });
    indexes += 1;
    if (indexes % INDEXES_PER_STEP === 0) yield undefined;
  }
  let least = Math.min(rootCount, catalog?.count ?? rootCount);
  let smallest: Walk | undefined;
  for (const walk of walks) {
    if (!walk.use.isNarrowed) continue;
    const count = walk.changed + (yield* nodes.countPlaces(walk.use.source, least - walk.changed));
    if (count > least) continue;
    least = count;
    smallest = walk;
  }
  const total = window.limit === null ? undefined : yield* counts.total(ofType, walks);
  const share =
    total === undefined || total === 0 ? 1 : Math.min((window.offset + (window.limit ?? total)) / total, 1);
  const sorted = bestSorted(walks);
  const known = sorted !== undefined && counts.isWhole(sorted) ? total : undefined;
  if (sorted !== undefined && (yield* walkCost(reader, nodes, sorted, share, least, known)) <= least)
    return { kind: 'sorted', use: sorted.use, total };
  if (smallest !== undefined)
    return { kind: 'candidates', source: smallest.use.source, isInPathOrder: false };
  const isSmallType = nodeType !== undefined && (catalog?.count ?? 0) <= rootCount * KEYS_PER_NODE;
  const source = isSmallType ? ofType : { ...ofType, nodeType: undefined };
  const looked = isSmallType ? (catalog?.count ?? 0) : rootCount;
  const isAllCheaper = nodesIn(reader, workspace) <= looked * ROWS_PER_LOOK_UP;
  const unordered = isAllCheaper ? { unordered: { kind: 'nodes', workspace } as const } : {};
  return { kind: 'candidates', source, isInPathOrder: true, ...unordered };
}

/**
 * The indexes that have no values which are hidden from the caller in some nodes. Such a value must not decide which nodes are
 * looked at, in which order, or how long it takes.
 */
export function withoutHidden(
  fields: IndexFields,
  nodes: Pick<VisibleNodes, 'hides' | 'hidesSome'>,
): IndexFields {
  if (!nodes.hidesSome) return fields;
  const { pending, properties, uniques } = fields;
  const isUsable = (index: string): boolean => !valuesOf(index).some((name) => nodes.hides(name));
  const kept = { uniques: uniques.filter(isUsable), properties: properties.filter(isUsable) };
  if (pending === undefined) return kept;
  return { ...kept, pending: { ...pending, upgrading: pending.upgrading.filter(isUsable) } };
}

/** Columns of indexes that are no properties. */
const columnNames: ReadonlySet<string> = new Set(['__node_type', '__created_at', '__updated_at']);

/** The properties whose values are in an index. */
function valuesOf(index: string): readonly string[] {
  return propertiesOf(index).filter((name) => !columnNames.has(name));
}

/** The index that has most of the order; of several the one that has fewer rows to pass. */
function bestSorted(walks: readonly Walk[]): Walk | undefined {
  let best: Walk | undefined;
  for (const walk of walks) {
    const { isNarrowed, sorted } = walk.use;
    if (sorted === 0 || (best !== undefined && sorted < best.use.sorted)) continue;
    if (best === undefined || sorted > best.use.sorted || (isNarrowed && !best.use.isNarrowed)) best = walk;
  }
  return best;
}

/**
 * About as many nodes as a walk reads before the window is full.
 *
 * @param share of the matches that are in the window, or before it
 * @param most what matters is whether it is more
 * @param known number of rows of the walk, if it was counted
 */
function* walkCost(
  reader: TableReader,
  nodes: VisibleNodes,
  { changed, use }: Walk,
  share: number,
  most: number,
  known: number | undefined,
): Generator<undefined, number> {
  const { isNarrowed, source } = use;
  if (known !== undefined) return changed + known * share;
  const rows = isNarrowed
    ? yield* nodes.countPlaces(source, most / share)
    : indexSize(reader, nodes.workspace, source.index);
  return changed + rows * share;
}

/** Counts matches by keys, where nothing has to be read to know which nodes match. */
class MatchCount {
  /** Whether the filter asks for the nodes of one type or of all types, and for nothing else. */
  readonly isTypeAlone: boolean;
  readonly #reader: TableReader;
  readonly #nodes: VisibleNodes;
  readonly #others: readonly Term[];
  readonly #isConjunction: boolean;
  /** Number of nodes at the root; undefined at a revision. */
  readonly #rootCount: number | undefined;

  constructor(
    reader: TableReader,
    nodes: VisibleNodes,
    filter: Condition,
    typeTerm: Term | undefined,
    rootCount: number | undefined,
  ) {
    this.#reader = reader;
    this.#nodes = nodes;
    this.#others = conjunction(filter).filter((term) => term !== typeTerm);
    this.#isConjunction = !hasOtherParts(filter);
    this.#rootCount = rootCount;
    this.isTypeAlone = this.#isConjunction && this.#others.length === 0;
  }

  /** Number of matches; undefined when nodes have to be read for it. @param walks over indexes */
  *total(ofType: RootSource, walks: readonly Walk[]): Generator<undefined, number | undefined> {
    if (this.isTypeAlone) return yield* this.ofSource(ofType);
    if (!this.#isConjunction || !this.#nodes.seesAll || !this.#isFlat) return undefined;
    const all = walks.find((walk) => this.isWhole(walk));
    return all === undefined ? undefined : yield* this.#nodes.countNodes(all.use.source, isAtRoot);
  }

  /** Whether all nodes of a walk match. */
  isWhole({ use }: Walk): boolean {
    return this.#others.every((term) => use.satisfied.has(term));
  }

  /** Number of nodes at the root, of one type or of all. */
  *ofSource(source: RootSource): Generator<undefined, number | undefined> {
    if (!this.#nodes.seesAll) return undefined;
    if (source.nodeType === undefined && this.#rootCount !== undefined) return this.#rootCount;
    return yield* this.#nodes.countNodes(source);
  }

  /** Whether all nodes of the workspace are at its root at present: indexes have nodes of every depth. */
  get #isFlat(): boolean {
    const { workspace } = this.#nodes;
    return nodesIn(this.#reader, workspace) === rootCountIn(this.#reader, workspace);
  }
}

function rootCountIn(reader: TableReader, workspace: string): number {
  return parentEntry(reader, workspace, ROOT_ID)?.count ?? 0;
}

function isAtRoot({ parentId }: NodeRecord): boolean {
  return parentId === ROOT_ID;
}

/** The comparisons that every match must satisfy. */
function conjunction(filter: Condition): readonly Term[] {
  if (filter.kind === 'term') return [filter];
  return filter.kind === 'and' ? filter.parts.flatMap(conjunction) : [];
}

function hasOtherParts(filter: Condition): boolean {
  if (filter.kind === 'term') return false;
  return filter.kind === 'and' ? filter.parts.some(hasOtherParts) : true;
}

function isTypeTerm({ field, operator }: Term): boolean {
  return operator === 'eq' && field.kind === 'column' && field.name === 'node_type';
}

/** The type that a term asks for. A value that is not a text is the type of no node, and neither is the empty name. */
function typeOf(term: Term): string {
  return 'value' in term && typeof term.value === 'string' ? term.value : '';
}
