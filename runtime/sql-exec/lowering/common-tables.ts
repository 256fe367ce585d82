import type {
  BoundQuery,
  BoundStatement,
  CommonTablePlan,
  LogicalPlan,
  ProjectPlan,
} from '#runtime/sql-plan/bound/bound-statement.ts';
import { queriesIn } from './expression-parts.ts';
import { expressionsOf, inputsOf, plansIn } from './plan-parts.ts';

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

/** Subqueries of a query that read a common table, themselves or in subqueries of theirs. */
export function subqueriesReading(query: BoundQuery, table: number): ReadonlySet<BoundQuery> {
  return new Set([...subqueriesOf(query)].filter((inner) => readsTable(inner, table)));
}

function readsTable(query: BoundQuery, table: number): boolean {
  for (const plan of plansIn([query])) {
    if (plan.kind === 'common-table' && plan.table === table) return true;
  }
  return false;
}

function subqueriesOf(query: BoundQuery): ReadonlySet<BoundQuery> {
  const found = new Set<BoundQuery>();
  const plans: LogicalPlan[] = [query.plan];
  const enter = (queries: readonly BoundQuery[]): void => {
    for (const inner of queries) {
      found.add(inner);
      plans.push(inner.plan);
      enter(queriesIn(inner.output.map(({ expression }) => expression)));
    }
  };
  enter(queriesIn(query.output.map(({ expression }) => expression)));
  for (let plan = plans.pop(); plan !== undefined; plan = plans.pop()) {
    for (const input of inputsOf(plan)) plans.push(input);
    enter(queriesIn(expressionsOf(plan)));
  }
  return found;
}
