import { assert } from '#runtime/base/assert.ts';
import type {
  BoundExpression,
  BoundQuantifiedQuery,
  BoundQuery,
  BoundSubquery,
} from '#runtime/sql-plan/bound/bound-statement.ts';
import {
  ExistsResult,
  QuantifiedResult,
  ScalarResult,
  type SubqueryResult,
} from '../runs/subquery-results.ts';
import { SubqueryRun } from '../runs/subquery-run.ts';
import { type LoweringContext, makeStep, type SubqueryRuns, type Wish } from './context.ts';
import { walk } from './expression-parts.ts';
import { type InlinedTables, pushDownQuery } from './push-down.ts';
import { lowerQuery } from './lower-query.ts';
import type { PhysicalPlan } from './physical-plan.ts';

/** How many rows of a subquery are read at most. */
const rowsMax: Readonly<Record<SubqueryExpression['kind'], number | undefined>> = {
  'scalar-subquery': 2,
  'exists-subquery': 1,
  'quantified-subquery': undefined,
};

/** What subqueries are called in explanations. */
const stepNames: Readonly<Record<SubqueryExpression['kind'], string>> = {
  'scalar-subquery': 'ScalarSubquery',
  'exists-subquery': 'ExistsSubquery',
  'quantified-subquery': 'HashSemiJoin',
};

type SubqueryExpression = BoundSubquery | BoundQuantifiedQuery;

/** The subqueries of a statement. */
export class Subqueries implements SubqueryRuns {
  readonly #inlined: InlinedTables;
  readonly #runs = new Map<BoundQuery, SubqueryRun>();

  constructor(inlined: InlinedTables) {
    this.#inlined = inlined;
  }

  runOf(query: BoundQuery): SubqueryRun {
    const run = this.#runs.get(query);
    assert(run !== undefined, 'a subquery is compiled before it is lowered');
    return run;
  }

  *lower(
    context: LoweringContext,
    expressions: readonly BoundExpression[],
  ): Generator<undefined, readonly PhysicalPlan[]> {
    const steps: PhysicalPlan[] = [];
    for (const expression of expressions) {
      for (const part of walk(expression)) {
        if (!('query' in part) || this.#runs.has(part.query)) continue;
        steps.push(yield* this.#lowerOne(context, part));
      }
    }
    return steps;
  }

  close(): void {
    for (const run of this.#runs.values()) run.close();
  }

  *#lowerOne(context: LoweringContext, expression: SubqueryExpression): Generator<undefined, PhysicalPlan> {
    const query = pushDownQuery(expression.query, this.#inlined);
    const wish: Wish = { order: [], limit: rowsMax[expression.kind] };
    // of EXISTS no column is wanted
    const plan =
      expression.kind === 'exists-subquery'
        ? yield* context.lower(query.plan, wish)
        : yield* lowerQuery(context, query, wish);
    const start = (valuesMax: number): SubqueryResult => {
      if (expression.kind === 'quantified-subquery')
        return new QuantifiedResult(expression, context.execution, valuesMax);
      return expression.kind === 'exists-subquery' ? new ExistsResult() : new ScalarResult();
    };
    const step = makeStep(context, {
      ...plan,
      describe: () => stepNames[expression.kind],
      inputs: [plan],
    });
    this.#runs.set(expression.query, new SubqueryRun(context.execution, step, start));
    return step;
  }
}
