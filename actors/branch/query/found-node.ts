import { compareTexts } from '#runtime/base/text/text-order.ts';

/** A node that was found and is not kept in memory. */
export interface FoundNode {
  readonly id: string;
  readonly path: string;
}

/** Compares by path, then id, by bytes as scans do. @see docs/interface/queries.md#json-query */
export function byPathThenId(a: FoundNode, b: FoundNode): number {
  return compareTexts(a.path, b.path) || compareTexts(a.id, b.id);
}
