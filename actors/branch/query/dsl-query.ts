import type { RequestBudget } from '#runtime/budget/request-budget.ts';
import type { QueryContext } from '#runtime/commit/behaviour.ts';
import { ROOT_ID } from '#runtime/content/content-node.ts';
import { isNodeTypeName } from '#runtime/content/definitions/type-name.ts';
import { type KeyRange, keyRanges } from '#runtime/index/key-range.ts';
import { BranchTable, propertyPrefix, readPropertyKey } from '#runtime/shard/key-layout.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { findsEqual, type IndexFields, readTypeCount } from '#runtime/tree/index-catalog.ts';
import { parentEntry } from '#runtime/tree/node-reader.ts';
import { rowsInBatches } from '#runtime/shard/rows-in-batches.ts';
import { childrenInBatches } from '../reads/batched-rows.ts';
import { BestMatches, type Sortable } from './best-matches.ts';
import type { BranchState } from '../branch-state.ts';
import { type Condition, type DslQuery, parseDslQuery, type Term } from './dsl-filter.ts';
import { type FilterWeight, filterWeight, matchesInSlices } from './dsl-match.ts';
import { compareSortKeys, DslRow, keyCharacters, type SortKeys, sortKeys } from './dsl-row.ts';
import { answerText, type Piece, silently } from '../long-answer.ts';
import type { JsonAnswer, RunDslQuery } from '../messages.ts';
import {
  byPathThenId,
  childrenByPath,
  type FoundNode,
  isRootLevel,
  nodesOfType,
} from '../reads/path-order.ts';
import { PageText, type QueryWindow, windowText } from './query-page.ts';
import { rootPlace } from '../reads/require-parent.ts';
import { UnreadNode, type VisibleNode, VisibleNodes } from '../reads/visible-nodes.ts';

/** Reading a key costs about an eighth of reading a node. */
const KEYS_PER_NODE = 8;

/** Ids of nodes that may match the filter; undefined where the walk may pause. */
interface Candidates {
  readonly ids: Iterable<string | undefined>;
  /** Whether the ids are in path order. */
  readonly inPathOrder: boolean;
}

