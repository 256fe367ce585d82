import type { BoundExpression, JoinPlan, LogicalPlan } from '#runtime/sql-plan/bound/bound-statement.ts';
import { equalitiesOf } from './equalities.ts';
import { conjunctsOf, relationsIn } from './expression-parts.ts';
import { neverFails } from './never-fails.ts';
import type { PhysicalPlan } from './physical-plan.ts';
import { relationsOf } from './plan-parts.ts';

/** Inner joins that may be made in any order. */
export interface InnerJoins {
  /** What is joined, from left to right. */
  readonly inputs: readonly LogicalPlan[];
  /** All conditions, in the order in which they are evaluated. */
  readonly conditions: readonly BoundExpression[];
}

/** Fewest inputs of which the order is chosen: of two, each join chooses which one it keeps. */
const ORDERED_MIN = 3;

/** Most inputs of which the order is chosen: it takes the square of their number. Those above them are joined as written. */
const ORDERED_MAX = 16;

/**
 * The inputs of inner joins of inner joins.
 *
 * @returns undefined: there is nothing to choose, or a condition may fail: joined in another order it would be asked about pairs
 *   that another condition has left out
 */
export function innerJoinsOf(plan: JoinPlan): InnerJoins | undefined {
  const inputs: LogicalPlan[] = [];
  const conditions: BoundExpression[] = [];
  collect(plan, inputs, conditions);
  if (inputs.length < ORDERED_MIN || inputs.length > ORDERED_MAX) return undefined;
  if (!conditions.every(neverFails)) return undefined;
  return { inputs, conditions };
}

function collect(plan: LogicalPlan, inputs: LogicalPlan[], conditions: BoundExpression[]): void {
  if (plan.kind !== 'join' || plan.type !== 'inner') {
    inputs.push(plan);
    return;
  }
  collect(plan.left, inputs, conditions);
  collect(plan.right, inputs, conditions);
  if (plan.on !== undefined) conditions.push(...conjunctsOf(plan.on));
}

/** An input of a join, with the relations of its rows. */
export interface JoinInput {
  readonly plan: PhysicalPlan;
  readonly relations: ReadonlySet<number>;
}

/** An input that is to be joined with those before it, by these conditions. */
export interface JoinStep {
  readonly input: JoinInput;
  readonly conditions: readonly BoundExpression[];
}

/**
 * The order in which inputs are joined: the smallest first, then always the smallest one that an equality joins with those
 * before it. Of equally small ones the first in the statement comes first.
 */
export function joinOrder(
  inputs: readonly PhysicalPlan[],
  { conditions, inputs: logical }: InnerJoins,
): readonly JoinStep[] {
  const rest = inputs.map((plan, at): JoinInput => ({ plan, relations: relationsOf(logical[at]!) }));
  const open = new Set(conditions);
  const joined = new Set<number>();
  const steps: JoinStep[] = [];
  while (rest.length > 0) {
    const equal = rest.filter(({ relations }) => equalitiesOf(joined, relations, [...open]).length > 0);
    const input = smallest(equal.length > 0 ? equal : rest);
    rest.splice(rest.indexOf(input), 1);
    for (const relation of input.relations) joined.add(relation);
    const known = [...open].filter((condition) => areAmong(relationsIn(condition), joined));
    // The first input alone has no condition: it would be its own.
    const met = steps.length === 0 ? [] : known;
    for (const condition of met) open.delete(condition);
    steps.push({ input, conditions: met });
  }
  return steps;
}

function smallest(inputs: readonly JoinInput[]): JoinInput {
  return inputs.reduce((best, input) => (input.plan.rows < best.plan.rows ? input : best));
}

function areAmong(relations: ReadonlySet<number>, others: ReadonlySet<number>): boolean {
  return [...relations].every((relation) => others.has(relation));
}
