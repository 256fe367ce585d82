import type { Expression, Query } from '#runtime/sql-syntax/nodes/syntax-nodes.ts';
import type { Statement } from '#runtime/sql-syntax/nodes/statement-nodes.ts';
import { parseStatement } from '#runtime/sql-syntax/parse-statements.ts';

/** A tree without the places, for comparing it with one of another text. */
export function withoutSpans<Tree>(tree: Tree): Tree {
  const copy = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(copy);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(
      Object.entries(value)
        .filter(([key, part]) => key !== 'span' && part !== undefined)
        .map(([key, part]) => [key, copy(part)]),
    );
  };
  return copy(tree) as Tree;
}

/** The query of a statement that is one, or explains one. */
export function queryOf(statement: Statement): Query {
  if (statement.kind === 'query-statement') return statement.query;
  if (statement.kind === 'explain' && statement.statement.kind === 'query') return statement.statement;
  throw new Error('the statement is no query');
}

/** The first expression of the select list of a statement. */
export function selected(statement: Statement): Expression {
  const { body } = queryOf(statement);
  const item = body.kind === 'select' ? body.items[0] : undefined;
  if (item?.kind !== 'item') throw new Error('the statement selects no expression');
  return item.expression;
}

/** The tree of an expression as nested lists, with every operator before its operands. */
export function shapeOf(text: string): string {
  return shape(selected(parseStatement(`SELECT ${text}`)));
}

function negation(node: { readonly isNegated: boolean }): string {
  return node.isNegated ? 'not-' : '';
}

function shape(node: Expression): string {
  const join = (head: string, ...nodes: readonly Expression[]): string =>
    `(${[head, ...nodes.map(shape)].join(' ')})`;
  switch (node.kind) {
    case 'literal':
      return node.type === 'text' ? `'${node.value}'` : String(node.value);
    case 'column':
      return node.table === undefined ? node.name : `${node.table}.${node.name}`;
    case 'parameter':
      return `$${node.index}`;
    case 'unary':
      return join(node.operator, node.operand);
    case 'binary':
      return join(node.operator, node.left, node.right);
    case 'like':
      return join(`${negation(node)}${node.ignoresCase ? 'ilike' : 'like'}`, node.operand, node.pattern);
    case 'between':
      return join(`${negation(node)}between`, node.operand, node.low, node.high);
    case 'in-list':
      return join(`${negation(node)}in`, node.operand, ...node.items);
    case 'is':
      return join(`is-${negation(node)}${node.test}`, node.operand);
    case 'distinct-from':
      return join(`${negation(node)}distinct`, node.left, node.right);
    case 'cast':
      return join(`::${node.type.name}${node.type.isArray ? '[]' : ''}`, node.operand);
    case 'subscript':
      return join('[]', node.operand, node.index);
    case 'call':
      return join(node.name, ...node.args);
    case 'row':
      return join('row', ...node.items);
    case 'array':
      return join('array', ...node.items);
    case 'property-path':
      return `$.${node.steps.join('/')}`;
    case 'quantified':
      return node.right.kind === 'query'
        ? join(`${node.operator}${node.quantifier}-query`, node.left)
        : join(`${node.operator}${node.quantifier}`, node.left, node.right);
    case 'in-query':
      return join(`${negation(node)}in-query`, node.operand);
    default:
      return node.kind;
  }
}
