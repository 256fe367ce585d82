import { mapItem, mapOptional } from './map-parts.ts';
import { accessRebuilders } from './rebuild-access.ts';
import { branchRebuilders } from './rebuild-branch.ts';
import { dataRebuilders } from './rebuild-data.ts';
import { schemaRebuilders } from './rebuild-schema.ts';
import { treeRebuilders } from './rebuild-tree.ts';
import type { CallNode, FrameBound, Query, SortItem, WindowClause } from './nodes/syntax-nodes.ts';
import type { MapChild, RebuildersOf, SyntaxNode } from './syntax-node.ts';

/**
 * For each kind how a node is made anew from its children. It is a total record, so that a new kind does not compile
 * until it is known here, and with it to everything that walks through trees.
 */
type Rebuilders = RebuildersOf<SyntaxNode['kind']>;

const rebuilders: Rebuilders = {
  ...dataRebuilders,
  ...treeRebuilders,
  ...schemaRebuilders,
  ...branchRebuilders,
  ...accessRebuilders,
  literal: (node) => node,
  interval: (node) => node,
  parameter: (node) => node,
  column: (node) => node,
  'property-path': (node) => node,
  unary: (node, map) => ({ ...node, operand: map(node.operand) }),
  binary: (node, map) => ({ ...node, left: map(node.left), right: map(node.right) }),
  like: (node, map) => ({ ...node, operand: map(node.operand), pattern: map(node.pattern) }),
  between: (node, map) => ({ ...node, operand: map(node.operand), low: map(node.low), high: map(node.high) }),
  'in-list': (node, map) => ({ ...node, operand: map(node.operand), items: node.items.map(map) }),
  'in-query': (node, map) => ({ ...node, operand: map(node.operand), query: map(node.query) }),
  quantified: (node, map) => ({ ...node, left: map(node.left), right: map(node.right) }),
  is: (node, map) => ({ ...node, operand: map(node.operand) }),
  'distinct-from': (node, map) => ({ ...node, left: map(node.left), right: map(node.right) }),
  cast: (node, map) => ({ ...node, operand: map(node.operand) }),
  case: (node, map) => ({
    ...node,
    operand: mapOptional(node.operand, map),
    branches: node.branches.map((branch) => {
      const when = map(branch.when);
      const then = map(branch.then);
      return { when, then };
    }),
    otherwise: mapOptional(node.otherwise, map),
  }),
  array: (node, map) => ({ ...node, items: node.items.map(map) }),
  subscript: (node, map) => ({ ...node, operand: map(node.operand), index: map(node.index) }),
  call: (node, map): CallNode => ({
    ...node,
    args: node.args.map(map),
    orderBy: mapSort(node.orderBy, map),
    filter: mapOptional(node.filter, map),
    over: node.over === undefined ? undefined : mapWindow(node.over, map),
  }),
  row: (node, map) => ({ ...node, items: node.items.map(map) }),
  subquery: (node, map) => ({ ...node, query: map(node.query) }),
  exists: (node, map) => ({ ...node, query: map(node.query) }),

  table: (node) => node,
  'derived-table': (node, map) => ({ ...node, query: map(node.query) }),
  'function-table': (node, map) => ({ ...node, args: node.args.map(map) }),
  join: (node, map) => ({
    ...node,
    left: map(node.left),
    right: map(node.right),
    on: mapOptional(node.on, map),
  }),
  select: (node, map) => ({
    ...node,
    distinct: typeof node.distinct === 'object' ? node.distinct.map(map) : node.distinct,
    items: node.items.map((item) => mapItem(item, map)),
    from: node.from.map(map),
    where: mapOptional(node.where, map),
    groupBy: node.groupBy.map(map),
    having: mapOptional(node.having, map),
  }),
  values: (node, map) => ({ ...node, rows: node.rows.map((row) => row.map(map)) }),
  'set-operation': (node, map) => ({ ...node, left: map(node.left), right: map(node.right) }),
  query: (node, map): Query => ({
    ...node,
    commonTables: node.commonTables.map((table) => ({ ...table, query: map(table.query) })),
    body: map(node.body),
    orderBy: mapSort(node.orderBy, map),
    limit: mapOptional(node.limit, map),
    offset: mapOptional(node.offset, map),
  }),
  'query-statement': (node, map) => ({ ...node, query: map(node.query) }),
  explain: (node, map) => ({ ...node, statement: map(node.statement) }),
};

function mapSort(items: readonly SortItem[], map: MapChild): readonly SortItem[] {
  return items.map((item) => ({ ...item, expression: map(item.expression) }));
}

function mapWindow(window: WindowClause, map: MapChild): WindowClause {
  const { frame } = window;
  return {
    ...window,
    partitionBy: window.partitionBy.map(map),
    orderBy: mapSort(window.orderBy, map),
    frame:
      frame === undefined
        ? undefined
        : { ...frame, start: mapBound(frame.start, map), end: mapBound(frame.end, map) },
  };
}

function mapBound(bound: FrameBound, map: MapChild): FrameBound {
  return 'distance' in bound ? { ...bound, distance: map(bound.distance) } : bound;
}

function rebuild<Node extends SyntaxNode>(node: Node, map: MapChild): Node {
  const rebuilder = rebuilders[node.kind] as unknown as (node: Node, map: MapChild) => Node;
  // Bound, because `map` of arrays gives an index too.
  return rebuilder(node, (child) => map(child));
}

/** The nodes directly under a node, in the order of their text. */
export function childrenOf(node: SyntaxNode): readonly SyntaxNode[] {
  const children: SyntaxNode[] = [];
  rebuild(node, (child) => {
    children.push(child);
    return child;
  });
  return children;
}

/**
 * Calls a function for a node and all under it, the node before its children. The stack is as deep as the tree.
 *
 * @param enter gives false: the children of this node are left out
 */
export function visit(node: SyntaxNode, enter: (node: SyntaxNode) => unknown): void {
  if (enter(node) === false) return;
  for (const child of childrenOf(node)) visit(child, enter);
}

/**
 * A tree with some nodes replaced, children before their parents. The stack is as deep as the tree.
 *
 * @param replace what stands in place of a node; must be of a kind that may stand there
 * @param prepare what a node is before its children are looked at; absent: as it is
 */
export function transform<Node extends SyntaxNode>(node: Node, replace: MapChild, prepare?: MapChild): Node {
  const prepared = prepare === undefined ? node : prepare(node);
  return replace(rebuild(prepared, (child) => transform(child, replace, prepare)));
}
