import { unreachable } from '#runtime/base/assert.ts';
import type {
  DerivedTableNode,
  FunctionTableNode,
  JoinNode,
  Source,
  Span,
  TableNode,
} from '#runtime/sql-syntax/nodes/syntax-nodes.ts';
import type { CommonTablePlan, JoinPlan, LogicalPlan, RelationColumn } from '../../bound/bound-statement.ts';
import { nodeColumns } from '../../node-columns.ts';
import { isSchemaTable, schemaColumns } from '../../schema-columns.ts';
import { OUTPUT_COLUMNS_MAX, RELATIONS_MAX } from '../limits.ts';
import { NameScope, type NamedRelation, namedColumns, type RoutedTable } from '../scopes/name-scope.ts';
import { bindFunctionTable } from './function-table.ts';
import { expressionContext, type QueryContext, settledQuery } from './query-context.ts';
import { requireTableConditions } from './table-conditions.ts';

/** What FROM gives: rows, and the relations that they are made of. */
export interface BoundSource {
  readonly plan: LogicalPlan;
  readonly relations: readonly NamedRelation[];
}

/**
 * Binds a FROM clause; several entries are joined crosswise. Without one there is one row without columns.
 *
 * @throws {ServiceError} `VALIDATION_FAILED`
 */
export function bindFrom(sources: readonly Source[], context: QueryContext): BoundSource {
  const [first, ...others] = sources;
  if (first === undefined) {
    const relation = context.binding.newRelation();
    return { plan: { kind: 'values', relation, columns: [], rows: [[]] }, relations: [] };
  }
  let bound = bindSource(first, [], context);
  for (const source of others) {
    const right = bindSource(source, bound.relations, context);
    bound = joined('inner', bound, right, source.span, context);
  }
  return bound;
}

/** @param before the relations to the left, which subqueries in FROM cannot use */
function bindSource(source: Source, before: readonly NamedRelation[], context: QueryContext): BoundSource {
  // Joins lean to the left, and there may be thousands before their number is known to be too large.
  const chain: JoinNode[] = [];
  let first = source;
  while (first.kind === 'join') {
    chain.push(first);
    if (chain.length > RELATIONS_MAX)
      throw context.binding.error(`A statement may name at most ${RELATIONS_MAX} relations`, first.span);
    first = first.left;
  }
  let bound = bindLeaf(first, before, context);
  for (let join = chain.pop(); join !== undefined; join = chain.pop()) {
    const right = bindSource(join.right, [...before, ...bound.relations], context);
    const type = join.type === 'cross' ? 'inner' : join.type;
    bound = withCondition(join, joined(type, bound, right, join.span, context), [bound, right], context);
  }
  return bound;
}

function joined(
  type: JoinPlan['type'],
  left: BoundSource,
  right: BoundSource,
  span: Span,
  { binding }: QueryContext,
): BoundSource {
  const names = new Set(left.relations.map(({ name }) => name));
  for (const { name } of right.relations)
    if (names.has(name)) throw binding.error(`Table name ${name} is used more than once: give aliases`, span);
  const leftRelations = type === 'right' || type === 'full' ? nullExtended(left) : left.relations;
  const rightRelations = type === 'left' || type === 'full' ? nullExtended(right) : right.relations;
  return {
    plan: { kind: 'join', type, left: left.plan, right: right.plan, on: undefined },
    relations: [...leftRelations, ...rightRelations],
  };
}

function nullExtended({ relations }: BoundSource): readonly NamedRelation[] {
  return relations.map((relation) => ({ ...relation, isNullExtended: true }));
}

/** A join with its ON clause, which sees both sides of this join and nothing else. */
function withCondition(
  join: JoinNode,
  source: BoundSource,
  [left, right]: readonly [BoundSource, BoundSource],
  context: QueryContext,
): BoundSource {
  if (join.on === undefined || source.plan.kind !== 'join') return source;
  const scope = new NameScope([...left.relations, ...right.relations], context.outer);
  const expressions = expressionContext(context, scope, 'ON clause', { isCondition: true });
  const bound = expressions.bind(join.on, expressions);
  const on = context.typing.condition(bound, 'ON', join.on.span);
  // Only the rows of the side that gets NULLs may be chosen by ON before the join.
  const chosen = {
    inner: [...left.relations, ...right.relations],
    cross: [],
    left: right.relations,
    right: left.relations,
    full: [],
  }[join.type];
  requireTableConditions(on, chosen, join.on.span, context.binding);
  return { ...source, plan: { ...source.plan, on } };
}

