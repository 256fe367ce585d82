import type {
  BoundQuery,
  BoundStatement,
  CommonTablePlan,
  ProjectPlan,
} from '#runtime/sql-plan/bound/bound-statement.ts';
import { plansIn } from './plan-parts.ts';

/** Which common tables of a statement are read, and which of them need not be kept. */
export class CommonTableUses {
  readonly #statement: BoundStatement;
  readonly #counts: readonly number[];

  constructor(statement: BoundStatement) {
    this.#statement = statement;
    this.#counts = countUses(statement);
  }

  /** Whether a table is run and kept. One that nothing reads is not run. */
  isKept(table: number): boolean {
    return this.#counts[table]! > 0 && !this.#isInlined(table);
  }

  /**
   * The query of a table that is read at one place only, as a projection at that place: then nothing is kept, and the
   * conditions there help to find the rows.
   */
  inlined(plan: CommonTablePlan): ProjectPlan | undefined {
    if (!this.#isInlined(plan.table)) return undefined;
    const { query } = this.#statement.commonTables[plan.table]!;
    return {
      kind: 'project',
      relation: plan.relation,
      columns: plan.columns,
      input: query.plan,
      expressions: query.output.map(({ expression }) => expression),
    };
  }

  #isInlined(table: number): boolean {
    return this.#counts[table] === 1 && this.#statement.commonTables[table]!.step === undefined;
  }
}

function countUses({ query, commonTables }: BoundStatement): readonly number[] {
  const counts = commonTables.map(() => 0);
  const add = (read: BoundQuery, weight: number): void => {
    for (const plan of plansIn([read])) if (plan.kind === 'common-table') counts[plan.table]! += weight;
  };
  add(query, 1);
  // each table is behind those that it reads
  for (const [table, { query: base, step }] of [...commonTables.entries()].reverse()) {
    if (counts[table] === 0) continue;
    add(base, 1);
    // a step is run in each round, so what it reads is kept
    if (step !== undefined) add(step, 2);
  }
  return counts;
}
