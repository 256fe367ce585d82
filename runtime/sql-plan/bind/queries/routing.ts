import { formatRevision, parseRevision } from '#runtime/content/revision.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type {
  ColumnNode,
  Expression,
  LiteralNode,
  ParameterNode,
  Span,
} from '#runtime/sql-syntax/nodes/syntax-nodes.ts';
import type { NamedRelation, NameScope, RoutedTable } from '../scopes/name-scope.ts';
import type { StatementBinding } from '../statement-binding.ts';

/** The columns of a table of which a condition says what is read, instead of choosing among the rows. */
export type RoutingColumn = '__branch' | '__revision' | 'locale';

/** A condition that says what is read: `__branch = 'b'`, `__revision = 'r'`, `locale IN ('de', 'en')`. */
interface RoutingCondition {
  readonly column: RoutingColumn;
  readonly table: string | undefined;
  readonly values: readonly string[];
  readonly span: Span;
}

/** Why a condition that says what is read must not be there; undefined: it may. */
export type RefuseRoute = (column: RoutingColumn) => string | undefined;

/** The operands of the ANDs at the top of a condition, in order. */
export function conjunctsOf(condition: Expression): readonly Expression[] {
  const conjuncts: Expression[] = [];
  const open = [condition];
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    if (node.kind === 'binary' && node.operator === 'AND') open.push(node.right, node.left);
    else conjuncts.push(node);
  }
  return conjuncts;
}

/**
 * Takes the conditions that say what is read out of the operands of a WHERE clause, and tells the tables. A condition
 * without the name of a table is about all tables of this FROM clause.
 *
 * @param refuse tells which of these conditions are errors
 * @returns the other operands
 * @throws {ServiceError} `VALIDATION_FAILED` for conditions that contradict each other, and for a malformed revision
 */
export function routed(
  conjuncts: readonly Expression[],
  scope: NameScope,
  binding: StatementBinding,
  refuse?: RefuseRoute,
): readonly Expression[] {
  const routes = new Map<RoutedTable, Map<RoutingColumn, readonly string[]>>();
  const others = conjuncts.filter((node) => {
    const condition = routingCondition(node, binding);
    const relations = condition === undefined ? undefined : routedRelations(condition, scope);
    if (condition === undefined || relations === undefined) return true;
    const refusal = refuse?.(condition.column);
    if (refusal !== undefined) throw binding.error(refusal, condition.span);
    const values = condition.column === '__revision' ? revisions(condition, binding) : condition.values;
    for (const { table } of relations) {
      if (table === undefined) continue;
      const known = routes.get(table) ?? new Map<RoutingColumn, readonly string[]>();
      routes.set(table, known.set(condition.column, narrowed(condition, values, known, binding)));
    }
    return false;
  });
  for (const [table, route] of routes) applyRoute(table, route, binding);
  return others;
}

function applyRoute(
  table: RoutedTable,
  route: ReadonlyMap<RoutingColumn, readonly string[]>,
  { scope }: StatementBinding,
): void {
  const branch = route.get('__branch')?.[0];
  if (branch !== undefined && branch !== scope.branch) table.branch = branch;
  const revision = route.get('__revision')?.[0];
  if (revision !== undefined) table.revision = revision;
  const locales = route.get('locale');
  if (locales !== undefined && table.kind === 'nodes') table.locales = locales;
}

/** The values that fulfil a condition and those before it. */
function narrowed(
  { column, span }: RoutingCondition,
  values: readonly string[],
  known: ReadonlyMap<RoutingColumn, readonly string[]>,
  binding: StatementBinding,
): readonly string[] {
  const before = known.get(column);
  const both = [...new Set(values)].filter((value) => before?.includes(value) ?? true);
  if (both.length === 0) throw binding.error(`Contradictory conditions on ${column}`, span);
  return both;
}

/** The tables that a condition is about; undefined: it is an ordinary condition on an ordinary column. */
function routedRelations(
  { column, table }: RoutingCondition,
  scope: NameScope,
): readonly NamedRelation[] | undefined {
  const isRoutable = (relation: NamedRelation): boolean =>
    relation.isWorkspace || (relation.table !== undefined && column !== 'locale');
  if (table !== undefined) {
    const relation = scope.relation(table);
    return relation !== undefined && isRoutable(relation) ? [relation] : undefined;
  }
  const relations = scope.relations.filter(isRoutable);
  const isShared = scope.relations.some(
    (relation) => !isRoutable(relation) && relation.columns.some(({ name }) => name === column),
  );
  return relations.length === 0 || isShared ? undefined : relations;
}

function routingCondition(node: Expression, binding: StatementBinding): RoutingCondition | undefined {
  if (node.kind === 'binary' && node.operator === '=') {
    const { left, right, span } = node;
    const [column, value] = left.kind === 'column' ? [left, right] : [right, left];
    const name = routingColumn(column);
    const text = name === undefined ? undefined : constantText(value, name, binding);
    if (name === undefined || text === undefined) return undefined;
    return { column: name, table: (column as ColumnNode).table, values: [text], span };
  }
  if (node.kind === 'in-list' && !node.isNegated) {
    const name = routingColumn(node.operand);
    if (name !== 'locale') return undefined;
    const values = node.items.map((item) => constantText(item, name, binding));
    const texts = values.filter((value) => value !== undefined);
    if (texts.length < values.length) return undefined;
    return { column: name, table: (node.operand as ColumnNode).table, values: texts, span: node.span };
  }
  return undefined;
}

/** The constant of a condition `__branch = 'b'`, written in either order; undefined: it is another condition. */
export function branchConstant(
  node: Expression,
): { readonly column: ColumnNode; readonly value: LiteralNode | ParameterNode } | undefined {
  if (node.kind !== 'binary' || node.operator !== '=') return undefined;
  const [column, value] = node.left.kind === 'column' ? [node.left, node.right] : [node.right, node.left];
  if (column.kind !== 'column' || column.name !== '__branch') return undefined;
  return value.kind === 'literal' || value.kind === 'parameter' ? { column, value } : undefined;
}

function routingColumn(node: Expression): RoutingColumn | undefined {
  if (node.kind !== 'column') return undefined;
  const { name } = node;
  return name === '__branch' || name === '__revision' || name === 'locale' ? name : undefined;
}

/** A text that is known while planning; of a revision also a whole number. NULL is none, so that nothing fulfils it. */
function constantText(
  node: Expression,
  column: RoutingColumn,
  binding: StatementBinding,
): string | undefined {
  if (node.kind !== 'literal' && node.kind !== 'parameter') return undefined;
  const value = node.kind === 'literal' ? node.value : binding.parameter(node.index, node.span).value;
  if (typeof value === 'string') return value;
  const isNumber = typeof value === 'bigint' || (typeof value === 'number' && Number.isInteger(value));
  return column === '__revision' && isNumber ? String(value) : undefined;
}

/** Revisions in their full form: a bare number is that of the milliseconds. */
function revisions({ values, span }: RoutingCondition, binding: StatementBinding): readonly string[] {
  return values.map((value) => {
    const full = /^\d+$/.test(value) ? `${value}-0` : value;
    try {
      return formatRevision(parseRevision(full));
    } catch (error) {
      if (error instanceof ServiceError) throw binding.error(error.message, span);
      throw error;
    }
  });
}
