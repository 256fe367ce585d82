import { requireAdministrator, requireLogin } from '#runtime/access/policy.ts';
import type { Revision } from '#runtime/content/revision.ts';
import {
  isJsonArray,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  ownValue,
} from '#runtime/content/values/json-value.ts';
import type { Execution } from '#runtime/sql-exec/execution.ts';
import { compileExpression } from '#runtime/sql-exec/expressions/compile-expression.ts';
import type { Operator, Row } from '#runtime/sql-exec/operator.ts';
import type { TableAccess, TableRead } from '#runtime/sql-exec/ports.ts';
import type { SchemaPlan } from '#runtime/sql-plan/bound/bound-statement.ts';
import { Jsonb, type SqlValue } from '#runtime/sql-values/sql-value.ts';
import type { SqlType } from '#runtime/sql-values/sql-type.ts';
import { listDefinitions } from '#runtime/tree/schema-store.ts';
import { isOfKind, storedKind } from '../../schema/definitions.ts';
import type { BranchTables } from '../branch-tables.ts';
import { timestamp } from './node-values.ts';

/** Rows of a batch. */
const BATCH = 64;

/** Estimated nanoseconds to read a definition, and to make a row of it. */
const ROW_WORK = 20_000;

const kinds = { NodeTypes: 'node_type', Archetypes: 'archetype', ElementTypes: 'element_type' } as const;

/**
 * How a table of the schema is read: all its rows. They are those that the listings of the schema answer to the same caller.
 *
 * @throws {ServiceError} `UNAUTHORIZED` without a login; of workspaces `FORBIDDEN` for who does not administer the repository
 */
export function schemaAccess(
  tables: BranchTables,
  plan: SchemaPlan,
  read: TableRead,
  execution: Execution,
  at: Revision | undefined,
): TableAccess {
  const { caller } = tables.context;
  requireLogin(caller.principal);
  if (plan.table === 'Workspaces') requireAdministrator(caller.policy, caller.principal);
  const rows = definitionsOf(tables, plan.table, at);
  const { name: branch } = tables.state;
  return {
    description: `TableScan: ${plan.table}`,
    shape: `TableScan: ${plan.table}`,
    rows: rows.length,
    cost: rows.length * ROW_WORK,
    indexed: [],
    isOrdered: false,
    open: () => new SchemaScan(plan, branch, read, execution, rows),
  };
}

function definitionsOf(
  { reader, state }: BranchTables,
  table: SchemaPlan['table'],
  at: Revision | undefined,
): readonly JsonObject[] {
  if (table === 'Workspaces') return state.workspaces() as unknown as readonly JsonObject[];
  const kind = kinds[table];
  const all = listDefinitions(reader, storedKind(kind), at).filter((each) => isOfKind(kind, each));
  return all as unknown as readonly JsonObject[];
}

/** Makes rows of definitions. */
class SchemaScan implements Operator {
  readonly #execution: Execution;
  readonly #rows: readonly JsonObject[];
  readonly #conditions: readonly ((row: JsonObject) => SqlValue)[];
  readonly #slots: readonly ((row: JsonObject) => SqlValue)[];
  #next = 0;

  constructor(
    plan: SchemaPlan,
    branch: string,
    { conditions, wanted }: TableRead,
    execution: Execution,
    rows: readonly JsonObject[],
  ) {
    const columnAt = (index: number): ((row: JsonObject) => SqlValue) => {
      const { name, type } = plan.columns[index] as SchemaPlan['columns'][number];
      if (name === '__branch') return () => branch;
      return (row) => sqlValueOf(ownValue(row, name), type);
    };
    this.#execution = execution;
    this.#rows = rows;
    this.#conditions = conditions.map((condition) =>
      compileExpression<JsonObject>(
        condition,
        (each) =>
          each.kind === 'column' && each.relation === plan.relation ? columnAt(each.column) : undefined,
        execution,
      ),
    );
    this.#slots = wanted.map((each) => (each.kind === 'column' ? columnAt(each.column) : () => null));
  }

  *next(): Generator<undefined, readonly Row[] | undefined> {
    const batch: Row[] = [];
    while (this.#next < this.#rows.length && batch.length < BATCH) {
      const row = this.#rows[this.#next] as JsonObject;
      this.#next += 1;
      this.#execution.spend(ROW_WORK);
      if (this.#conditions.every((holds) => holds(row) === true))
        batch.push(this.#slots.map((slot) => slot(row)));
      if (!this.#execution.isDue) continue;
      this.#execution.pausing();
      yield undefined;
    }
    return batch.length === 0 ? undefined : batch;
  }

  close(): void {
    this.#next = this.#rows.length;
  }
}

/** A field of a definition as a value of the type of its column. */
function sqlValueOf(value: JsonValue | undefined, type: SqlType): SqlValue {
  if (value === undefined || value === null) return null;
  switch (type.name) {
    case 'jsonb':
      return new Jsonb(value);
    case 'timestamptz':
      return typeof value === 'string' ? timestamp(value) : null;
    case 'bigint':
      return typeof value === 'number' || typeof value === 'bigint' ? BigInt(value) : null;
    case 'array': {
      const { element } = type;
      if (!isJsonArray(value) || element === undefined) return null;
      return value.map((item) => sqlValueOf(item, element));
    }
    default:
      return isJsonArray(value) || isJsonObject(value) ? JSON.stringify(value) : value;
  }
}
