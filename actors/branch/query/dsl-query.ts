import type { TextBytes } from '#runtime/base/text/text-bytes.ts';
import type { RequestBudget } from '#runtime/budget/request-budget.ts';
import type { QueryContext } from '#runtime/commit/behaviour.ts';
import { ROOT_ID } from '#runtime/content/content-node.ts';
import { isNodeTypeName } from '#runtime/content/definitions/type-name.ts';
import type { ScanSource } from '#runtime/scan/scan.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { readTypeCount } from '#runtime/tree/index-catalog.ts';
import { indexSize } from '#runtime/tree/index-statistics.ts';
import { parentEntry } from '#runtime/tree/node-reader.ts';
import { BestMatches, type Sortable } from './best-matches.ts';
import type { BranchState } from '../branch-state.ts';
import {
  commonIndexes,
  countRows,
  type IndexedNode,
  type IndexRows,
  indexedNodes,
  narrowedIndexes,
  orderedIndex,
} from './index-source.ts';
import { type Condition, type DslQuery, parseDslQuery, type Term } from './dsl-filter.ts';
import { type FilterWeight, filterWeight, matchesInSlices } from './dsl-match.ts';
import { compareSortKeys, DslRow, keyCharacters, type SortKeys, sortKeys } from './dsl-row.ts';
import { answerText, type Piece, silently } from '../long-answer.ts';
import type { JsonAnswer, RunDslQuery } from '../messages.ts';
import { byPathThenId, type FoundNode } from './found-node.ts';
import { PageText, type QueryWindow, sourceText, windowText } from './query-page.ts';
import { type VisibleNode, VisibleNodes } from '../reads/visible-nodes.ts';

/** Reading a key costs about an eighth of reading a node. */
const KEYS_PER_NODE = 8;

/** Where the nodes come from that may match the filter. */
type Source =
  | {
      /** Visible nodes; undefined where the walk may pause. */
      readonly nodes: Iterable<VisibleNode | undefined>;
      /** Whether they are in path order. */
      readonly inPathOrder: boolean;
    }
  | {
      /** Nodes in the order of the first field to sort by; undefined where the walk may pause. */
      readonly ordered: Iterable<IndexedNode | undefined>;
      /** Number of matches, if it is known. */
      readonly total: number | undefined;
    };

/** The boolean query over the nodes at the root of a workspace. @see messages.ts, RunDslQuery */
export function runDslQuery(state: BranchState, context: QueryContext, query: RunDslQuery): JsonAnswer {
  state.workspace(query.workspace);
  const dsl = parseDslQuery(query.filter);
  return answerText(context, (reader, text) => {
    const nodes = new VisibleNodes(state, context, reader, query);
    const found = (source: Source): Generator<Piece, void> => {
      const filter = new NodeFilter(nodes, dsl);
      if ('ordered' in source) return orderedText(filter, source.ordered, source.total);
      return source.inPathOrder && dsl.order.length === 0
        ? foundText(filter, source.nodes)
        : sortedText(filter, source.nodes);
    };
    if (query.at !== undefined) return found(rootNodes(nodes));
    if (holdsForAll(dsl.filter) && dsl.order.length === 0) return allText(reader, nodes, dsl.window, text);
    return silentlyThen(sourceOf(reader, nodes, dsl), found);
  });
}

/** Runs work that yields where it may pause, then produces a text from its result. */
function* silentlyThen<T>(
  work: Generator<undefined, T>,
  then: (result: T) => Generator<Piece, void>,
): Generator<Piece, void> {
  yield* then(yield* silently(work));
}

function holdsForAll(filter: Condition): boolean {
  return filter.kind === 'and' && filter.parts.length === 0;
}

/** Every root-level node at the head. */
function allText(
  reader: TableReader,
  nodes: VisibleNodes,
  window: QueryWindow,
  text: TextBytes,
): Generator<Piece, void> {
  const total = parentEntry(reader, nodes.workspace, ROOT_ID)?.count ?? 0;
  return sourceText(nodes, rootSource(nodes), window, nodes.seesAll ? total : undefined, text);
}

/** The nodes at the root of the workspace in path order, of one type or of all. */
function rootSource({ workspace }: VisibleNodes, nodeType?: string): ScanSource {
  return { kind: 'paths', workspace, isChildren: true, nodeType };
}

function rootNodes(nodes: VisibleNodes, nodeType?: string): Source {
  return { nodes: nodes.rows(rootSource(nodes, nodeType)), inPathOrder: true };
}

/** A node that matches the filter. */
interface Match extends FoundNode, Sortable {
  readonly keys: SortKeys;
}

