import type { BoundCall, BoundExpression, JoinPlan } from '#runtime/sql-plan/bound/bound-statement.ts';
import { commonKeyType } from '#runtime/sql-values/ordering/common-key-type.ts';
import type { SqlValue } from '#runtime/sql-values/sql-value.ts';
import type { SqlType } from '#runtime/sql-values/sql-type.ts';
import { printExpressions } from '../explain/print-expression.ts';
import type { Operator } from '../operator.ts';
import { HashJoinOperator, type JoinKeys } from '../operators/joins/hash-join-operator.ts';
import type { JoinPair, JoinShape } from '../operators/joins/join-operator.ts';
import { NestedLoopJoinOperator } from '../operators/joins/nested-loop-join-operator.ts';
import {
  anyRows,
  compileFor,
  compileRows,
  type LoweringContext,
  makeStep,
  withSubqueries,
} from './context.ts';
import { conjunctsOf, isVolatile, relationsIn } from './expression-parts.ts';
import type { Layout } from './layout.ts';
import type { PhysicalPlan } from './physical-plan.ts';
import { relationsOf } from './plan-parts.ts';

/** A condition that two expressions, one of each side, are equal. */
interface Equality {
  readonly condition: BoundCall;
  readonly left: BoundExpression;
  readonly right: BoundExpression;
  /** The type as which both have keys of a hash table. */
  readonly type: SqlType;
}

/** Of the pairs that a condition is asked about, the part that is assumed to meet it. */
const SELECTIVITY = 1 / 3;

/** Lowers a join: on equality by a hash table, otherwise by looking at all pairs. */
export function* lowerJoin(context: LoweringContext, plan: JoinPlan): Generator<undefined, PhysicalPlan> {
  const conditions = plan.on === undefined ? [] : conjunctsOf(plan.on);
  context.needs.add(conditions);
  const left = yield* withSubqueries(context, yield* context.lower(plan.left, anyRows), conditions);
  const right = yield* withSubqueries(context, yield* context.lower(plan.right, anyRows), conditions);
  const equalities = equalitiesOf(plan, conditions);
  const others = conditions.filter(
    (condition) => !equalities.some((equality) => equality.condition === condition),
  );
  const keepsLeft = left.rows < right.rows;
  const on = others.map((condition) => compilePair(context, condition, left.layout, right.layout));
  const shape = (): JoinShape => ({
    left: left.open(),
    right: right.open(),
    leftWidth: left.layout.width,
    rightWidth: right.layout.width,
    keepsLeft,
    preservesLeft: plan.type === 'left' || plan.type === 'full',
    preservesRight: plan.type === 'right' || plan.type === 'full',
    on,
  });
  const layout = left.layout.with(right.layout.names);
  const keys = compileKeys(context, equalities, left.layout, right.layout);
  const open = (): Operator =>
    equalities.length > 0
      ? new HashJoinOperator(context.execution, shape(), keys)
      : new NestedLoopJoinOperator(context.execution, shape());
  return makeStep(context, {
    describe: (names) => {
      const name = equalities.length > 0 ? 'HashJoin' : 'NestedLoopJoin';
      const on = conditions.length === 0 ? '' : `, on=${printExpressions(conditions, names)}`;
      return `${name}: type=${plan.type}${on}`;
    },
    inputs: [left, right],
    layout,
    rows: estimatedRows(left.rows, right.rows, equalities.length > 0, others.length),
    isOrdered: false,
    open,
  });
}

function equalitiesOf(plan: JoinPlan, conditions: readonly BoundExpression[]): readonly Equality[] {
  const leftRelations = relationsOf(plan.left);
  const rightRelations = relationsOf(plan.right);
  const equalities: Equality[] = [];
  for (const condition of conditions) {
    if (condition.kind !== 'call' || condition.function.name !== '=' || isVolatile(condition)) continue;
    const [first, second] = condition.args;
    const [firstType, secondType] = condition.function.parameters;
    if (first === undefined || second === undefined || firstType === undefined || secondType === undefined)
      continue;
    const type = commonKeyType(firstType, secondType);
    if (type === undefined) continue;
    if (isOnlyOf(first, leftRelations) && isOnlyOf(second, rightRelations)) {
      equalities.push({ condition, left: first, right: second, type });
    } else if (isOnlyOf(first, rightRelations) && isOnlyOf(second, leftRelations)) {
      equalities.push({ condition, left: second, right: first, type });
    }
  }
  return equalities;
}

/** Whether an expression names columns, and all of them are of certain relations. */
function isOnlyOf(expression: BoundExpression, relations: ReadonlySet<number>): boolean {
  const named = [...relationsIn(expression)];
  return named.length > 0 && named.every((relation) => relations.has(relation));
}

function compileKeys(
  context: LoweringContext,
  equalities: readonly Equality[],
  left: Layout,
  right: Layout,
): JoinKeys {
  return {
    left: compileRows(
      context,
      equalities.map((equality) => equality.left),
      left,
    ),
    right: compileRows(
      context,
      equalities.map((equality) => equality.right),
      right,
    ),
    types: equalities.map(({ type }) => type),
  };
}

/** Compiles a condition for two rows that are not one yet. */
function compilePair(
  context: LoweringContext,
  condition: BoundExpression,
  left: Layout,
  right: Layout,
): (pair: JoinPair) => SqlValue {
  return compileFor<JoinPair>(context, condition, (part) => {
    const leftSlot = left.slotOf(part);
    if (leftSlot !== undefined) return (pair) => pair.left[leftSlot]!;
    const rightSlot = right.slotOf(part);
    return rightSlot === undefined ? undefined : (pair) => pair.right[rightSlot]!;
  });
}

function estimatedRows(left: number, right: number, isEqual: boolean, others: number): number {
  const pairs = isEqual ? Math.max(left, right) : left * right;
  return Math.max(1, pairs * SELECTIVITY ** others);
}
