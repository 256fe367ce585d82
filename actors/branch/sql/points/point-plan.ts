import type { WantedColumn } from '#runtime/sql-exec/ports.ts';
import type {
  BoundConstant,
  BoundExpression,
  BoundStatement,
  NodesPlan,
  OutputColumn,
  RelationColumn,
} from '#runtime/sql-plan/bound/bound-statement.ts';
import { nodeColumns } from '#runtime/sql-plan/node-columns.ts';
import { isPrepared, type PreparedColumn, preparedColumn, storedColumn } from '../tables/node-values.ts';
import { columnNamed, comparedColumn, propertyOf } from '../tables/known-conditions.ts';
import type { SqlValue } from '#runtime/sql-values/sql-value.ts';
import { columnKeys } from '../row-text.ts';
import type { NodeRow, RowNeeds } from '../tables/node-row.ts';
import { type StoredColumn, storedColumnJson } from './stored-columns.ts';

/** A column of the answer of a point query. */
export interface PointColumn {
  readonly wanted: WantedColumn;
  readonly type: RelationColumn['type'];
  /** What stands before its value in the text of a row. */
  readonly opening: string;
  /** Reads it of a row; undefined: that depends on the run, so the table tells how. */
  readonly read: ((row: NodeRow) => SqlValue) | undefined;
  /** Whether it is all properties of the node. */
  readonly isProperties: boolean;
  /** Writes it from stored bytes; undefined: of a property, and of `__tree_order`. */
  readonly stored: StoredColumn | undefined;
  /** Whether it is `__tree_order`, which other nodes tell. */
  readonly isTreeOrder: boolean;
}

/**
 * A query for the node with an id or a path, whose columns are those of the node and properties of it: one look-up answers it. It
 * has nothing of a run: neither a value nor the caller.
 */
export interface PointPlan {
  readonly table: NodesPlan;
  readonly by: 'id' | 'path';
  /** What the id or path is compared with; its value may be open. */
  readonly key: BoundConstant;
  readonly columns: readonly PointColumn[];
  /** The text of the answer before its rows. */
  readonly head: string;
  /** What a row has to prepare; without all properties, where their stored text is the answer. */
  readonly needs: RowNeeds;
  readonly needsBesideProperties: RowNeeds;
  /** How many of its columns grow with the content of the node. */
  readonly contents: number;
}

/** Columns that are as long as the content of a node. */
const contentColumns: ReadonlySet<string | undefined> = new Set(['properties', 'translations']);

const plans = new WeakMap<BoundStatement, PointPlan | 'general'>();

/** How a query is a point query; undefined: it is another one. What was found is kept with the statement. */
export function pointPlanOf(statement: BoundStatement): PointPlan | undefined {
  let plan = plans.get(statement);
  if (plan === undefined) {
    plan = foundPlan(statement) ?? 'general';
    plans.set(statement, plan);
  }
  return plan === 'general' ? undefined : plan;
}

function foundPlan({ commonTables, query: { output, plan } }: BoundStatement): PointPlan | undefined {
  if (commonTables.length > 0 || plan.kind !== 'filter' || plan.input.kind !== 'nodes') return undefined;
  const table = plan.input;
  // Another branch is lent, and read by its own rules.
  if (table.branch !== undefined || output.length === 0) return undefined;
  const point = pointIn(plan.predicate, table);
  if (point === undefined) return undefined;
  const keys = columnKeys(output.map(({ name }) => name));
  const columns: PointColumn[] = [];
  for (const [index, each] of output.entries()) {
    const wanted = wantedOf(each, table);
    if (wanted === undefined) return undefined;
    const column = columnNamed(each.expression, table.relation);
    columns.push({
      wanted,
      type: each.expression.type,
      opening: `${index === 0 ? '{' : ','}${JSON.stringify(keys[index])}:`,
      read: readerOf(each.expression, table),
      isProperties: column === 'properties',
      stored: column && storedColumnJson(column, table.workspace),
      isTreeOrder: column === '__tree_order',
    });
  }
  return {
    table,
    ...point,
    columns,
    head: `{"columns":${JSON.stringify(keys)},"rows":[`,
    needs: needsOf(output, table, true),
    needsBesideProperties: needsOf(output, table, false),
    contents: columns.filter(({ stored, wanted }) => stored === undefined || isContent(wanted)).length,
  };
}

function isContent(wanted: WantedColumn): boolean {
  return wanted.kind === 'column' && contentColumns.has(nodeColumns[wanted.column]?.name);
}

function pointIn(
  condition: BoundExpression,
  { relation }: NodesPlan,
): Pick<PointPlan, 'by' | 'key'> | undefined {
  if (condition.kind !== 'call' || condition.function.name !== '=') return undefined;
  const [left, right] = condition.args as [BoundExpression, BoundExpression];
  const [column, key] = right.kind === 'constant' ? [left, right] : [right, left];
  if (key.kind !== 'constant' || !isText(key)) return undefined;
  const by = comparedColumn(column, relation);
  return by === 'id' || by === 'path' ? { by, key } : undefined;
}

/** NULL, which equals nothing, is left to the general way. */
function isText(constant: BoundConstant): boolean {
  const { name } = constant.type;
  if (name !== 'text' && name !== 'path') return false;
  return constant.open !== undefined || typeof constant.value === 'string';
}

function wantedOf({ expression }: OutputColumn, { relation }: NodesPlan): WantedColumn | undefined {
  if (expression.kind === 'column' && expression.relation === relation)
    return { kind: 'column', column: expression.column, type: expression.type };
  const property = ownProperty(expression, relation);
  return property && { kind: 'property', ...property };
}

/** Reads a column that is the same for each branch and budget. */
function readerOf(expression: BoundExpression, { relation, workspace }: NodesPlan): PointColumn['read'] {
  const column = columnNamed(expression, relation);
  if (column === undefined || column === '__branch') return undefined;
  if (isPrepared(column)) return preparedColumn(column);
  return storedColumn(column, { workspace, branch: '', isTraversal: false });
}

/** A property with a name that is the same in each run. */
function ownProperty(expression: BoundExpression, relation: number): ReturnType<typeof propertyOf> {
  if (expression.kind !== 'call') return undefined;
  const isOpen = expression.args.some((each) => each.kind === 'constant' && each.open !== undefined);
  return isOpen ? undefined : propertyOf(expression, relation);
}

function needsOf(output: readonly OutputColumn[], { relation }: NodesPlan, isWhole: boolean): RowNeeds {
  const columns = new Set<PreparedColumn>();
  const properties = new Set<string>();
  for (const { expression } of output) {
    const column = columnNamed(expression, relation);
    if (column !== undefined && isPrepared(column) && (isWhole || column !== 'properties'))
      columns.add(column);
    const property = ownProperty(expression, relation);
    if (property !== undefined) properties.add(property.key);
  }
  const isOfProperties = properties.size > 0 || columns.has('properties');
  return { columns, properties, isOfProperties, targets: new Set() };
}