/** Looks up the nodes of one query and applies the filter. */
class NodeFilter {
  readonly nodes: VisibleNodes;
  readonly dsl: DslQuery;
  readonly budget: RequestBudget;
  readonly #weight: FilterWeight;

  constructor(nodes: VisibleNodes, dsl: DslQuery) {
    this.nodes = nodes;
    this.dsl = dsl;
    this.budget = nodes.budget;
    this.#weight = filterWeight(dsl.filter);
  }

  /** Collects matches in the order of the query. */
  bestMatches(window: QueryWindow): BestMatches<Match> {
    const { order } = this.dsl;
    const byOrder = (a: Match, b: Match): number =>
      compareSortKeys(order, a.keys, b.keys) || byPathThenId(a, b);
    return new BestMatches<Match>(window, byOrder, this.budget);
  }

  /** The row of a root-level node that matches the filter. */
  *find({ record }: VisibleNode): Generator<undefined, DslRow | undefined> {
    // An index has nodes of every depth.
    if (record.parentId !== ROOT_ID) return undefined;
    const row = new DslRow(record, () => this.nodes.type(record.nodeType));
    return (yield* matchesInSlices(this.dsl.filter, this.#weight, row, this.budget)) ? row : undefined;
  }

  *match(node: VisibleNode): Generator<undefined, Match | undefined> {
    const row = yield* this.find(node);
    if (row === undefined) return undefined;
    const { id, path } = node.record;
    const keys = sortKeys(this.dsl.order, row);
    return { id, path, keys, characters: id.length + path.length + keyCharacters(keys) };
  }
}

/** The candidates that match the filter, in the order of the candidates: none is kept in memory. */
function* foundText(
  filter: NodeFilter,
  candidates: Iterable<VisibleNode | undefined>,
): Generator<Piece, void> {
  const page = new PageText(filter.dsl.window);
  for (const node of candidates) {
    const isMatch = node !== undefined && (yield* silently(filter.find(node))) !== undefined;
    if (isMatch) yield* page.next(filter.nodes, node);
    else yield '';
  }
  yield page.end();
}

/** The candidates that match the filter, in the requested order; those in the window are read again. */
function* sortedText(
  filter: NodeFilter,
  candidates: Iterable<VisibleNode | undefined>,
): Generator<Piece, void> {
  const { nodes, dsl } = filter;
  const best = filter.bestMatches(dsl.window);
  try {
    for (const node of candidates) {
      const match = node === undefined ? undefined : yield* silently(filter.match(node));
      if (match !== undefined) yield* silently(best.add(match));
      yield '';
    }
    const sorted = yield* silently(best.sorted());
    yield* windowText(nodes, sorted, dsl.window, best.count);
  } finally {
    best.close();
  }
}

/**
 * The candidates that match the filter, from an index that has them in the order of the first field. Only nodes whose
 * values it does not tell apart are sorted.
 *
 * @param total number of matches, if it is known: then the walk ends with the window
 */
function* orderedText(
  filter: NodeFilter,
  ordered: Iterable<IndexedNode | undefined>,
  total: number | undefined,
): Generator<Piece, void> {
  const page = new PageText(filter.dsl.window);
  let group: OrderedGroup | undefined;
  try {
    for (const candidate of ordered) {
      if (candidate !== undefined) {
        if (group === undefined || group.part !== candidate.part) {
          if (group !== undefined) yield* group.text(page);
          if (total !== undefined && page.isFull) break;
          group = new OrderedGroup(filter, candidate.part, page.left);
        }
        yield* silently(group.add(candidate.id));
      }
      yield '';
    }
    if (group !== undefined) yield* group.text(page);
    yield page.end(total);
  } finally {
    group?.close();
  }
}

/** Matches whose first values are equal, or not told apart by their keys. */
class OrderedGroup {
  readonly part: string;
  readonly #filter: NodeFilter;
  readonly #best: BestMatches<Match>;

  /** @param most matches that may be shown */
  constructor(filter: NodeFilter, part: string, most: number | null) {
    this.#filter = filter;
    this.part = part;
    this.#best = filter.bestMatches({ limit: most, offset: 0 });
  }

  /** Adds a node if it matches. */
  *add(id: string): Generator<undefined, void> {
    const node = yield* this.#filter.nodes.read(id);
    const match = node === undefined ? undefined : yield* this.#filter.match(node);
    if (match !== undefined) yield* this.#best.add(match);
  }

  /** The text of the matches; nothing may be added after it. */
  *text(page: PageText): Generator<Piece, void> {
    const sorted = yield* silently(this.#best.sorted());
    for (const { id } of sorted) {
      if (!page.isInside) {
        page.pass(1);
        continue;
      }
      const node = yield* silently(this.#filter.nodes.read(id));
      if (node !== undefined) yield* page.next(this.#filter.nodes, node);
    }
    page.pass(this.#best.count - sorted.length);
    this.#best.close();
  }

  close(): void {
    this.#best.close();
  }
}

/**
 * The cheapest source that has all nodes that may match the filter. Every node is then compared with the filter.
 *
 * @returns yields undefined where the work may pause
 */
function* sourceOf(
  reader: TableReader,
  nodes: VisibleNodes,
  { filter, order, window }: DslQuery,
): Generator<undefined, Source> {
  const { workspace } = nodes;
  const rootCount = parentEntry(reader, workspace, ROOT_ID)?.count ?? 0;
  const terms = conjunction(filter);
  const nodeType = wantedType(terms);
  const catalog =
    nodeType !== undefined && isNodeTypeName(nodeType)
      ? readTypeCount(reader, workspace, nodeType)
      : undefined;
  if (nodeType !== undefined && catalog === undefined) return { nodes: [], inPathOrder: true };

  const fields = catalog?.fields ?? commonIndexes(reader, workspace);
  const narrowed = narrowedIndexes(terms, fields);
  const ordered = orderedIndex(order, fields, narrowed);
  const isDescending = order[0]?.descending === true;
  if (ordered !== undefined && window.limit !== null && nodes.seesAll && isTypeAlone(filter)) {
    const total = nodeType === undefined ? rootCount : yield* nodes.count(rootSource(nodes, nodeType));
    // About so many rows are read before the window is full.
    const rows = indexSize(reader, workspace, ordered.index);
    if (rows * Math.min((window.offset + window.limit) / total, 1) <= total)
      return { ordered: indexedNodes(reader, workspace, ordered, isDescending), total };
  }
  let least = Math.min(rootCount, catalog?.count ?? rootCount);
  let smallest: IndexRows | undefined;
  for (const rows of narrowed) {
    const count = yield* countRows(reader, workspace, rows, least);
    if (count > least) continue;
    least = count;
    smallest = rows;
  }
  if (ordered !== undefined && (yield* isCheap(reader, workspace, ordered, narrowed, least)))
    return { ordered: indexedNodes(reader, workspace, ordered, isDescending), total: undefined };
  if (smallest !== undefined) return { nodes: indexedVisible(reader, nodes, smallest), inPathOrder: false };
  const isSmallType = catalog !== undefined && catalog.count <= rootCount * KEYS_PER_NODE;
  return rootNodes(nodes, isSmallType ? nodeType : undefined);
}

/** Whether an index with the order has no more rows than the smallest source. */
function* isCheap(
  reader: TableReader,
  workspace: string,
  ordered: IndexRows,
  narrowed: readonly IndexRows[],
  least: number,
): Generator<undefined, boolean> {
  if (!narrowed.includes(ordered)) return indexSize(reader, workspace, ordered.index) <= least;
  return (yield* countRows(reader, workspace, ordered, least)) <= least;
}

/** Whether a filter asks for the nodes of one type or of all types, and nothing else. */
function isTypeAlone(filter: Condition): boolean {
  const terms = conjunction(filter);
  const isOnlyType = terms.length === 0 || (terms.length === 1 && wantedType(terms) !== undefined);
  return isOnlyType && !hasOtherParts(filter);
}

function hasOtherParts(filter: Condition): boolean {
  if (filter.kind === 'term') return false;
  return filter.kind === 'and' ? filter.parts.some(hasOtherParts) : true;
}

/** The visible nodes of rows of an index. */
function* indexedVisible(
  reader: TableReader,
  nodes: VisibleNodes,
  rows: IndexRows,
): Generator<VisibleNode | undefined, void> {
  for (const indexed of indexedNodes(reader, nodes.workspace, rows, false))
    yield indexed === undefined ? undefined : yield* nodes.read(indexed.id);
}

/** The comparisons that every match must satisfy. */
function conjunction(filter: Condition): readonly Term[] {
  if (filter.kind === 'term') return [filter];
  return filter.kind === 'and' ? filter.parts.flatMap(conjunction) : [];
}

function wantedType(terms: readonly Term[]): string | undefined {
  for (const term of terms) {
    const { field } = term;
    if (term.operator !== 'eq' || field.kind !== 'column' || field.name !== 'node_type') continue;
    // A value that is not a text is the type of no node, and neither is the empty name.
    return typeof term.value === 'string' ? term.value : '';
  }
  return undefined;
}
