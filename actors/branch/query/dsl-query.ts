import type { RequestBudget } from '#runtime/budget/request-budget.ts';
import type { QueryContext } from '#runtime/commit/behaviour.ts';
import { ROOT_ID } from '#runtime/content/content-node.ts';
import { valuesPart } from '#runtime/index/index-condition.ts';
import type { ScanSource } from '#runtime/scan/scan.ts';
import { compoundColumns } from '#runtime/tree/index-name.ts';
import type { RecordView } from '#runtime/tree/record/record-view.ts';
import { BestMatches, type Sortable } from './best-matches.ts';
import type { BranchState } from '../branch-state.ts';
import { type DslQuery, parseDslQuery, propertiesNamed } from './dsl-filter.ts';
import { type FilterWeight, filterWeight, matchesInSlices } from './dsl-match.ts';
import { compareSortKeys, DslRow, keyCharacters, type SortKeys, sortKeys } from './dsl-row.ts';
import { answerScan, type Piece, silently } from '../long-answer.ts';
import type { JsonAnswer, RunDslQuery } from '../messages.ts';
import { byPathThenId, type FoundNode } from './found-node.ts';
import type { IndexUse } from './index-source.ts';
import { PageText, type QueryWindow, sourceText, windowText } from './query-page.ts';
import { planQuery } from './query-plan.ts';
import { storedFilter } from './stored-filter.ts';
import { type VisibleNode, VisibleNodes, type VisibleRow } from '../reads/visible-nodes.ts';

