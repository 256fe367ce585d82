import type { QueryContext } from '#runtime/commit/behaviour.ts';
import { ROOT_ID } from '#runtime/content/content-node.ts';
import { parsePath } from '#runtime/content/path.ts';
import { isNodeTypeName } from '#runtime/content/type-name.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { readTypeCount } from '#runtime/tree/index-catalog.ts';
import { HeadNodeReader, parentEntry } from '#runtime/tree/node-reader.ts';
import type { BranchState } from './branch-state.ts';
import { answerText } from './long-answer.ts';
import type { JsonAnswer, RunQuery } from './messages.ts';
import { childrenByPath, type FoundNode, nodesOfType } from './path-order.ts';
import { type QueryWindow, queryWindow, windowText } from './query-page.ts';
import { type ParentPlace, rootPlace } from './require-parent.ts';
import { VisibleNodes } from './visible-nodes.ts';

/** Nodes up to which an answer is tried in one go. */
const SMALL_ANSWER = 300;

/** The nodes a selector names, in path order. */
interface Selection {
  /** How many there are, seen or not. */
  readonly total: number;
  readonly found: Iterable<FoundNode | undefined>;
}

const nothing: Selection = { total: 0, found: [] };

/** The JSON query. What the selector names and is missing selects nothing. @see messages.ts, RunQuery */
export function runQuery(state: BranchState, context: QueryContext, query: RunQuery): JsonAnswer {
  const { workspace } = query;
  state.workspace(workspace);
  const window = queryWindow(query.limit, query.offset);
  const isLong = shownCount(window, select(state, context, context.view, query).total) > SMALL_ANSWER;
  return answerText(
    context,
    (reader) => {
      const nodes = new VisibleNodes(state, context, reader, { workspace });
      const { total, found } = select(state, context, reader, query);
      return windowText(nodes, found, window, nodes.seesAll ? total : undefined);
    },
    isLong,
  );
}

function shownCount({ limit, offset }: QueryWindow, total: number): number {
  return Math.min(limit ?? total, Math.max(total - offset, 0));
}

function select(state: BranchState, context: QueryContext, reader: TableReader, query: RunQuery): Selection {
  const { workspace, selector } = query;
  const tree = new HeadNodeReader(reader);
  if ('path' in selector) {
    const record = tree.byPath(workspace, parsePath(selector.path));
    if (record === undefined) return nothing;
    return { total: 1, found: [{ id: record.header.id, path: record.header.path }] };
  }
  if ('parent' in selector) {
    const parent = findParent(state, context, reader, workspace, selector.parent);
    if (parent === undefined) return nothing;
    const total = parentEntry(reader, workspace, parent.id)?.count ?? 0;
    return { total, found: childrenByPath(reader, workspace, parent) };
  }
  // Only what can be the name of a type may become part of a key.
  if (!isNodeTypeName(selector.nodeType)) return nothing;
  const total = readTypeCount(reader, workspace, selector.nodeType)?.count ?? 0;
  return total === 0 ? nothing : { total, found: nodesOfType(reader, workspace, selector.nodeType) };
}

/** A parent named by id or by path; one that may not be read is as good as missing. */
function findParent(
  state: BranchState,
  context: QueryContext,
  reader: TableReader,
  workspace: string,
  text: string,
): ParentPlace | undefined {
  if (text === ROOT_ID) return rootPlace;
  const tree = new HeadNodeReader(reader);
  const record =
    tree.byId(workspace, text) ??
    (text.startsWith('/') ? tree.byPath(workspace, parsePath(text)) : undefined);
  if (record === undefined) return undefined;
  const seen = new VisibleNodes(state, context, reader, { workspace }).visible(record);
  return seen === undefined ? undefined : { id: record.header.id, path: record.header.path };
}
