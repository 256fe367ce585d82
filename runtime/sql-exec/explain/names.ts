import type { BoundStatement, LogicalPlan } from '#runtime/sql-plan/bound/bound-statement.ts';
import { plansIn } from '../lowering/plan-parts.ts';

interface NamedRelation {
  readonly alias: string | undefined;
  readonly columns: readonly string[];
}

/** How the columns of a statement are called in explanations, and whether its constants are shown. */
export class Names {
  /** False: explanations have `?` in place of every constant, for logs. */
  readonly showsValues: boolean;
  readonly #statement: BoundStatement;
  readonly #relations = new Map<number, NamedRelation>();

  constructor(statement: BoundStatement, showsValues = true) {
    this.showsValues = showsValues;
    this.#statement = statement;
    const tables = statement.commonTables.flatMap(({ query, step }) =>
      step === undefined ? [query] : [query, step],
    );
    for (const plan of plansIn([statement.query, ...tables])) this.#add(plan);
  }

  /** The same names, for explanations without constants. */
  withoutValues(): Names {
    return new Names(this.#statement, false);
  }

  /** A number of the statement, such as that of LIMIT. */
  value(value: number): string {
    return this.showsValues ? String(value) : '?';
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
