import type { TextBytes } from '#runtime/base/text/text-bytes.ts';
import type { QueryContext } from '#runtime/commit/behaviour.ts';
import { ROOT_ID } from '#runtime/content/content-node.ts';
import { parsePath } from '#runtime/content/path.ts';
import { isNodeTypeName } from '#runtime/content/definitions/type-name.ts';
import type { ScanSource } from '#runtime/scan/scan.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { readTypeCount } from '#runtime/tree/index-catalog.ts';
import { parentEntry } from '#runtime/tree/node-reader.ts';
import type { BranchState } from '../branch-state.ts';
import { answerScan, answerText, type Piece, silently, type TextSteps } from '../long-answer.ts';
import type { JsonAnswer, RunQuery } from '../messages.ts';
import { PageText, type QueryWindow, queryWindow, sourceText } from './query-page.ts';
import { type ParentPlace, rootPlace } from '../reads/require-parent.ts';
import { VisibleNodes } from '../reads/visible-nodes.ts';

/** Up to this many nodes, an answer is first tried without a pause. */
const SMALL_ANSWER = 300;

/** A selector of many nodes. */
type ListSelector = Exclude<RunQuery['selector'], { readonly path: string }>;

/** The nodes of a selector, in path order. */
interface Selection {
  /** Number of nodes, visible or not; undefined when that would have to be counted. */
  readonly total: number | undefined;
  /** Undefined when there are none. */
  readonly source: ScanSource | undefined;
}

const nothing: Selection = { total: 0, source: undefined };

/** The JSON query. A selector that names a missing node selects nothing. @see messages.ts, RunQuery */
export function runQuery(state: BranchState, context: QueryContext, query: RunQuery): JsonAnswer {
  const { workspace, selector, at } = query;
  state.workspace(workspace);
  const window = queryWindow(query.limit, query.offset);
  const nodesIn = (reader: TableReader) => new VisibleNodes(state, context, reader, query);
  if ('path' in selector)
    return answerText(context, (reader) => pathText(nodesIn(reader), parsePath(selector.path), window));
  const work: TextSteps = (reader, text) => selectedText(nodesIn(reader), reader, selector, window, text);
  if (at !== undefined) return answerScan(context, work);
  const selected = select(nodesIn(context.view), context.view, selector).next();
  const isLong = selected.done !== true || shownCount(window, selected.value.total ?? 0) > SMALL_ANSWER;
  return answerScan(context, work, isLong);
}

function shownCount({ limit, offset }: QueryWindow, total: number): number {
  return Math.min(limit ?? total, Math.max(total - offset, 0));
}

function* selectedText(
  nodes: VisibleNodes,
  reader: TableReader,
  selector: ListSelector,
  window: QueryWindow,
  text: TextBytes,
): Generator<Piece, void> {
  const { source, total } = yield* silently(select(nodes, reader, selector));
  const counted = total ?? (yield* silently(countedFor(nodes, source, window)));
  yield* sourceText(nodes, source, window, nodes.seesAll ? counted : undefined, text);
}

/** Number of nodes, if all are visible and not all are answered: then only those of the page are read. */
function* countedFor(
  nodes: VisibleNodes,
  source: ScanSource | undefined,
  { limit, offset }: QueryWindow,
): Generator<undefined, number | undefined> {
  if (source === undefined || !nodes.seesAll || (limit === null && offset === 0)) return undefined;
  return yield* nodes.countNodes(source);
}

/** Yields only for a large parent. */
function* select(
  nodes: VisibleNodes,
  reader: TableReader,
  selector: ListSelector,
): Generator<undefined, Selection> {
  const { workspace } = nodes;
  if ('parent' in selector) {
    const parent = yield* findParent(nodes, selector.parent);
    if (parent === undefined) return nothing;
    const total = nodes.isPast ? undefined : (parentEntry(reader, workspace, parent.id)?.count ?? 0);
    return { total, source: { kind: 'paths', workspace, below: parent.path, isChildren: true } };
  }
  // Only a possible type name may become part of a key.
  const { nodeType } = selector;
  if (!isNodeTypeName(nodeType)) return nothing;
  const total = nodes.isPast ? undefined : (readTypeCount(reader, workspace, nodeType)?.count ?? 0);
  return total === 0 ? nothing : { total, source: { kind: 'paths', workspace, nodeType } };
}

/** The node at a path, or none. */
function* pathText(nodes: VisibleNodes, path: string, window: QueryWindow): Generator<Piece, void> {
  const page = new PageText(window);
  const record = yield* silently(nodes.tree.byPathInSteps(nodes.workspace, path));
  const node = record === undefined ? undefined : nodes.visible(record);
  if (node !== undefined) yield* page.next(nodes, node);
  yield page.end();
}

/** A parent named by id or by path; a parent that may not be read counts as missing. */
function* findParent(nodes: VisibleNodes, text: string): Generator<undefined, ParentPlace | undefined> {
  if (text === ROOT_ID) return rootPlace;
  const { tree, workspace } = nodes;
  const record =
    (yield* tree.byIdInSteps(workspace, text)) ??
    (text.startsWith('/') ? yield* tree.byPathInSteps(workspace, parsePath(text)) : undefined);
  if (record === undefined || nodes.visible(record) === undefined) return undefined;
  return { id: record.id, path: record.path };
}
