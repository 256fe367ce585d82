import type { TextBytes } from '#runtime/base/text/text-bytes.ts';
import { invalid } from '#runtime/errors/service-error.ts';
import type { ScanSource } from '#runtime/scan/scan.ts';
import { type Piece, silently } from '../long-answer.ts';
import type { FoundNode } from './found-node.ts';
import type { VisibleNode, VisibleNodes, VisibleRow } from '../reads/visible-nodes.ts';

/** The range of matches to return. */
export interface QueryWindow {
  /** Null: all of them. */
  readonly limit: number | null;
  readonly offset: number;
}

/**
 * Checks the paging of a query. As in all listings, a number out of bounds is clamped: a page has at least one place.
 *
 * @throws {ServiceError} `VALIDATION_FAILED` for values that are not integers
 * @see docs/interface/conventions.md#query-parameters
 */
export function queryWindow(limit: unknown, offset: unknown): QueryWindow {
  return { limit: wholeNumber('limit', limit, 1) ?? null, offset: wholeNumber('offset', offset, 0) ?? 0 };
}

function wholeNumber(field: 'limit' | 'offset', value: unknown, least: number): number | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value === 'number' && Number.isSafeInteger(value)) return Math.max(value, least);
  throw invalid(`'${field}' must be a whole number`, { field });
}

/**
 * The `page` of an answer. `nextOffset` is null on the last page, even if that is exactly full.
 *
 * @see docs/interface/queries.md#pages-of-a-query
 */
function pageText({ limit, offset }: QueryWindow, total: number): string {
  const end = limit === null ? total : offset + limit;
  const nextOffset = limit !== null && end < total ? end : null;
  return JSON.stringify({ total, limit, offset, nextOffset });
}

/** Writes the text `{items, page}` of nodes that arrive in the order of the answer. */
export class PageText {
  readonly #window: QueryWindow;
  readonly #from: number;
  readonly #to: number;
  #matched = 0;
  #opening = '{"items":[';

  constructor(window: QueryWindow) {
    this.#window = window;
    this.#from = window.offset;
    this.#to = window.limit === null ? Number.POSITIVE_INFINITY : window.offset + window.limit;
  }

  /** Whether the window ends before the next match. */
  get isFull(): boolean {
    return this.#matched >= this.#to;
  }

  /** Whether the next match is in the window. */
  get isInside(): boolean {
    return this.#matched >= this.#from && this.#matched < this.#to;
  }

  /** Number of matches up to the end of the window; null when it has no end. */
  get left(): number | null {
    return this.#window.limit === null ? null : Math.max(this.#to - this.#matched, 0);
  }

  /** Skips matches outside the window. */
  pass(count: number): void {
    this.#matched += count;
  }

  /** As {@link next}, for a node of `VisibleNodes.passingRows`. */
  *nextPassing(nodes: VisibleNodes, row: VisibleRow, text: TextBytes): Generator<Piece, void> {
    if (this.isInside && nodes.writeAtOnce(row, this.#opening, text)) {
      this.#matched += 1;
      this.#opening = ',';
      yield '';
    } else yield* this.next(nodes, this.isInside ? nodes.kept(row) : row);
  }

  /** The text of the next match; empty outside the window. */
  *next(nodes: VisibleNodes, node: VisibleNode): Generator<Piece, void> {
    const isInside = this.isInside;
    this.#matched += 1;
    if (!isInside) {
      yield '';
      return;
    }
    yield* nodes.pieces(node, this.#opening);
    this.#opening = ',';
  }

  /** The text after the last item. @param total default: number of matches so far */
  end(total: number = this.#matched): string {
    return `${this.#opening === ',' ? '' : this.#opening}],"page":${pageText(this.#window, total)}}`;
  }
}

/**
 * The text `{items, page}` of the nodes of a source. If every node is visible and the total is known, those outside the
 * window are skipped by their keys, and the scan ends with the window.
 *
 * @param source undefined: no nodes
 * @param known number of nodes, if all are visible
 */
export function* sourceText(
  nodes: VisibleNodes,
  source: ScanSource | undefined,
  window: QueryWindow,
  known: number | undefined,
  text: TextBytes,
): Generator<Piece, void> {
  const page = new PageText(window);
  const { limit, offset } = window;
  const bounds = known === undefined ? {} : { skip: offset, ...(limit === null ? {} : { limit }) };
  if (known !== undefined) page.pass(offset);
  for (const row of source === undefined ? [] : nodes.passingRows(source, bounds)) {
    if (row === undefined) yield '';
    else yield* page.nextPassing(nodes, row, text);
  }
  yield page.end(known);
}

/**
 * The text `{items, page}` of matches that were found and sorted.
 *
 * @param sorted the matches up to the end of the window
 * @param total number of matches
 */
export function* windowText(
  nodes: VisibleNodes,
  sorted: readonly FoundNode[],
  window: QueryWindow,
  total: number,
): Generator<Piece, void> {
  const page = new PageText(window);
  page.pass(window.offset);
  for (const { id } of sorted.slice(window.offset)) {
    const node = yield* silently(nodes.read(id));
    if (node === undefined) yield '';
    else yield* page.next(nodes, node);
  }
  yield page.end(total);
}
