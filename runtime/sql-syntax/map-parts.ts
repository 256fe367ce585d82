import type { SelectItem } from './nodes/syntax-nodes.ts';
import type { MapChild, SyntaxNode } from './syntax-node.ts';

/** A child that need not be there. */
export function mapOptional<Node extends SyntaxNode>(
  node: Node | undefined,
  map: MapChild,
): Node | undefined {
  return node === undefined ? undefined : map(node);
}

/** A list of children that need not be there. */
export function mapList<Node extends SyntaxNode>(
  nodes: readonly Node[] | undefined,
  map: MapChild,
): readonly Node[] | undefined {
  return nodes?.map((node) => map(node));
}

/** An entry of a select list. */
export function mapItem(item: SelectItem, map: MapChild): SelectItem {
  return item.kind === 'star' ? item : { ...item, expression: map(item.expression) };
}
