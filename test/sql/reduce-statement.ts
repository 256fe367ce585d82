import type { Expression, Query, SelectNode } from '#runtime/sql-syntax/nodes/syntax-nodes.ts';
import { parseStatement } from '#runtime/sql-syntax/parse-statements.ts';
import { printStatement } from '#runtime/sql-syntax/print-statement.ts';
import type { SyntaxNode } from '#runtime/sql-syntax/syntax-node.ts';
import { childrenOf, transform, visit } from '#runtime/sql-syntax/visitor.ts';

/** Most attempts at making one statement smaller. */
const ATTEMPTS_MAX = 400;

/**
 * Makes a statement smaller as long as it keeps failing, by its tree: clauses are left out, parts take the place of the
 * whole.
 *
 * @param fails whether a statement still shows what is looked for
 */
export async function reduceStatement(
  sql: string,
  fails: (sql: string) => Promise<boolean>,
): Promise<string> {
  let smallest = sql;
  let attempts = 0;
  for (let isSmaller = true; isSmaller && attempts < ATTEMPTS_MAX; ) {
    isSmaller = false;
    for (const candidate of smallerOnes(smallest)) {
      attempts += 1;
      if (attempts > ATTEMPTS_MAX) break;
      if (candidate.length >= smallest.length || !(await fails(candidate))) continue;
      smallest = candidate;
      isSmaller = true;
      break;
    }
  }
  return smallest;
}

function* smallerOnes(sql: string): Generator<string> {
  const statement = parseStatement(sql);
  const nodes: SyntaxNode[] = [];
  visit(statement, (node) => nodes.push(node));
  for (const node of nodes) {
    for (const smaller of instead(node)) {
      // Replacing works on a copy of the tree, so nodes are told apart by their place.
      const isSame = (each: SyntaxNode) =>
        each.kind === node.kind && JSON.stringify(each.span) === JSON.stringify(node.span);
      yield printStatement(transform(statement, (each) => (isSame(each) ? (smaller as typeof each) : each)));
    }
  }
}

const expressionKinds: ReadonlySet<string> = new Set<Expression['kind']>([
  'unary',
  'binary',
  'like',
  'between',
  'in-list',
  'in-query',
  'quantified',
  'is',
  'distinct-from',
  'cast',
  'case',
  'array',
  'subscript',
  'call',
  'subquery',
  'exists',
  'column',
  'literal',
]);

function* instead(node: SyntaxNode): Generator<SyntaxNode> {
  if (node.kind === 'query') yield* smallerQueries(node);
  else if (node.kind === 'select') yield* smallerSelects(node);
  else if (node.kind === 'set-operation') yield* [node.left, node.right];
  else if (node.kind === 'join') yield* [node.left, node.right];
  else if (expressionKinds.has(node.kind) && node.kind !== 'literal') {
    for (const child of childrenOf(node)) if (expressionKinds.has(child.kind)) yield child;
    const { span } = node;
    if (node.kind !== 'column') yield { kind: 'literal', type: 'null', value: null, span };
    if (node.kind === 'case') yield { ...node, branches: node.branches.slice(0, 1), otherwise: undefined };
    if (node.kind === 'in-list' && node.items.length > 1) yield { ...node, items: node.items.slice(1) };
    if (node.kind === 'call' && node.filter !== undefined) yield { ...node, filter: undefined };
  }
}

function* smallerQueries(node: Query): Generator<Query> {
  const { limit, offset, orderBy } = node;
  if (limit !== undefined || offset !== undefined) yield { ...node, limit: undefined, offset: undefined };
  // Which rows DISTINCT ON keeps, and which are on a page, depends on the whole order.
  const isFree = node.body.kind !== 'select' || typeof node.body.distinct !== 'object';
  if (orderBy.length > 0 && isFree) yield { ...node, orderBy: [], limit: undefined, offset: undefined };
  if (orderBy.length > 1 && isFree && limit === undefined && offset === undefined)
    yield { ...node, orderBy: orderBy.slice(1) };
  if (node.commonTables.length > 0) yield { ...node, commonTables: [] };
}

function* smallerSelects(node: SelectNode): Generator<SelectNode> {
  if (node.where !== undefined) yield { ...node, where: undefined };
  if (node.having !== undefined) yield { ...node, having: undefined };
  if (node.distinct !== undefined) yield { ...node, distinct: undefined };
  for (const index of node.items.keys())
    if (node.items.length > 1) yield { ...node, items: node.items.toSpliced(index, 1) };
  for (const index of node.from.keys())
    if (node.from.length > 1) yield { ...node, from: node.from.toSpliced(index, 1) };
  for (const index of node.groupBy.keys()) yield { ...node, groupBy: node.groupBy.toSpliced(index, 1) };
}
