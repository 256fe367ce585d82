import type { LentBranch } from '#actors/branch/sql/branch-tables.ts';
import { NodeTables } from '#actors/branch/sql/node-tables.ts';
import { engineCaller } from '#runtime/actor/engine-caller.ts';
import { assert } from '#runtime/base/assert.ts';
import type { Caller } from '#runtime/commit/behaviour.ts';
import type { Revision } from '#runtime/content/revision.ts';
import { Execution } from '#runtime/sql-exec/execution.ts';
import { explainStatement } from '#runtime/sql-exec/explain-statement.ts';
import type { LookupKey, TableAccess, TableLookup, TableRead, Tables } from '#runtime/sql-exec/ports.ts';
import { openStatement } from '#runtime/sql-exec/run-statement.ts';
import { bindStatement } from '#runtime/sql-plan/bind/bind-statement.ts';
import type { BoundStatement } from '#runtime/sql-plan/bound/bound-statement.ts';
import { parseStatement } from '#runtime/sql-syntax/parse-statements.ts';
import { toJson } from '#runtime/sql-values/to-json.ts';
import { administrator, type BranchFixture } from './branch-fixture.ts';
import { stepped } from './stepped.ts';

/**
 * How joins are made: as chosen; by hash tables alone; by merging where both sides come in order; by looking rows up wherever
 * that can be done; or beginning so, in batches of two keys, and then reading all rows.
 */
export const joinPlans = ['chosen', 'hash', 'merge', 'lookup', 'change'] as const;
export type JoinPlans = (typeof joinPlans)[number];

/** The tables of a branch, with other costs, so that a certain way to join is chosen. */
class ForcedTables implements Tables {
  readonly #tables: Tables;
  readonly #plans: JoinPlans;

  constructor(tables: Tables, plans: JoinPlans) {
    this.#tables = tables;
    this.#plans = plans;
  }

  *choose(read: TableRead): Generator<undefined, TableAccess> {
    const access = yield* this.#tables.choose(read);
    if (this.#plans === 'chosen') return access;
    const { lookUp, sortedBy, ...rest } = access;
    if (this.#plans === 'hash') return rest;
    if (this.#plans === 'merge' || lookUp === undefined) return { ...rest, sortedBy };
    const isChanging = this.#plans === 'change';
    return {
      ...rest,
      cost: isChanging ? 1_000 : Number.MAX_SAFE_INTEGER,
      *lookUp(key: LookupKey): Generator<undefined, TableLookup | undefined> {
        const found = yield* lookUp(key);
        if (found === undefined) return undefined;
        const open: TableLookup['open'] = (keys, costMax) => found.open(keys, costMax);
        if (!isChanging) return { ...found, open, keyCost: 1, isMeasured: false };
        return { ...found, open, keyCost: 1, keyRows: 2, keysMax: 2, isMeasured: true };
      },
    };
  }
}

/** Who runs a statement, when, and how. */
export interface ForcedRun {
  readonly caller?: Caller;
  readonly at?: Revision;
  readonly plans?: JoinPlans;
}

/** The rows of a query of a branch as JSON, with its joins made in a certain way. */
export function forcedRows(branch: BranchFixture, sql: string, run: ForcedRun = {}): readonly unknown[][] {
  return withForced(branch, sql, run, (bound, tables, execution) => {
    const types = bound.query.output.map(({ expression }) => expression.type);
    const statement = stepped(openStatement(bound, tables, execution)).value;
    const rows: unknown[][] = [];
    try {
      for (;;) {
        const batch = stepped(statement.next()).value;
        if (batch === undefined) break;
        for (const row of batch) rows.push(row.map((value, column) => toJson(value, types[column]!)));
      }
      return rows;
    } finally {
      statement.close();
    }
  });
}

/** The measured plan of a query of a branch, line by line, without times. */
export function forcedPlan(branch: BranchFixture, sql: string, run: ForcedRun = {}): readonly string[] {
  return withForced(branch, sql, run, (bound, tables, execution) => {
    const options = { isAnalyze: true, isVerbose: false };
    const text = stepped(explainStatement(options, bound, tables, execution, () => 0)).value;
    return text.replaceAll(' time=0.00 ms', '').split('\n').slice(1);
  });
}

function withForced<T>(
  branch: BranchFixture,
  sql: string,
  { at, caller = administrator, plans = 'chosen' }: ForcedRun,
  use: (bound: BoundStatement, tables: Tables, execution: Execution) => T,
): T {
  const lent = branch.ask({ type: 'LendBranch', principal: caller.principal }, engineCaller('acme'));
  const { context: lender, state } = lent as LentBranch;
  const snapshot = lender.pin();
  try {
    const execution = new Execution(lender.budget);
    const tables = new NodeTables(
      {
        state,
        context: { caller, budget: lender.budget },
        reader: snapshot,
        schemas: state.querySchemas,
        moment: at,
        other: () => assert(false, 'no other branch is read') as never,
      },
      execution,
    );
    const statement = parseStatement(sql);
    assert(statement.kind === 'query-statement', 'only queries are run');
    const bound = bindStatement(statement.query, sql, {
      workspaceNamed: (name) => (state.hasWorkspace(name) ? name : undefined),
      parameters: [],
      nowMicroseconds: 1_900_000_000_000_000n,
      user: 'ana',
      branch: state.name,
      version: 'test',
    });
    return use(bound, new ForcedTables(tables, plans), execution);
  } finally {
    snapshot.close();
  }
}
