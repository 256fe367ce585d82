import type { QueryContext } from '#runtime/commit/behaviour.ts';
import { ROOT_ID } from '#runtime/content/content-node.ts';
import type { JsonValue } from '#runtime/content/json-value.ts';
import { isNodeTypeName } from '#runtime/content/type-name.ts';
import { indexValue } from '#runtime/index/index-value.ts';
import { bytesText, END } from '#runtime/shard/binary-key.ts';
import { BranchTable, propertyEntries } from '#runtime/shard/key-layout.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { readTypeCount } from '#runtime/tree/index-catalog.ts';
import { parentEntry } from '#runtime/tree/node-reader.ts';
import { childrenInBatches, rowsInBatches } from './batched-rows.ts';
import type { BranchState } from './branch-state.ts';
import { type Condition, type DslQuery, parseDslQuery, type Term } from './dsl-filter.ts';
import { compareSortKeys, DslRow, holds, type SortKeys, sortKeys } from './dsl-row.ts';
import { answerText, silently } from './long-answer.ts';
import type { JsonAnswer, RunDslQuery } from './messages.ts';
import { byPathThenId, childrenByPath, type FoundNode, isRootLevel, nodesOfType } from './path-order.ts';
import { type QueryWindow, windowText } from './query-page.ts';
import { rootPlace } from './require-parent.ts';
import { sortInSlices } from './sliced-sort.ts';
import { VisibleNodes } from './visible-nodes.ts';

/** Walking a key costs about an eighth of looking at a node. */
const KEYS_PER_NODE = 8;

/** The boolean query over the nodes at the root of a workspace. @see messages.ts, RunDslQuery */
export function runDslQuery(state: BranchState, context: QueryContext, query: RunDslQuery): JsonAnswer {
  state.workspace(query.workspace);
  const dsl = parseDslQuery(query.filter);
  return answerText(context, (reader) => {
    const nodes = new VisibleNodes(state, context, reader, query);
    if (query.at !== undefined) return filteredText(nodes, rootChildren(nodes), dsl);
    return holdsForAll(dsl.filter) && dsl.order.length === 0
      ? allText(reader, nodes, dsl.window)
      : filteredText(nodes, candidates(reader, nodes.workspace, dsl.filter), dsl);
  });
}

function holdsForAll(filter: Condition): boolean {
  return filter.kind === 'and' && filter.parts.length === 0;
}

/** Every root-level node at the head. */
function allText(reader: TableReader, nodes: VisibleNodes, window: QueryWindow): Generator<string, void> {
  const total = parentEntry(reader, nodes.workspace, ROOT_ID)?.count ?? 0;
  const found = childrenByPath(reader, nodes.workspace, rootPlace);
  return windowText(nodes, found, window, nodes.seesAll ? total : undefined);
}

/** A node that the filter holds for. */
interface Match extends FoundNode {
  readonly keys: SortKeys;
}

/** The candidates that the filter holds for, in the order asked for. */
function* filteredText(
  nodes: VisibleNodes,
  ids: Iterable<string | undefined>,
  dsl: DslQuery,
): Generator<string, void> {
  const { order, window } = dsl;
  const matches: Match[] = [];
  for (const candidate of ids) {
    if (candidate !== undefined) {
      const match = matchOf(nodes, candidate, dsl);
      if (match !== undefined) matches.push(match);
    }
    yield '';
  }
  const byOrder = (a: Match, b: Match): number =>
    compareSortKeys(order, a.keys, b.keys) || byPathThenId(a, b);
  const sorted = yield* silently(sortInSlices(matches, byOrder));
  yield* windowText(nodes, sorted, window, matches.length);
}

function matchOf(nodes: VisibleNodes, id: string, { filter, order }: DslQuery): Match | undefined {
  const node = nodes.find(id);
  if (node === undefined) return undefined;
  const { record } = node;
  // An index knows nodes of every depth.
  if (record.header.parentId !== ROOT_ID) return undefined;
  const row = new DslRow(record, () => nodes.type(record.header.nodeType));
  return holds(filter, row) ? { id, path: record.header.path, keys: sortKeys(order, row) } : undefined;
}

/** Ids of the root-level nodes at any revision. */
function* rootChildren({ tree, workspace }: VisibleNodes): Generator<string, void> {
  for (const { id } of childrenInBatches(tree, workspace, ROOT_ID)) yield id;
}

/**
 * Ids of nodes the filter may hold for, from the narrowest source that has all of them. What an index says is
 * checked against the stored node afterwards.
 *
 * @returns undefined now and then, where the walk may rest
 */
function* candidates(
  reader: TableReader,
  workspace: string,
  filter: Condition,
): Generator<string | undefined, void> {
  const rootCount = parentEntry(reader, workspace, ROOT_ID)?.count ?? 0;
  const terms = conjunction(filter);
  const nodeType = wantedType(terms);
  if (nodeType !== undefined) {
    const catalog = isNodeTypeName(nodeType) ? readTypeCount(reader, workspace, nodeType) : undefined;
    if (catalog === undefined) return;
    const ids = yield* indexedIds(reader, workspace, terms, catalog.fields.properties, rootCount);
    if (ids !== undefined) {
      yield* ids;
      return;
    }
    if (catalog.count <= rootCount * KEYS_PER_NODE) {
      for (const found of nodesOfType(reader, workspace, nodeType)) {
        yield found !== undefined && isRootLevel(found.path) ? found.id : undefined;
      }
      return;
    }
  }
  for (const found of childrenByPath(reader, workspace, rootPlace)) yield found?.id;
}

/** The comparisons that must all hold, whatever else the filter says. */
function conjunction(filter: Condition): readonly Term[] {
  if (filter.kind === 'term') return [filter];
  return filter.kind === 'and' ? filter.parts.flatMap(conjunction) : [];
}

function wantedType(terms: readonly Term[]): string | undefined {
  for (const { field, operator, value } of terms) {
    if (operator !== 'eq' || field.kind !== 'column' || field.name !== 'node_type') continue;
    // Anything but a text is the type of no node, and neither is the empty name.
    return typeof value === 'string' ? value : '';
  }
  return undefined;
}

/**
 * Ids from the property index, when a comparison fits it.
 *
 * @param indexed properties the catalog has index rows for
 * @param most more rows than this are not worth it
 */
function* indexedIds(
  reader: TableReader,
  workspace: string,
  terms: readonly Term[],
  indexed: readonly string[],
  most: number,
): Generator<undefined, readonly string[] | undefined> {
  for (const { field, operator, value } of terms) {
    if (operator !== 'eq' || field.kind !== 'property' || field.keys.length !== 1) continue;
    const name = field.keys[0] as string;
    const text = indexed.includes(name) ? indexValue(value as JsonValue) : undefined;
    if (text === undefined) continue;
    const ids: string[] = [];
    const range = propertyEntries(workspace, name, text);
    for (const { key } of rowsInBatches(reader, BranchTable.properties, range, most + 1)) {
      ids.push(bytesText(key.slice(key.lastIndexOf(END) + 1)));
      if (ids.length % KEYS_PER_NODE === 0) yield undefined;
    }
    if (ids.length <= most) return ids;
  }
  return undefined;
}
