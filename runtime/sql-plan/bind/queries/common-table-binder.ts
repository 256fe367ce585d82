import type {
  CommonTable,
  Query,
  QueryBody,
  SetOperationNode,
} from '#runtime/sql-syntax/nodes/syntax-nodes.ts';
import { sameType } from '#runtime/sql-values/types/common-type.ts';
import type { BoundQuery, CommonTablePlan, RelationColumn } from '../../bound/bound-statement.ts';
import type { CommonTableEntry, CommonTableScope } from '../scopes/common-table-scope.ts';
import { unwrapped } from './bare-query.ts';
import { type QueryContext, settledQuery } from './query-context.ts';
import { alignedArms } from './set-operation-binder.ts';

/** How often the types of a recursive table may become wider, each time because of its second part. */
const TYPE_ROUNDS_MAX = 4;

/** The names that a query may use: those around it, and those of its own WITH clause. */
export function bindCommonTables(query: Query, context: QueryContext): CommonTableScope {
  let scope = context.commonTables;
  const names = new Set<string>();
  for (const table of query.commonTables) {
    if (names.has(table.name)) throw context.binding.error(`Duplicate CTE name: ${table.name}`, table.span);
    names.add(table.name);
    const inner: QueryContext = {
      ...context,
      commonTables: scope.runOnce,
      isOutermost: false,
      isCommonTable: true,
    };
    const entry = query.isRecursive ? bindRecursive(table, inner) : bindPlain(table, inner);
    scope = scope.with(table.name, entry);
  }
  return scope;
}

function bindPlain(table: CommonTable, context: QueryContext): CommonTableEntry {
  const { binding } = context;
  const bound = settledQuery(context.bindQuery(table.query, context), table.span, context.typing);
  const query = renamed(table, bound, context);
  binding.commonTables.push({ name: table.name, query, step: undefined, isDistinct: false });
  return { kind: 'table', table: binding.commonTables.length - 1, columns: columnsOf(query) };
}

/** Binds a table of WITH RECURSIVE; it need not be recursive. */
function bindRecursive(table: CommonTable, context: QueryContext): CommonTableEntry {
  const union = unionOf(table.query);
  if (union === undefined) {
    const reason = `Recursive query ${table.name} must have the form: first part UNION [ALL] recursive part`;
    return bindPlain(table, withEntry(context, table, { kind: 'forbidden', reason }));
  }
  const reason = `Recursive reference to ${table.name} must not appear in the first part of its UNION`;
  const { binding, typing } = context;
  const firstPart = withEntry(context, table, { kind: 'forbidden', reason });
  const start = settledQuery(bindArm(union.left, firstPart), union.left.span, typing);
  let base = renamed(table, start, context);
  const before = binding.commonTables.length;
  for (let round = 0; round < TYPE_ROUNDS_MAX; round += 1) {
    const columns = columnsOf(base);
    const working: Extract<CommonTableEntry, { kind: 'working' }> = { kind: 'working', columns, plans: [] };
    binding.commonTables.length = before;
    const step = bindArm(union.right, withEntry(context, table, working));
    const arms = alignedArms('UNION', base, step, union.span, context);
    if (working.plans.length === 0) return plainUnion(table, union, arms, context);
    if (arms.columns.every(({ type }, index) => sameType(type, columns[index]!.type)))
      return recursiveTable(table, union, arms.queries, working.plans, context);
    base = arms.queries.left;
  }
  throw binding.error(
    `The two parts of ${table.name} do not settle on types of columns: cast them`,
    table.span,
  );
}

/** The union that a recursive table is made of, without anything around it. */
function unionOf(query: Query): SetOperationNode | undefined {
  const body = unwrapped(query);
  return body.kind === 'set-operation' && body.operator === 'union' ? body : undefined;
}

function bindArm(arm: QueryBody, context: QueryContext): BoundQuery {
  if (arm.kind === 'query') return context.bindQuery(arm, context);
  return context.bindQuery(queryOf(arm), context);
}

function queryOf(body: Exclude<QueryBody, Query>): Query {
  return {
    kind: 'query',
    isRecursive: false,
    commonTables: [],
    body,
    orderBy: [],
    limit: undefined,
    offset: undefined,
    span: body.span,
  };
}

function recursiveTable(
  table: CommonTable,
  union: SetOperationNode,
  { left, right }: { readonly left: BoundQuery; readonly right: BoundQuery },
  plans: readonly { -readonly [Key in keyof CommonTablePlan]: CommonTablePlan[Key] }[],
  { binding }: QueryContext,
): CommonTableEntry {
  if (plans.length > 1)
    throw binding.error(
      `Recursive reference to ${table.name} must not appear more than once`,
      union.right.span,
    );
  binding.commonTables.push({ name: table.name, query: left, step: right, isDistinct: !union.isAll });
  const position = binding.commonTables.length - 1;
  // Only now its position is known: the tables that its second part uses stand before it.
  for (const plan of plans) plan.table = position;
  return { kind: 'table', table: position, columns: columnsOf(left) };
}

/** A table of WITH RECURSIVE that does not name itself. */
function plainUnion(
  table: CommonTable,
  { isAll }: SetOperationNode,
  { columns, queries }: ReturnType<typeof alignedArms>,
  { binding }: QueryContext,
): CommonTableEntry {
  const relation = binding.newRelation();
  const query: BoundQuery = {
    plan: { kind: 'set-operation', relation, columns, operator: 'union', isAll, ...queries },
    output: columns.map(({ name, type }, column) => ({
      name,
      expression: { kind: 'column', type, relation, column },
    })),
  };
  binding.commonTables.push({ name: table.name, query, step: undefined, isDistinct: false });
  return { kind: 'table', table: binding.commonTables.length - 1, columns };
}

function withEntry(context: QueryContext, table: CommonTable, entry: CommonTableEntry): QueryContext {
  return { ...context, commonTables: context.commonTables.with(table.name, entry) };
}

/** The query with the names of columns that are written behind the name of the table. */
function renamed(
  { name, columns, span }: CommonTable,
  query: BoundQuery,
  { binding }: QueryContext,
): BoundQuery {
  if (columns.length === 0) return query;
  const count = query.output.length;
  if (columns.length > count)
    throw binding.error(`Table ${name} has ${count} columns, but ${columns.length} names are given`, span);
  const output = query.output.map((column, index) => ({ ...column, name: columns[index] ?? column.name }));
  return { plan: query.plan, output };
}

function columnsOf({ output }: BoundQuery): readonly RelationColumn[] {
  return output.map(({ name, expression }) => ({ name, type: expression.type }));
}
