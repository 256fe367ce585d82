import type { QueryContext } from '#runtime/commit/behaviour.ts';
import { ROOT_ID } from '#runtime/content/content-node.ts';
import { parsePath } from '#runtime/content/path.ts';
import { isNodeTypeName } from '#runtime/content/definitions/type-name.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { readTypeCount } from '#runtime/tree/index-catalog.ts';
import { parentEntry } from '#runtime/tree/node-reader.ts';
import type { BranchState } from '../branch-state.ts';
import { answerText, type Piece, silently } from '../long-answer.ts';
import type { JsonAnswer, RunQuery } from '../messages.ts';
import {
  childrenByPath,
  type FoundNode,
  nodesOfType,
  sortedChildren,
  sortedNodesOfType,
} from '../reads/path-order.ts';
import { type QueryWindow, queryWindow, windowText } from './query-page.ts';
import { type ParentPlace, rootPlace } from '../reads/require-parent.ts';
import { VisibleNodes } from '../reads/visible-nodes.ts';

/** Up to this many nodes, an answer is first tried without a pause. */
const SMALL_ANSWER = 300;

type Selector = RunQuery['selector'];

/** The nodes of a selector at the head, in path order. */
interface Selection {
  /** Number of nodes, visible or not. */
  readonly total: number;
  readonly found: Iterable<FoundNode | undefined>;
}

const nothing: Selection = { total: 0, found: [] };

/** The JSON query. A selector that names a missing node selects nothing. @see messages.ts, RunQuery */
export function runQuery(state: BranchState, context: QueryContext, query: RunQuery): JsonAnswer {
  const { workspace, selector, at } = query;
  state.workspace(workspace);
  const window = queryWindow(query.limit, query.offset);
  const nodesIn = (reader: TableReader) => new VisibleNodes(state, context, reader, query);
  if (at !== undefined) return answerText(context, (reader) => pastText(nodesIn(reader), selector, window));
  const selected = select(nodesIn(context.view), context.view, selector).next();
  return answerText(
    context,
    (reader) => headText(nodesIn(reader), reader, selector, window),
    selected.done !== true || shownCount(window, selected.value.total) > SMALL_ANSWER,
  );
}

function shownCount({ limit, offset }: QueryWindow, total: number): number {
  return Math.min(limit ?? total, Math.max(total - offset, 0));
}

function* headText(
  nodes: VisibleNodes,
  reader: TableReader,
  selector: Selector,
  window: QueryWindow,
): Generator<Piece, void> {
  const { total, found } = yield* silently(select(nodes, reader, selector));
  yield* windowText(nodes, found, window, nodes.seesAll ? total : undefined);
}

/** Yields only for a large parent. */
function* select(
  nodes: VisibleNodes,
  reader: TableReader,
  selector: Selector,
): Generator<undefined, Selection> {
  const { workspace } = nodes;
  if ('path' in selector) {
    const found = nodeAt(nodes, selector.path);
    return { total: found.length, found };
  }
  if ('parent' in selector) {
    const parent = yield* findParent(nodes, selector.parent);
    if (parent === undefined) return nothing;
    const total = parentEntry(reader, workspace, parent.id)?.count ?? 0;
    return { total, found: childrenByPath(reader, workspace, parent, nodes.budget) };
  }
  // Only a possible type name may become part of a key.
  if (!isNodeTypeName(selector.nodeType)) return nothing;
  const total = readTypeCount(reader, workspace, selector.nodeType)?.count ?? 0;
  return total === 0 ? nothing : { total, found: nodesOfType(reader, workspace, selector.nodeType) };
}

function* pastText(nodes: VisibleNodes, selector: Selector, window: QueryWindow): Generator<Piece, void> {
  const found = yield* silently(selectPast(nodes, selector));
  yield* windowText(nodes, found, window, nodes.seesAll ? found.length : undefined);
}

/** The nodes of a selector at an earlier revision, in path order. */
function* selectPast(nodes: VisibleNodes, selector: Selector): Generator<undefined, readonly FoundNode[]> {
  const { tree, workspace } = nodes;
  if ('path' in selector) return nodeAt(nodes, selector.path);
  if ('parent' in selector) {
    const parent = yield* findParent(nodes, selector.parent);
    return parent === undefined ? [] : yield* sortedChildren(tree, workspace, parent.id, nodes.budget);
  }
  return isNodeTypeName(selector.nodeType)
    ? yield* sortedNodesOfType(tree, workspace, selector.nodeType, nodes.budget)
    : [];
}

/** The node at a path, or none. */
function nodeAt({ tree, workspace }: VisibleNodes, text: string): readonly FoundNode[] {
  const path = parsePath(text);
  const id = tree.idAt(workspace, path);
  return id === undefined || id === ROOT_ID ? [] : [{ id, path }];
}

/** A parent named by id or by path; a parent that may not be read counts as missing. */
function* findParent(nodes: VisibleNodes, text: string): Generator<undefined, ParentPlace | undefined> {
  if (text === ROOT_ID) return rootPlace;
  const { tree, workspace } = nodes;
  const record =
    (yield* tree.byIdInSteps(workspace, text)) ??
    (text.startsWith('/') ? yield* tree.byPathInSteps(workspace, parsePath(text)) : undefined);
  if (record === undefined || nodes.visible(record) === undefined) return undefined;
  return { id: record.header.id, path: record.header.path };
}
