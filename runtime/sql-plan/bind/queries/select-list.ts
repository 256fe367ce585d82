import type { Expression, SelectItem, SelectNode } from '#runtime/sql-syntax/nodes/syntax-nodes.ts';
import type { BoundExpression } from '../../bound/bound-statement.ts';
import type { ExpressionContext } from '../expressions/expression-context.ts';
import { OUTPUT_COLUMNS_MAX } from '../limits.ts';
import { suggestion } from '../scopes/name-suggestions.ts';
import type { NamedRelation, NameScope } from '../scopes/name-scope.ts';
import type { QueryContext } from './query-context.ts';

/** A column of a select list; it may be bound several times, in different contexts. */
export interface SelectEntry {
  readonly name: string;
  /** Absent: it comes from `*`. */
  readonly node: Expression | undefined;
  readonly bind: (context: ExpressionContext) => BoundExpression;
}

/** A list of expressions with names: of SELECT, or of RETURNING. */
export interface NamedList extends Pick<SelectNode, 'items' | 'span'> {
  /** What it is about; nothing: it is a SELECT without FROM. */
  readonly from: readonly unknown[];
}

/** The columns of a select list, with `*` expanded. @throws {ServiceError} `VALIDATION_FAILED` */
export function selectEntries(
  node: NamedList,
  scope: NameScope,
  context: QueryContext,
): readonly SelectEntry[] {
  const entries: SelectEntry[] = [];
  for (const item of node.items) {
    entries.push(...(item.kind === 'star' ? starEntries(item, scope, context) : [itemEntry(item)]));
    if (entries.length > OUTPUT_COLUMNS_MAX)
      throw context.binding.error(`A select list may have at most ${OUTPUT_COLUMNS_MAX} columns`, node.span);
  }
  context.binding.countColumns(entries.length, node.span);
  const fallback = unnamed(node, context);
  return entries.map((entry, index) => (entry.name === '' ? { ...entry, name: fallback(index) } : entry));
}

type Star = Extract<SelectItem, { kind: 'star' }>;

function starEntries(star: Star, scope: NameScope, { binding }: QueryContext): readonly SelectEntry[] {
  return starRelations(star, scope, binding).flatMap(({ columns }) =>
    columns.map(({ name, type, relation, column }) => ({
      name,
      node: undefined,
      bind: () => ({ kind: 'column', type, relation, column }),
    })),
  );
}

function starRelations(
  { table, span }: Star,
  scope: NameScope,
  binding: QueryContext['binding'],
): readonly NamedRelation[] {
  if (table === undefined) {
    if (scope.relations.length === 0) throw binding.error('SELECT * requires a FROM clause', span);
    return scope.relations;
  }
  const relation = scope.relation(table);
  if (relation !== undefined) return [relation];
  const names = scope.relations.map(({ name }) => name);
  throw binding.error(`Table not found in FROM: ${table}${suggestion(table, names)}`, span);
}

function itemEntry({ expression, alias }: Extract<SelectItem, { kind: 'item' }>): SelectEntry {
  return {
    name: alias ?? (expression.kind === 'column' ? expression.name : ''),
    node: expression,
    bind: (context) => context.bind(expression, context),
  };
}

/** The names of columns that have none of their own. */
function unnamed({ from }: NamedList, { isCommonTable }: QueryContext): (index: number) => string {
  if (isCommonTable) return (index) => `col${index}`;
  return from.length === 0 ? (index) => `column${index + 1}` : () => '?column?';
}
