import type { BoundStatement, LogicalPlan } from '#runtime/sql-plan/bound/bound-statement.ts';
import { plansIn } from '../lowering/plan-parts.ts';

/** How the columns of a statement are called in explanations. */
export class Names {
  readonly #relations = new Map<
    number,
    { readonly alias: string | undefined; readonly columns: readonly string[] }
  >();

  constructor(statement: BoundStatement) {
    const tables = statement.commonTables.flatMap(({ query, step }) =>
      step === undefined ? [query] : [query, step],
    );
    for (const plan of plansIn([statement.query, ...tables])) this.#add(plan);
  }

  /** `alias.column`, or the bare column where the relation has no name. */
  column(relation: number, column: number): string {
    const named = this.#relations.get(relation);
    const name = named?.columns[column] ?? `column${column + 1}`;
    return named?.alias === undefined ? name : `${named.alias}.${name}`;
  }

  #add(plan: LogicalPlan): void {
    if (!('relation' in plan)) return;
    const alias = 'alias' in plan ? plan.alias : undefined;
    this.#relations.set(plan.relation, { alias, columns: plan.columns.map(({ name }) => name) });
  }
}