/** The boolean query over the nodes at the root of a workspace. @see messages.ts, RunDslQuery */
export function runDslQuery(state: BranchState, context: QueryContext, query: RunDslQuery): JsonAnswer {
  state.workspace(query.workspace);
  const dsl = parseDslQuery(query.filter);
  return answerScan(context, function* (reader, text) {
    const nodes = new VisibleNodes(state, context, reader, query);
    const plan = yield* silently(planQuery(reader, nodes, dsl));
    if (plan.kind === 'matches') {
      yield* sourceText(nodes, plan.source, dsl.window, plan.total, text);
      return;
    }
    const filter = new NodeFilter(nodes, dsl);
    if (plan.kind === 'sorted' && plan.use.isById) yield* textById(filter, plan.use, plan.total);
    else if (plan.kind === 'sorted') yield* orderedText(filter, plan.use, plan.total);
    else if (plan.isInPathOrder && dsl.order.length === 0)
      yield* foundText(filter, plan.source, plan.unordered);
    else yield* sortedText(filter, plan.unordered ?? plan.source);
  });
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
  /** Whether it compares or sorts by a property that may be hidden in some nodes: there it counts as absent. */
  readonly #namesHidden: boolean;

  constructor(nodes: VisibleNodes, dsl: DslQuery) {
    this.nodes = nodes;
    this.dsl = dsl;
    this.budget = nodes.budget;
    this.#weight = filterWeight(dsl.filter);
    this.#namesHidden = nodes.hidesSome && propertiesNamed(dsl).some((name) => nodes.hides(name));
  }

  /** The visible nodes of a source that may match. */
  candidates(source: ScanSource): Generator<VisibleRow | undefined, string | undefined> {
    const shown = this.#namesHidden ? (view: RecordView) => this.nodes.shownInPlace(view) : undefined;
    const where = storedFilter(this.dsl.filter, this.#weight, this.budget, shown);
    return this.nodes.rows(source, where === undefined ? {} : { where });
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
    const shown = this.#namesHidden ? this.nodes.shownFields(record) : undefined;
    const row = new DslRow(record, () => this.nodes.type(record.nodeType), shown);
    const { length } = record.bytes;
    const isMatch = yield* matchesInSlices(this.dsl.filter, this.#weight, row, length, this.budget);
    return isMatch ? row : undefined;
  }

  *match(node: VisibleNode): Generator<undefined, Match | undefined> {
    const row = yield* this.find(node);
    if (row === undefined) return undefined;
    const { id, path } = node.record;
    const keys = sortKeys(this.dsl.order, row);
    return { id, path, keys, characters: id.length + path.length + keyCharacters(keys) };
  }
}

/** Matches that are kept and sorted before the nodes are looked up in their order instead. */
const FEW_MATCHES = 1_000;

/**
 * The nodes of a source that match the filter, in its order, which is that of paths. Where few of them match, they are found
 * in another source that has them in no order.
 *
 * @param unordered that source, if it costs less
 */
function* foundText(
  filter: NodeFilter,
  source: ScanSource,
  unordered: ScanSource | undefined,
): Generator<Piece, void> {
  if (unordered !== undefined && (yield* sortedText(filter, unordered, FEW_MATCHES))) return;
  const page = new PageText(filter.dsl.window);
  for (const node of filter.candidates(source)) {
    const isMatch = node !== undefined && (yield* silently(filter.find(node))) !== undefined;
    if (isMatch) yield* page.next(filter.nodes, node);
    else yield* resting(filter.nodes);
  }
  yield page.end();
}

/**
 * The nodes of a source that match the filter, in the requested order; those in the window are read again.
 *
 * @param most the most matches
 * @returns false when there are more: then there is no text
 */
function* sortedText(
  filter: NodeFilter,
  source: ScanSource,
  most: number = Number.POSITIVE_INFINITY,
): Generator<Piece, boolean> {
  const { nodes, dsl } = filter;
  const best = filter.bestMatches(dsl.window);
  try {
    for (const node of filter.candidates(source)) {
      const match = node === undefined ? undefined : yield* silently(filter.match(node));
      nodes.rest();
      if (match !== undefined) yield* silently(best.add(match));
      if (best.count > most) return false;
      yield '';
    }
    nodes.rest();
    const sorted = yield* silently(best.sorted());
    yield* windowText(nodes, sorted, dsl.window, best.count);
    return true;
  } finally {
    best.close();
  }
}

/**
 * The nodes that match the filter, from an index that has them in the order of the first fields. Only nodes whose values
 * it does not tell apart are sorted.
 *
 * @param total number of matches, if it is known: then the walk ends with the window
 */
function* orderedText(
  filter: NodeFilter,
  { columns, reverse, source }: IndexUse,
  total: number | undefined,
): Generator<Piece, void> {
  const page = new PageText(filter.dsl.window);
  const ofIndex = compoundColumns(source.index);
  let group: OrderedGroup | undefined;
  try {
    for (const row of filter.nodes.rows(source, { reverse })) {
      if (row !== undefined) {
        const part = valuesPart(ofIndex, row.position, columns);
        if (group === undefined || group.part !== part) {
          if (group !== undefined) yield* group.text(page);
          if (total !== undefined && page.isFull) break;
          group = new OrderedGroup(filter, part, page.left);
        }
        yield* silently(group.add(row));
      }
      yield* resting(filter.nodes);
    }
    if (group !== undefined) yield* group.text(page);
    yield page.end(total);
  } finally {
    group?.close();
  }
}

/**
 * The nodes that match the filter, from an index that has them in the requested order, all of it.
 *
 * @param total number of matches, if it is known: then the walk ends with the window
 */
function* textById(
  filter: NodeFilter,
  { reverse, source }: IndexUse,
  total: number | undefined,
): Generator<Piece, void> {
  const page = new PageText(filter.dsl.window);
  for (const row of filter.nodes.rows(source, { reverse })) {
    const isMatch = row !== undefined && (yield* silently(filter.find(row))) !== undefined;
    if (isMatch) yield* page.next(filter.nodes, row);
    else yield* resting(filter.nodes);
    if (total !== undefined && page.isFull) break;
  }
  yield page.end(total);
}

/** A pause at which the read may go over to another snapshot. */
function* resting(nodes: VisibleNodes): Generator<'', void> {
  nodes.rest();
  yield '';
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
  *add(node: VisibleNode): Generator<undefined, void> {
    const match = yield* this.#filter.match(node);
    this.#filter.nodes.rest();
    if (match !== undefined) yield* this.#best.add(match);
  }

  /** The text of the matches; nothing may be added after it. */
  *text(page: PageText): Generator<Piece, void> {
    this.#filter.nodes.rest();
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