/** The boolean query over the nodes at the root of a workspace. @see messages.ts, RunDslQuery */
export function runDslQuery(state: BranchState, context: QueryContext, query: RunDslQuery): JsonAnswer {
  state.workspace(query.workspace);
  const dsl = parseDslQuery(query.filter);
  return answerText(context, (reader) => {
    const nodes = new VisibleNodes(state, context, reader, query);
    const found = (source: Candidates): Generator<Piece, void> => {
      const filter = new NodeFilter(nodes, dsl);
      return source.inPathOrder && dsl.order.length === 0
        ? foundText(filter, source.ids)
        : sortedText(filter, source.ids);
    };
    if (query.at !== undefined) return found({ ids: rootChildren(nodes), inPathOrder: false });
    if (holdsForAll(dsl.filter) && dsl.order.length === 0) return allText(reader, nodes, dsl.window);
    return silentlyThen(candidates(reader, nodes.workspace, dsl.filter, nodes.budget), found);
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
function allText(reader: TableReader, nodes: VisibleNodes, window: QueryWindow): Generator<Piece, void> {
  const total = parentEntry(reader, nodes.workspace, ROOT_ID)?.count ?? 0;
  const found = childrenByPath(reader, nodes.workspace, rootPlace, nodes.budget);
  return windowText(nodes, found, window, nodes.seesAll ? total : undefined);
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

  /** A visible root-level node that matches the filter. */
  *find(id: string): Generator<undefined, { node: VisibleNode; row: DslRow } | undefined> {
    const found = this.nodes.find(id);
    const node = found instanceof UnreadNode ? yield* this.nodes.readInSteps(found) : found;
    if (node === undefined) return undefined;
    const { record } = node;
    // An index has nodes of every depth.
    if (record.header.parentId !== ROOT_ID) return undefined;
    const row = new DslRow(record, () => this.nodes.type(record.header.nodeType));
    const isMatch = yield* matchesInSlices(this.dsl.filter, this.#weight, row, this.budget);
    return isMatch ? { node, row } : undefined;
  }

  *match(id: string): Generator<undefined, Match | undefined> {
    const found = yield* this.find(id);
    if (found === undefined) return undefined;
    const { path } = found.node.record.header;
    const keys = sortKeys(this.dsl.order, found.row);
    return { id, path, keys, characters: id.length + path.length + keyCharacters(keys) };
  }
}

/** The candidates that match the filter, in the order of the candidates: none is kept in memory. */
function* foundText(filter: NodeFilter, ids: Iterable<string | undefined>): Generator<Piece, void> {
  const { nodes, dsl } = filter;
  const page = new PageText(dsl.window);
  for (const id of ids) {
    const found = id === undefined ? undefined : yield* silently(filter.find(id));
    if (found === undefined) yield '';
    else yield* page.next(nodes, found.node);
  }
  yield page.end();
}

/** The candidates that match the filter, in the requested order; those in the window are read again. */
function* sortedText(filter: NodeFilter, ids: Iterable<string | undefined>): Generator<Piece, void> {
  const { nodes, dsl, budget } = filter;
  const byOrder = (a: Match, b: Match): number =>
    compareSortKeys(dsl.order, a.keys, b.keys) || byPathThenId(a, b);
  const best = new BestMatches<Match>(dsl.window, byOrder, budget);
  try {
    for (const id of ids) {
      const match = id === undefined ? undefined : yield* silently(filter.match(id));
      if (match !== undefined) yield* silently(best.add(match));
      yield '';
    }
    const sorted = yield* silently(best.sorted());
    yield* windowText(nodes, sorted, dsl.window, best.count);
  } finally {
    best.close();
  }
}

/** Ids of the root-level nodes at any revision. */
function* rootChildren({ tree, workspace }: VisibleNodes): Generator<string | undefined, void> {
  for (const entry of childrenInBatches(tree, workspace, ROOT_ID)) yield entry?.id;
}

/**
 * The smallest source that has all nodes that may match the filter. Index results are then checked against the stored
 * node.
 *
 * @returns yields undefined where the work may pause
 */
function* candidates(
  reader: TableReader,
  workspace: string,
  filter: Condition,
  budget: RequestBudget,
): Generator<undefined, Candidates> {
  const rootCount = parentEntry(reader, workspace, ROOT_ID)?.count ?? 0;
  const terms = conjunction(filter);
  const nodeType = wantedType(terms);
  if (nodeType !== undefined) {
    const catalog = isNodeTypeName(nodeType) ? readTypeCount(reader, workspace, nodeType) : undefined;
    if (catalog === undefined) return { ids: [], inPathOrder: true };
    const ids = yield* indexedIds(reader, workspace, terms, catalog.fields, rootCount);
    if (ids !== undefined) return { ids, inPathOrder: false };
    if (catalog.count <= rootCount * KEYS_PER_NODE) {
      return { ids: rootNodesOfType(reader, workspace, nodeType), inPathOrder: true };
    }
  }
  return { ids: rootIds(reader, workspace, budget), inPathOrder: true };
}

function* rootNodesOfType(
  reader: TableReader,
  workspace: string,
  nodeType: string,
): Generator<string | undefined, void> {
  for (const found of nodesOfType(reader, workspace, nodeType)) {
    yield found !== undefined && isRootLevel(found.path) ? found.id : undefined;
  }
}

function* rootIds(
  reader: TableReader,
  workspace: string,
  budget: RequestBudget,
): Generator<string | undefined, void> {
  for (const found of childrenByPath(reader, workspace, rootPlace, budget)) yield found?.id;
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

/**
 * Ids from the property index, if it supports a comparison.
 *
 * @param fields the indexes of the type, from the catalog
 * @param most above this number of rows the index is not worth its cost
 */
function* indexedIds(
  reader: TableReader,
  workspace: string,
  terms: readonly Term[],
  fields: IndexFields,
  most: number,
): Generator<undefined, readonly string[] | undefined> {
  for (const term of terms) {
    const { field } = term;
    if (term.operator !== 'eq' || field.kind !== 'property' || field.keys.length !== 1) continue;
    const name = field.keys[0] as string;
    if (!findsEqual(fields, name, term.value)) continue;
    const ids: string[] = [];
    const prefix = propertyPrefix(workspace, name);
    const [{ start, end }] = keyRanges({ operator: 'eq', value: term.value }) as [KeyRange];
    const range = { start: prefix + start, end: prefix + end };
    for (const { key } of rowsInBatches(reader, BranchTable.properties, range, most + 1)) {
      ids.push(readPropertyKey(key).id);
      if (ids.length % KEYS_PER_NODE === 0) yield undefined;
    }
    if (ids.length <= most) return ids;
  }
  return undefined;
}
