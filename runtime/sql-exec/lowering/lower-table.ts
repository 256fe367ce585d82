import type {
  BoundExpression,
  BoundSort,
  NodesPlan,
  SchemaPlan,
} from '#runtime/sql-plan/bound/bound-statement.ts';
import type { Names } from '../explain/names.ts';
import { printExpressions } from '../explain/print-expression.ts';
import type { TableAccess, TableRead, WantedColumn } from '../ports.ts';
import { type LoweringContext, makeStep, type Wish } from './context.ts';
import { columnSlot, Layout } from './layout.ts';
import type { Lookups, PhysicalPlan } from './physical-plan.ts';
import { propertyAccess } from './property-access.ts';

/** Lowers a table with all its conditions. */
export function* lowerTable(
  context: LoweringContext,
  table: NodesPlan | SchemaPlan,
  conditions: readonly BoundExpression[],
  wish: Wish,
): Generator<undefined, PhysicalPlan> {
  const names: string[] = [];
  const wanted: WantedColumn[] = [];
  for (const { column } of context.needs.propertiesOf(table.relation)) {
    if (!isProperties(table, column.column)) context.needs.addColumn(table.relation, column.column);
  }
  for (const column of context.needs.columnsOf(table.relation)) {
    names.push(columnSlot(table.relation, column));
    wanted.push({ kind: 'column', column, type: table.columns[column]!.type });
  }
  for (const { isNumber, isText, key, slot } of context.needs.propertiesOf(table.relation)) {
    names.push(slot);
    wanted.push({ kind: 'property', key, isText, ...(isNumber ? { isNumber } : {}) });
  }
  const order = orderOf(table, wish.order);
  const read: TableRead = {
    table,
    wanted,
    conditions,
    order: order ?? [],
    limit: order === undefined ? undefined : wish.limit,
    ...(wish.isSummed === true ? { isSummed: true } : {}),
  };
  const access = yield* context.tables.choose(read);
  const layout = new Layout(names);
  return makeStep(context, {
    describe: (names) => `${describe(names, access, conditions)} (rows=${Math.round(access.rows)})`,
    inputs: [],
    layout,
    rows: access.rows,
    isOrdered: wish.order.length === 0 || (order !== undefined && access.isOrdered),
    sortedBy:
      access.sortedBy === undefined ? undefined : layout.slotOfColumn(table.relation, access.sortedBy),
    lookups: lookupsOf(access, conditions),
    open: () => access.open(),
  });
}

function lookupsOf(access: TableAccess, conditions: readonly BoundExpression[]): Lookups | undefined {
  const { cost, lookUp } = access;
  if (lookUp === undefined) return undefined;
  return {
    cost,
    *find(key) {
      const found = yield* lookUp(key);
      if (found === undefined) return undefined;
      const { description, indexed, shape, ...rest } = found;
      return {
        ...rest,
        open: (keys, costMax) => found.open(keys, costMax),
        describe: (names) => describe(names, { description, indexed, shape }, conditions),
      };
    },
  };
}

/** The access, and the conditions that it checks row by row. */
function describe(
  names: Names,
  access: Pick<TableAccess, 'description' | 'indexed' | 'shape'>,
  conditions: readonly BoundExpression[],
): string {
  const checked = conditions.filter((condition) => !access.indexed.includes(condition));
  const filter = checked.length === 0 ? '' : `, filter=${printExpressions(checked, names)}`;
  const description = names.showsValues ? access.description : access.shape;
  return `${description}${filter}`;
}

/** An order in terms of columns of the table. @returns undefined: a key is computed */
function orderOf(table: NodesPlan | SchemaPlan, keys: readonly BoundSort[]): TableRead['order'] | undefined {
  const order: TableRead['order'][number][] = [];
  for (const { expression, isDescending, nullsFirst } of keys) {
    const wanted = wantedOf(table, expression);
    if (wanted === undefined) return undefined;
    order.push({ wanted, isDescending, nullsFirst });
  }
  return order;
}

function wantedOf(table: NodesPlan | SchemaPlan, expression: BoundExpression): WantedColumn | undefined {
  if (expression.kind === 'column' && expression.relation === table.relation) {
    return { kind: 'column', column: expression.column, type: expression.type };
  }
  const access = propertyAccess(expression);
  if (access === undefined || access.column.relation !== table.relation) return undefined;
  if (!isProperties(table, access.column.column)) return undefined;
  return { kind: 'property', key: access.key, isText: access.isText };
}

/** Whether a column is the one whose properties a table can give one by one. */
function isProperties(table: NodesPlan | SchemaPlan, column: number): boolean {
  return table.kind === 'nodes' && table.columns[column]?.name === 'properties';
}
