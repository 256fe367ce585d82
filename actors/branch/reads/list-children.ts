import type { TextBytes } from '#runtime/base/text/text-bytes.ts';
import type { QueryContext } from '#runtime/commit/behaviour.ts';
import { parseLocale } from '#runtime/content/translations/locale.ts';
import { formatRevision } from '#runtime/content/revision.ts';
import { parentEntry } from '#runtime/tree/node-reader.ts';
import type { BranchState } from '../branch-state.ts';
import { formatCursor, type ListingIdentity, parseCursor } from './listing-cursor.ts';
import { answerPage, answerScan, type Piece } from '../long-answer.ts';
import type { JsonAnswer } from '../messages.ts';
import type { ListChildren } from '../read-messages.ts';
import { withParent } from './require-parent.ts';
import { VisibleNodes, type VisibleRow } from './visible-nodes.ts';

/** Children on a page when only a cursor is given. @see docs/interface/reading.md#pages */
const PAGE_DEFAULT = 100;

/** Most children on a page. */
const PAGE_MAX = 1000;

/** Up to this many children, a whole listing is first tried without a pause. */
const SMALL_LISTING = 300;

/** Direct children. @see messages.ts, ListChildren */
export function listChildren(
  state: BranchState,
  context: QueryContext,
  query: ListChildren,
): JsonAnswer | Promise<JsonAnswer> {
  return withParent(state, context, query, ({ id }) => childrenOf(state, context, query, id));
}

function childrenOf(
  state: BranchState,
  context: QueryContext,
  query: ListChildren,
  id: string,
): JsonAnswer | Promise<JsonAnswer> {
  const { view } = context;
  const { workspace } = query;
  if (query.limit === undefined && query.cursor === undefined) {
    const isLong = (parentEntry(view, workspace, id)?.count ?? 0) > SMALL_LISTING;
    return answerScan(
      context,
      (reader, text) => wholeListing(new VisibleNodes(state, context, reader, query), id, text),
      isLong,
    );
  }
  const identity: ListingIdentity = {
    scope: query.scope,
    workspace,
    parentId: id,
    at: query.at === undefined ? null : formatRevision(query.at),
    locale: query.lang === undefined ? null : parseLocale(query.lang, 'lang'),
  };
  const after = query.cursor === undefined ? undefined : parseCursor(identity, query.cursor);
  const limit = Math.min(Math.max(Math.trunc(query.limit ?? PAGE_DEFAULT), 1), PAGE_MAX);
  return answerPage(
    context,
    (reader, text) => pageText(new VisibleNodes(state, context, reader, query), identity, after, limit, text),
    'moving',
  );
}

/** The text of an array of all children. */
function* wholeListing(nodes: VisibleNodes, parentId: string, text: TextBytes): Generator<Piece, void> {
  const rows = nodes.passingRows({ kind: 'children', workspace: nodes.workspace, parentId });
  const { isEmpty } = yield* rowsText(nodes, rows, '[', text);
  yield isEmpty ? '[]' : ']';
}

/**
 * The text of one page. It reads a fixed number of children, so that a page whose nodes are all hidden costs no more
 * than another page. It may therefore be short or empty although more pages follow.
 */
function* pageText(
  nodes: VisibleNodes,
  identity: ListingIdentity,
  after: string | undefined,
  limit: number,
  text: TextBytes,
): Generator<Piece, void> {
  const { parentId, workspace } = identity;
  const rows = nodes.passingRows({ kind: 'children', workspace, parentId }, { after, placesMax: limit });
  const opening = '{"items":[';
  const { end, isEmpty } = yield* rowsText(nodes, rows, opening, text);
  const cursor = end === undefined ? null : formatCursor(identity, end);
  yield `${isEmpty ? opening : ''}],"next_cursor":${JSON.stringify(cursor)},"total":null}`;
}

/** The objects of nodes with commas between them. @param opening text before the first one */
function* rowsText(
  nodes: VisibleNodes,
  rows: Iterator<VisibleRow | undefined, string | undefined>,
  opening: string,
  text: TextBytes,
): Generator<Piece, { readonly isEmpty: boolean; readonly end: string | undefined }> {
  let before = opening;
  let step = rows.next();
  for (; step.done !== true; step = rows.next()) {
    const row = step.value;
    if (row !== undefined && !nodes.writeAtOnce(row, before, text))
      yield* nodes.pieces(nodes.kept(row), before);
    else yield '';
    if (row !== undefined) before = ',';
  }
  return { isEmpty: before === opening, end: step.value };
}
