import { defaultRequestLimits, RequestBudget, type RequestLimits } from '#runtime/budget/request-budget.ts';
import { assert } from '#runtime/base/assert.ts';
import type { JsonValue } from '#runtime/content/values/json-value.ts';
import { Execution } from '#runtime/sql-exec/execution.ts';
import { explainStatement, type ExplainOptions } from '#runtime/sql-exec/explain-statement.ts';
import type { Row } from '#runtime/sql-exec/operator.ts';
import { type OpenStatement, openStatement } from '#runtime/sql-exec/run-statement.ts';
import { bindStatement } from '#runtime/sql-plan/bind/bind-statement.ts';
import type { BoundStatement } from '#runtime/sql-plan/bound/bound-statement.ts';
import { parseStatement } from '#runtime/sql-syntax/parse-statements.ts';
import { toJson } from '#runtime/sql-values/to-json.ts';
import { MemoryTables, type NodeRow } from './memory-tables.ts';

/** What a statement runs over. */
export interface SqlSetup {
  readonly workspaces?: Readonly<Record<string, readonly NodeRow[]>>;
  readonly parameters?: readonly JsonValue[];
  readonly limits?: Partial<RequestLimits>;
  readonly canOrder?: boolean;
  readonly batchRows?: number;
}

/** One statement of SQL, from its text to its rows, over workspaces in memory. */
export class SqlInMemory {
  readonly execution: Execution;
  readonly tables: MemoryTables;
  readonly #setup: SqlSetup;
  /** The most estimated work between two pauses, in nanoseconds. */
  longestStep = 0;
  pauses = 0;

  constructor(setup: SqlSetup = {}) {
    this.#setup = setup;
    const budget = new RequestBudget({ ...defaultRequestLimits, ...setup.limits });
    this.execution = new Execution(budget);
    this.tables = new MemoryTables(this.execution, setup.workspaces ?? {}, setup);
  }

  bind(sql: string): BoundStatement {
    const workspaces = this.#setup.workspaces ?? {};
    const statement = parseStatement(sql);
    assert(statement.kind === 'query-statement', 'only queries are run');
    return bindStatement(statement.query, sql, {
      workspaceNamed: (name) => (Object.hasOwn(workspaces, name) ? name : undefined),
      parameters: this.#setup.parameters ?? [],
      nowMicroseconds: 1_900_000_000_000_000n,
      user: 'ana',
      branch: 'main',
      version: 'test',
    });
  }

  open(sql: string): OpenStatement {
    return this.finish(openStatement(this.bind(sql), this.tables, this.execution));
  }

  /** The next rows of a statement. */
  batch(statement: OpenStatement): readonly Row[] | undefined {
    return this.finish(statement.next());
  }

  /** All rows of a statement, as values of SQL. */
  rows(sql: string): readonly Row[] {
    const statement = this.open(sql);
    try {
      const rows: Row[] = [];
      for (let batch = this.batch(statement); batch !== undefined; batch = this.batch(statement)) {
        rows.push(...batch);
      }
      return rows;
    } finally {
      statement.close();
    }
  }

  /** All rows of a statement, as JSON. */
  json(sql: string): JsonValue[][] {
    const types = this.bind(sql).query.output.map(({ expression }) => expression.type);
    return this.rows(sql).map((row) => row.map((value, column) => toJson(value, types[column]!)));
  }

  explain(sql: string, options: Partial<ExplainOptions> = {}): string {
    let time = 0;
    const clock = (): number => {
      time += 1;
      return time;
    };
    const wanted = { isAnalyze: false, isVerbose: false, ...options };
    return this.finish(explainStatement(wanted, this.bind(sql), this.tables, this.execution, clock));
  }

  /** Runs steps to their end, and measures them. */
  finish<T>(steps: Generator<undefined, T>): T {
    for (;;) {
      const before = this.execution.budget.work;
      const step = steps.next();
      this.longestStep = Math.max(this.longestStep, this.execution.budget.work - before);
      if (step.done === true) return step.value;
      this.pauses += 1;
    }
  }
}

/** All rows of a statement, as JSON. */
export function sqlRows(sql: string, setup: SqlSetup = {}): JsonValue[][] {
  return new SqlInMemory(setup).json(sql);
}
