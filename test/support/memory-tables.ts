import { assert } from '#runtime/base/assert.ts';
import { type JsonObject, ownValue } from '#runtime/content/values/json-value.ts';
import type { Execution } from '#runtime/sql-exec/execution.ts';
import { compileExpression } from '#runtime/sql-exec/expressions/compile-expression.ts';
import type { Evaluate } from '#runtime/sql-exec/expressions/evaluate.ts';
import type { Operator, Row } from '#runtime/sql-exec/operator.ts';
import type { TableAccess, TableRead, Tables, WantedColumn } from '#runtime/sql-exec/ports.ts';
import { type NodeColumn, nodeColumns } from '#runtime/sql-plan/node-columns.ts';
import { comparatorOf } from '#runtime/sql-values/ordering/comparator.ts';
import { Jsonb, type SqlValue } from '#runtime/sql-values/sql-value.ts';

/** A row of a workspace; a column that is absent is NULL. */
export type NodeRow = Partial<Readonly<Record<NodeColumn, SqlValue>>>;

/** Workspaces in memory: every read looks at all rows. */
export class MemoryTables implements Tables {
  /** What was asked, in its order. */
  readonly reads: TableRead[] = [];
  /** Rows that operators have looked at. */
  visited = 0;
  /** Operators that were opened and not closed. */
  open = 0;
  readonly #execution: Execution;
  readonly #workspaces: Readonly<Record<string, readonly NodeRow[]>>;
  readonly #options: { readonly canOrder?: boolean; readonly batchRows?: number };

  /** @param options whether an order that is asked for is given; the most rows of a batch */
  constructor(
    execution: Execution,
    workspaces: Readonly<Record<string, readonly NodeRow[]>>,
    options: { readonly canOrder?: boolean; readonly batchRows?: number } = {},
  ) {
    this.#execution = execution;
    this.#workspaces = workspaces;
    this.#options = options;
  }

  *choose(read: TableRead): Generator<undefined, TableAccess> {
    this.reads.push(read);
    yield undefined;
    assert(read.table.kind === 'nodes', 'there are no tables of the schema in memory');
    const rows = this.#workspaces[read.table.workspace] ?? [];
    const isOrdered = read.order.length > 0 && this.#options.canOrder === true;
    const sorted = isOrdered ? [...rows].sort((a, b) => compareRows(a, b, read.order)) : rows;
    return {
      description: `TableScan: workspace=${read.table.workspace}`,
      shape: `TableScan: workspace=${read.table.workspace}`,
      rows: rows.length,
      cost: rows.length * 1_000,
      indexed: [],
      isOrdered,
      open: () => this.#operator(sorted, read),
    };
  }

  #operator(rows: readonly NodeRow[], read: TableRead): Operator {
    const conditions = read.conditions.map((condition) =>
      compileExpression<NodeRow>(condition, readColumn, this.#execution),
    );
    const wanted = read.wanted.map(readerOf);
    const { batchRows = 1_000 } = this.#options;
    const execution = this.#execution;
    const tables = this;
    let position = 0;
    let isClosed = false;
    this.open += 1;
    return {
      *next() {
        while (position < rows.length && !isClosed) {
          const made: Row[] = [];
          while (position < rows.length && made.length < batchRows) {
            const row = rows[position]!;
            position += 1;
            tables.visited += 1;
            execution.spend(500);
            if (conditions.every((condition) => condition(row) === true)) {
              made.push(wanted.map((value) => value(row)));
            }
            if (!execution.isDue) continue;
            execution.pausing();
            yield undefined;
          }
          if (made.length > 0) return made;
        }
        return undefined;
      },
      close() {
        if (!isClosed) tables.open -= 1;
        isClosed = true;
      },
    };
  }
}

const readColumn: Parameters<typeof compileExpression<NodeRow>>[1] = (expression) => {
  if (expression.kind !== 'column') return undefined;
  const { name } = nodeColumns[expression.column]!;
  return (row) => row[name] ?? null;
};

function readerOf(wanted: WantedColumn): Evaluate<NodeRow> {
  if (wanted.kind === 'column') {
    const { name } = nodeColumns[wanted.column]!;
    return (row) => row[name] ?? null;
  }
  return (row) => {
    const properties = row.properties;
    if (!(properties instanceof Jsonb)) return null;
    const value = ownValue(properties.value as JsonObject, wanted.key);
    if (value === undefined) return null;
    if (!wanted.isText) return new Jsonb(value);
    if (value === null) return null;
    return typeof value === 'string' ? value : JSON.stringify(value);
  };
}

function compareRows(a: NodeRow, b: NodeRow, order: TableRead['order']): number {
  for (const { wanted, isDescending, nullsFirst } of order) {
    const [x, y] = [readerOf(wanted)(a), readerOf(wanted)(b)];
    if (x === null && y === null) continue;
    if (x === null || y === null) return (x === null) === nullsFirst ? -1 : 1;
    const type =
      wanted.kind === 'column'
        ? wanted.type
        : { name: wanted.isText ? ('text' as const) : ('jsonb' as const) };
    const order = comparatorOf(type)(x, y);
    if (order !== 0) return isDescending ? -order : order;
  }
  return 0;
}
