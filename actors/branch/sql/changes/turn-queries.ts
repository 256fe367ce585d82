import type { JsonValue } from '#runtime/content/values/json-value.ts';
import { Execution } from '#runtime/sql-exec/execution.ts';
import type { Row } from '#runtime/sql-exec/operator.ts';
import { rowBytes } from '#runtime/sql-exec/operators/row-memory.ts';
import type { Tables } from '#runtime/sql-exec/ports.ts';
import { openStatement } from '#runtime/sql-exec/run-statement.ts';
import type { BoundStatement, RelationColumn } from '#runtime/sql-plan/bound/bound-statement.ts';
import type { StatementScope } from '#runtime/sql-plan/ports.ts';
import type { AccessReadStatement } from '#runtime/sql-syntax/nodes/access-nodes.ts';
import type { ExplainStatement } from '#runtime/sql-syntax/nodes/statement-nodes.ts';
import type { BranchState } from '../../branch-state.ts';
import type { Turn } from '#runtime/commit/behaviour.ts';
import type { Revision } from '#runtime/content/revision.ts';
import { atOnce } from '#runtime/base/event-loop/at-once.ts';
import type { NodeRecord } from '#runtime/tree/record/node-record.ts';
import { readAccess } from '../access-reads/read-access.ts';
import { type BranchTables, OpenBranches } from '../branch-tables.ts';
import { explainedPlan } from '../explained-plan.ts';
import { NodeTables } from '../node-tables.ts';
import { statementScope } from '../sql-scope.ts';
import { statementCaller } from '../statement-caller.ts';
import { LookedUpNodes } from './looked-up-nodes.ts';

/** Ids that are looked up by one query: its condition names each of them. */
const IDS_PER_QUERY = 256;

/** Rows that were read, with the columns that they have. */
export interface KeptRows {
  readonly columns: readonly RelationColumn[];
  readonly rows: readonly Row[];
}

/**
 * Queries of statements that write. They read what the command has written so far, as its caller may see it. All rows are kept
 * before one is used, because writing changes what a scan would find next. It must be closed.
 */
export class TurnQueries {
  readonly #state: BranchState;
  readonly #turn: Turn;
  readonly #branches: OpenBranches;
  readonly #own: BranchTables;
  #keptBytes = 0;
  #plan: (() => string) | undefined;

  /** @param moment the revision that is read; absent: what the command has written so far */
  constructor(state: BranchState, turn: Turn, moment?: Revision) {
    const schemas = state.commandSchemas;
    this.#state = state;
    this.#turn = turn;
    this.#branches = new OpenBranches({ state, context: turn, reader: turn, schemas, moment });
    this.#own = this.#branches.own;
  }

  /** What the statements of the command may name. @param sql their text; yields where the work may pause */
  *scopeOf(sql: string, parameters: readonly JsonValue[]): Generator<undefined, StatementScope> {
    const turn = this.#turn;
    const caller = yield* statementCaller(this.#own, sql);
    return { ...statementScope(this.#state, turn.caller, turn.wallMs, parameters), caller };
  }

  /** All rows of a query. @throws {ServiceError} those of the query; `REQUEST_TOO_EXPENSIVE` when they take too much memory */
  *rows(statement: BoundStatement): Generator<undefined, KeptRows> {
    const execution = this.#begin();
    return yield* this.#kept(statement, new NodeTables(this.#own, execution), execution, true);
  }

  /** Runs a query whose rows nobody sees: it may fail all the same. */
  *unseen(statement: BoundStatement): Generator<undefined, void> {
    const execution = this.#begin();
    const opened = yield* openStatement(statement, new NodeTables(this.#own, execution), execution);
    this.#plan = () => opened.planWithoutValues();
    try {
      while ((yield* opened.next()) !== undefined) yield;
    } finally {
      opened.close();
    }
  }

  /**
   * As {@link rows}, of a query over nodes with certain ids, which are looked up.
   *
   * @param statementFor the query over some of them
   */
  *rowsOf(
    ids: readonly string[],
    statementFor: (ids: readonly string[]) => BoundStatement,
  ): Generator<undefined, readonly Row[]> {
    const rows: Row[] = [];
    for (let start = 0; start < ids.length; start += IDS_PER_QUERY) {
      const some = ids.slice(start, start + IDS_PER_QUERY);
      const execution = this.#begin();
      const tables = new LookedUpNodes(this.#own, execution, some);
      for (const row of (yield* this.#kept(statementFor(some), tables, execution)).rows) rows.push(row);
      yield;
    }
    return rows;
  }

  /** The row of a query over one node. It pauses only for a large one: for others a pause costs more than the query. */
  *rowOf(record: NodeRecord, statement: BoundStatement): Generator<undefined, Row | undefined> {
    const steps = this.rowsOf([record.id], () => statement);
    const [row] = record.isLarge ? yield* steps : atOnce(steps);
    return row;
  }

  /** All rows of a statement that reads roles, groups, users or settings of access. */
  *accessRows(
    statement: AccessReadStatement,
    source: string,
    scope: StatementScope,
  ): Generator<undefined, KeptRows> {
    const reading = { tables: this.#own, execution: this.#begin(), scope, source };
    let columns: KeptRows['columns'] = [];
    const rows: Row[] = [];
    for (const result of readAccess(reading, statement)) {
      if (result === undefined) yield;
      else if ('columns' in result) columns = result.columns;
      else this.#add(rows, result.rows);
    }
    return { columns, rows };
  }

  /** The text of an explanation. */
  *explained(explain: ExplainStatement, text: string, scope: StatementScope): Generator<undefined, string> {
    const execution = this.#begin();
    const tables = new NodeTables(this.#own, execution);
    const clock = (): number => this.#state.clock.monotonicMs();
    return yield* explainedPlan(explain, text, { scope, tables, execution, clock });
  }

  /** Makes the text of the plan of the last whole query since the release, without its constants; undefined: there was none. */
  get plan(): (() => string) | undefined {
    return this.#plan;
  }

  /** Gives back the memory of all rows so far: nothing of them is used any more. */
  release(): void {
    this.#plan = undefined;
    this.#turn.budget.free(this.#keptBytes);
    this.#keptBytes = 0;
  }

  close(): void {
    this.release();
    this.#branches.close();
  }

  /** What was written since the last query does not count as work of its rows. */
  #begin(): Execution {
    return new Execution(this.#turn.budget);
  }

  /** @param isWhole whether it is not a query over nodes that are known already */
  *#kept(
    statement: BoundStatement,
    tables: Tables,
    execution: Execution,
    isWhole = false,
  ): Generator<undefined, KeptRows> {
    const opened = yield* openStatement(statement, tables, execution);
    if (isWhole) this.#plan = () => opened.planWithoutValues();
    try {
      const rows: Row[] = [];
      for (;;) {
        const batch = yield* opened.next();
        if (batch === undefined) return { columns: opened.columns, rows };
        this.#add(rows, batch);
      }
    } finally {
      opened.close();
    }
  }

  #add(rows: Row[], batch: readonly Row[]): void {
    for (const row of batch) {
      const bytes = rowBytes(row);
      this.#turn.budget.keep(bytes);
      this.#keptBytes += bytes;
      rows.push(row);
    }
  }
}