function bindLeaf(
  source: Exclude<Source, JoinNode>,
  before: readonly NamedRelation[],
  context: QueryContext,
): BoundSource {
  context.binding.countTable(source.span);
  switch (source.kind) {
    case 'table':
      return bindTable(source, context);
    case 'derived-table':
      return bindDerived(source, before, context);
    case 'function-table':
      return bindFunction(source, before, context);
    default:
      return unreachable(source);
  }
}

function bindFunction(
  node: FunctionTableNode,
  before: readonly NamedRelation[],
  context: QueryContext,
): BoundSource {
  const plan = bindFunctionTable(node, before, context);
  return { plan, relations: [named(node, node.alias ?? node.name.toLowerCase(), plan, context)] };
}

function bindTable(node: TableNode, context: QueryContext): BoundSource {
  const { binding, commonTables } = context;
  const entry = commonTables.find(node.name);
  if (entry?.kind === 'forbidden') throw binding.error(entry.reason, node.span);
  const relation = binding.newRelation();
  const alias = node.alias ?? node.name;
  if (entry !== undefined) {
    const plan: { -readonly [Key in keyof CommonTablePlan]: CommonTablePlan[Key] } = {
      kind: 'common-table',
      relation,
      columns: entry.columns,
      table: entry.kind === 'table' ? entry.table : -1,
      alias,
    };
    if (entry.kind === 'working') entry.plans.push(plan);
    return { plan, relations: [named(node, alias, plan, context)] };
  }
  if (isSchemaTable(node.name)) {
    const table: RoutedTable = {
      kind: 'schema',
      relation,
      columns: schemaColumns[node.name],
      table: node.name,
      alias,
      branch: undefined,
      revision: undefined,
    };
    return { plan: table, relations: [{ ...named(node, alias, table, context), table }] };
  }
  const workspace = binding.scope.workspaceNamed(node.name, node.isBare);
  if (workspace === undefined) {
    // It has the columns of a workspace, so that a statement is bound alike before and after the workspace is made.
    const missing = node.name;
    const plan: LogicalPlan = { kind: 'values', relation, columns: nodeColumns, rows: [], missing };
    return { plan, relations: [{ ...named(node, alias, plan, context), isWorkspace: true }] };
  }
  const table = storedNodes(relation, workspace, alias);
  return { plan: table, relations: [{ ...named(node, alias, table, context), isWorkspace: true, table }] };
}

/** The nodes of a workspace as they are stored at the head of the branch of the statement. */
export function storedNodes(
  relation: number,
  workspace: string,
  alias: string,
): Extract<RoutedTable, { kind: 'nodes' }> {
  return {
    kind: 'nodes',
    relation,
    columns: nodeColumns,
    workspace,
    alias,
    branch: undefined,
    revision: undefined,
    locales: undefined,
  };
}

function bindDerived(
  node: DerivedTableNode,
  before: readonly NamedRelation[],
  context: QueryContext,
): BoundSource {
  const { binding, typing } = context;
  const { alias } = node;
  if (alias === undefined) throw binding.error('Derived tables must have an alias', node.span);
  const around = new NameScope(before, context.outer);
  const bound = context.bindQuery(node.query, {
    ...context,
    outer: around.aroundSubquery,
    isOutermost: false,
    isCommonTable: false,
  });
  const query = settledQuery(bound, node.span, typing);
  const columns = query.output.map(({ name, expression }) => ({ name, type: expression.type }));
  const plan: LogicalPlan = {
    kind: 'project',
    relation: binding.newRelation(),
    columns,
    input: query.plan,
    expressions: query.output.map(({ expression }) => expression),
  };
  return { plan, relations: [named(node, alias, plan, context)] };
}

/** A relation with the names that its entry of FROM gives to it and its columns. */
function named(
  { columnAliases, span }: TableNode | DerivedTableNode | FunctionTableNode,
  name: string,
  { relation, columns }: { readonly relation: number; readonly columns: readonly RelationColumn[] },
  { binding }: QueryContext,
): NamedRelation {
  if (columnAliases.length > columns.length) {
    const text = `Table ${name} has ${columns.length} columns, but ${columnAliases.length} names are given`;
    throw binding.error(text, span);
  }
  if (columns.length > OUTPUT_COLUMNS_MAX)
    throw binding.error(`A relation may have at most ${OUTPUT_COLUMNS_MAX} columns`, span);
  return {
    name,
    columns: namedColumns(relation, columns, columnAliases),
    isWorkspace: false,
    table: undefined,
    isNullExtended: false,
  };
}
