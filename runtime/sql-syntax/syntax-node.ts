import type { PropertyNode, PropertyTypeNode } from './nodes/schema-nodes.ts';
import type { Statement } from './nodes/statement-nodes.ts';
import type { Expression, QueryBody, Source } from './nodes/syntax-nodes.ts';

/** Anything in a tree that has a kind. */
export type SyntaxNode = Expression | QueryBody | Source | Statement | PropertyNode | PropertyTypeNode;

/** The node of a kind. A node may be of one of several kinds, so that `Extract` would not find it. */
export type NodeOf<Kind extends SyntaxNode['kind']> = OfKind<SyntaxNode, Kind>;

type OfKind<Node, Kind> = Node extends { readonly kind: infer Kinds }
  ? Kind extends Kinds
    ? Node
    : never
  : never;

/** What becomes of a child. A child must be replaced by a node that may stand in its place. */
export type MapChild = <Node extends SyntaxNode>(child: Node) => Node;

/** How nodes of some kinds are made anew from their children. */
export type RebuildersOf<Kinds extends SyntaxNode['kind']> = {
  readonly [Kind in Kinds]: (node: NodeOf<Kind>, map: MapChild) => NodeOf<Kind>;
};
