import { invalid } from '#runtime/errors/service-error.ts';
import type { FoundNode } from './path-order.ts';
import type { VisibleNodes } from './visible-nodes.ts';

/** Which of the matches are wanted. */
export interface QueryWindow {
  /** Null: all of them. */
  readonly limit: number | null;
  readonly offset: number;
}

/**
 * Checks the paging of a query.
 *
 * @throws {ServiceError} `VALIDATION_FAILED` for anything but whole numbers from 0 on
 */
export function queryWindow(limit: unknown, offset: unknown): QueryWindow {
  return { limit: wholeNumber('limit', limit) ?? null, offset: wholeNumber('offset', offset) ?? 0 };
}

function wholeNumber(field: 'limit' | 'offset', value: unknown): number | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value;
  throw invalid(`'${field}' must be a whole number from 0 on`, { field });
}

/**
 * The `page` of an answer. `nextOffset` is null on the last page, also when that is exactly full.
 *
 * @see Content, Query, Functions and Versioning Interface: Query
 */
function pageText({ limit, offset }: QueryWindow, total: number): string {
  const end = limit === null ? total : offset + limit;
  const nextOffset = limit !== null && limit > 0 && end < total ? end : null;
  return JSON.stringify({ total, limit, offset, nextOffset });
}

/**
 * The text `{items, page}` of nodes that come in the order they are answered in. Where every node is visible and
 * the total is known, nodes outside the window are passed over by their keys and the walk ends with the window.
 *
 * @param found undefined where the walk rests
 * @param known number of matches, when every one is visible
 */
export function* windowText(
  nodes: VisibleNodes,
  found: Iterable<FoundNode | undefined>,
  window: QueryWindow,
  known: number | undefined,
): Generator<string, void> {
  const from = window.offset;
  const to = window.limit === null ? Number.POSITIVE_INFINITY : from + window.limit;
  let matched = 0;
  let opening = '{"items":[';
  for (const entry of found) {
    if (known !== undefined && matched >= to) break;
    if (entry === undefined) {
      yield '';
      continue;
    }
    const isInside = matched >= from && matched < to;
    if (known !== undefined && !isInside) {
      matched += 1;
      continue;
    }
    const node = nodes.find(entry.id);
    if (node !== undefined) {
      matched += 1;
      if (isInside) {
        yield opening + nodes.render(node);
        opening = ',';
        continue;
      }
    }
    yield '';
  }
  yield `${opening === ',' ? '' : opening}],"page":${pageText(window, known ?? matched)}}`;
}
