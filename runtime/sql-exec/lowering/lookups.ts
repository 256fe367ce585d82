import type { BoundExpression } from '#runtime/sql-plan/bound/bound-statement.ts';
import { commonKeyType } from '#runtime/sql-values/ordering/common-key-type.ts';
import type { ScalarFunction } from '#runtime/sql-values/scalar-function.ts';
import type { SqlType } from '#runtime/sql-values/sql-type.ts';
import type { SqlValue } from '#runtime/sql-values/sql-value.ts';
import type { Operator } from '../operator.ts';
import { LookupOperator } from '../operators/joins/lookup-operator.ts';
import type { LookupKey } from '../ports.ts';
import { compileRow, type LoweringContext, makeStep } from './context.ts';
import { isVolatileOrQuery, relationsIn } from './expression-parts.ts';
import type { FoundLookup, Lookups, PhysicalPlan } from './physical-plan.ts';

/** A look-up by a key, and how many keys it is worth. */
export interface UsableLookup {
  readonly key: LookupKey;
  /** The type as which the expression and the keys have keys of a hash table. */
  readonly type: SqlType;
  readonly found: FoundLookup;
  /** Up to so many keys it costs less than to make all rows. */
  readonly keysWorth: number;
}

/** An expression of a step, and what equals it. */
export interface EqualExpression {
  readonly expression: BoundExpression;
  readonly equals: ScalarFunction;
}

/** The operands of an equality in the other order, as a function. */
export function turned(equals: ScalarFunction): ScalarFunction {
  const [left, right] = equals.parameters as [SqlType, SqlType];
  const { work } = equals;
  return {
    ...equals,
    parameters: [right, left],
    evaluate: (a, b) => equals.evaluate(b!, a!),
    ...(work === undefined ? {} : { work: ([a = null, b = null]) => work([b, a]) }),
  };
}

/**
 * How the rows of a step are found by a key.
 *
 * @returns undefined: they are not, or it is never better than to make all rows; yields where the work may pause
 */
export function* usableLookup(
  plan: PhysicalPlan,
  { equals, expression }: EqualExpression,
): Generator<undefined, UsableLookup | undefined> {
  const { lookups } = plan;
  const [left, right] = equals.parameters;
  if (lookups === undefined || left === undefined || right === undefined) return undefined;
  const type = equals.isStrict ? commonKeyType(left, right) : undefined;
  if (type === undefined || isVolatileOrQuery(expression) || relationsIn(expression).size !== 1)
    return undefined;
  const key: LookupKey = { expression, equals };
  const found = yield* lookups.find(key);
  if (found === undefined) return undefined;
  const keysWorth = Math.floor(lookups.cost / found.keyCost);
  return keysWorth === 0 ? undefined : { key, type, found, keysWorth };
}

/** The look-up that takes least for a key. */
export function* bestLookup<T extends EqualExpression>(
  plan: PhysicalPlan,
  equalities: readonly T[],
): Generator<undefined, (UsableLookup & { readonly by: T }) | undefined> {
  let best: (UsableLookup & { readonly by: T }) | undefined;
  for (const by of equalities) {
    const usable = yield* usableLookup(plan, by);
    if (usable !== undefined && (best === undefined || usable.found.keyCost < best.found.keyCost))
      best = { ...usable, by };
  }
  return best;
}

/** A step that finds its rows by keys. */
export interface KeyedStep {
  readonly plan: PhysicalPlan;
  /**
   * Opens it.
   *
   * @param keys distinct values, none NULL; undefined: all rows are to be read
   */
  open(keys: () => Generator<undefined, readonly SqlValue[] | undefined>): Operator;
}

/**
 * A step that finds its rows by keys which are known when it is run, or makes all of them.
 *
 * @param isExpected whether few enough keys are expected: explanations show the look-up, and otherwise the step itself
 */
export function keyedStep(
  context: LoweringContext,
  plan: PhysicalPlan,
  { found, key, type }: UsableLookup,
  isExpected: boolean,
): KeyedStep {
  const counts = { lookups: 0, scans: 0 };
  const { cost } = plan.lookups as Lookups;
  const means = {
    lookup: found,
    scan: plan.open,
    scanCost: cost,
    keyOf: compileRow(context, key.expression, plan.layout),
    type,
  };
  let source: (() => Generator<undefined, readonly SqlValue[] | undefined>) | undefined;
  const perKey = `${found.keyRows} per key`;
  const step = makeStep(context, {
    ...plan,
    describe: (names) => (isExpected ? `${found.describe(names)} (rows=${perKey})` : plan.describe(names)),
    inputs: isExpected ? [] : plan.inputs,
    lookups: undefined,
    sortedBy: undefined,
    isOrdered: false,
    measured: () => {
      const isShown = isExpected || counts.lookups > 0;
      return isShown ? ` lookups=${counts.lookups} scans=${counts.scans}` : (plan.measured?.() ?? '');
    },
    open: () => {
      const keys = source ?? noKeys;
      source = undefined;
      return new LookupOperator(context.execution, means, keys, counts);
    },
  });
  return {
    plan: step,
    open: (keys) => {
      source = keys;
      return step.open();
    },
  };
}

// biome-ignore lint/correctness/useYield: nothing has to be found out
function* noKeys(): Generator<undefined, undefined> {
  return undefined;
}

/** The look-ups of a step that makes at most one row of each row of another one, in the same order of slots or another. */
export function lookupsThrough(
  lookups: Lookups | undefined,
  wrap: (operator: Operator) => Operator,
  expressionBelow: (expression: BoundExpression) => BoundExpression = (expression) => expression,
): Lookups | undefined {
  if (lookups === undefined) return undefined;
  return {
    cost: lookups.cost,
    *find({ equals, expression }) {
      const found = yield* lookups.find({ equals, expression: expressionBelow(expression) });
      if (found === undefined) return undefined;
      return {
        ...found,
        *open(keys, costMax) {
          const operator = yield* found.open(keys, costMax);
          return operator && wrap(operator);
        },
      };
    },
  };
}
