import { assert } from '#runtime/base/assert.ts';
import type {
  BoundCommonTable,
  BoundQuery,
  BoundStatement,
  CommonTablePlan,
  LogicalPlan,
} from '#runtime/sql-plan/bound/bound-statement.ts';
import { rowKeyOf } from '#runtime/sql-values/ordering/hash-key.ts';
import type { SqlType } from '#runtime/sql-values/sql-type.ts';
import type { Execution } from '../execution.ts';
import { Names } from '../explain/names.ts';
import { keyWork } from '../expressions/key-work.ts';
import type { Operator, Row } from '../operator.ts';
import { CommonTableOperator } from '../operators/common-table-operator.ts';
import { RoundOperator } from '../operators/round-operator.ts';
import type { Tables } from '../ports.ts';
import { CommonTableRun, QuerySource } from '../runs/common-table-run.ts';
import { RecursiveSource } from '../runs/recursive-source.ts';
import { CommonTableUses } from './common-tables.ts';
import { anyRows, type LoweringContext, makeStep, type Observer, type Wish } from './context.ts';
import { columnSlot, Layout } from './layout.ts';
import { lowerPlan } from './lower-plan.ts';
import { lowerQuery } from './lower-query.ts';
import { Needs } from './needs.ts';
import type { PhysicalPlan } from './physical-plan.ts';
import { requireDepth } from './plan-parts.ts';
import { pushDownQuery } from './push-down.ts';
import { Subqueries } from './subqueries.ts';

/** How a common table is read. */
interface KeptTable {
  /** The plan of its rows, for explanations. */
  readonly plan: PhysicalPlan;
  readonly run: CommonTableRun;
}

/** About how many rounds a recursive table takes. */
const ROUNDS = 10;

/** A statement that is being lowered, and what its parts share while it runs. */
export class LoweredStatement implements LoweringContext {
  readonly execution: Execution;
  readonly tables: Tables;
  readonly needs: Needs = new Needs();
  readonly names: Names;
  readonly subqueries: Subqueries;
  readonly observe: Observer | undefined;
  readonly #statement: BoundStatement;
  readonly #uses: CommonTableUses;
  readonly #kept = new Map<number, KeptTable>();
  /** The recursive table whose step is lowered at present, and its source. */
  #step:
    | { readonly table: number; readonly source: () => RecursiveSource; readonly rows: number }
    | undefined;

  /** @throws {ServiceError} `VALIDATION_FAILED` for a statement that is nested too deeply */
  constructor(
    statement: BoundStatement,
    tables: Tables,
    execution: Execution,
    observe: Observer | undefined,
  ) {
    requireDepth(statement);
    this.#statement = statement;
    this.tables = tables;
    this.execution = execution;
    this.observe = observe;
    this.names = new Names(statement);
    this.#uses = new CommonTableUses(statement);
    this.subqueries = new Subqueries((plan) => this.#uses.inlined(plan));
  }

  /** The query with its conditions moved down. */
  optimized(query: BoundQuery): BoundQuery {
    return pushDownQuery(query, (plan) => this.#uses.inlined(plan));
  }

  /** Lowers the whole statement. It pauses between its parts: each looks at all expressions of the statement. */
  *plan(): Generator<undefined, PhysicalPlan> {
    yield undefined;
    for (const [table, commonTable] of this.#statement.commonTables.entries()) {
      if (this.#uses.isKept(table)) this.#kept.set(table, yield* this.#keep(table, commonTable));
    }
    const query = this.optimized(this.#statement.query);
    yield undefined;
    return yield* lowerQuery(this, query, anyRows);
  }

  *lower(plan: LogicalPlan, wish: Wish): Generator<undefined, PhysicalPlan> {
    if (plan.kind === 'common-table') return this.#readCommonTable(plan);
    return yield* lowerPlan(this, plan, wish);
  }

  /** The plans of the common tables that are kept, by name, for explanations. */
  get commonTables(): readonly { readonly name: string; readonly plan: PhysicalPlan }[] {
    return [...this.#kept].map(([table, { plan }]) => ({
      name: this.#statement.commonTables[table]!.name,
      plan,
    }));
  }

  /** Frees what the parts share. */
  close(): void {
    this.subqueries.close();
    for (const { run } of this.#kept.values()) run.close();
    this.execution.computed.clear();
  }

  *#keep(table: number, { query, step, isDistinct }: BoundCommonTable): Generator<undefined, KeptTable> {
    const base = yield* lowerQuery(this, this.optimized(query), anyRows);
    if (step === undefined) {
      return { plan: base, run: new CommonTableRun(this.execution, new QuerySource(base.open)) };
    }
    const types = query.output.map(({ expression }) => expression.type);
    let source: RecursiveSource | undefined;
    const sourceOf = (): RecursiveSource => {
      assert(source !== undefined, 'the step of a recursive table is opened before its first part');
      return source;
    };
    this.#step = { table, source: sourceOf, rows: base.rows };
    const lowered = yield* lowerQuery(this, this.optimized(step), anyRows);
    this.#step = undefined;
    source = new RecursiveSource(this.execution, {
      openBase: base.open,
      openStep: lowered.open,
      key: isDistinct ? this.#keyOf(types) : undefined,
    });
    const plan = {
      ...base,
      describe: () => (isDistinct ? 'RecursiveUnion' : 'RecursiveUnionAll'),
      inputs: [base, lowered],
      rows: base.rows + lowered.rows * ROUNDS,
    };
    return { plan, run: new CommonTableRun(this.execution, source) };
  }

  #readCommonTable(plan: CommonTablePlan): PhysicalPlan {
    const layout = new Layout(plan.columns.map((_, column) => columnSlot(plan.relation, column)));
    for (const { column } of this.needs.propertiesOf(plan.relation)) {
      this.needs.addColumn(plan.relation, column.column);
    }
    const step = this.#step;
    if (step?.table === plan.table) {
      return makeStep(this, {
        describe: () => `RecursiveRound: ${plan.alias}`,
        inputs: [],
        layout,
        rows: step.rows,
        isOrdered: false,
        open: () => new RoundOperator(this.execution, step.source()),
      });
    }
    const kept = this.#kept.get(plan.table);
    assert(kept !== undefined, 'a common table is read that is not kept');
    return makeStep(this, {
      describe: () => `CommonTableScan: ${plan.alias}`,
      inputs: [],
      layout,
      rows: kept.plan.rows,
      isOrdered: false,
      open: (): Operator => new CommonTableOperator(this.execution, kept.run),
    });
  }

  #keyOf(types: readonly SqlType[]): (row: Row) => string {
    const keyOf = rowKeyOf(types);
    return (row) => {
      for (const value of row) this.execution.spendOnCall(keyWork(value));
      return keyOf(row);
    };
  }
}
