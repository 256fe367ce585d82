import type { BoundExpression, JoinPlan } from '#runtime/sql-plan/bound/bound-statement.ts';
import { comparatorOf } from '#runtime/sql-values/ordering/comparator.ts';
import type { SqlValue } from '#runtime/sql-values/sql-value.ts';
import { printExpressions } from '../explain/print-expression.ts';
import type { Operator } from '../operator.ts';
import { HashJoinOperator, type JoinKeys } from '../operators/joins/hash-join-operator.ts';
import type { JoinPair, JoinShape } from '../operators/joins/join-operator.ts';
import { LookupJoinOperator } from '../operators/joins/lookup-join-operator.ts';
import { MergeJoinOperator } from '../operators/joins/merge-join-operator.ts';
import { NestedLoopJoinOperator } from '../operators/joins/nested-loop-join-operator.ts';
import {
  anyRows,
  compileFor,
  compileRow,
  compileRows,
  type LoweringContext,
  makeStep,
  withSubqueries,
  slotReader,
} from './context.ts';
import { type Equality, equalitiesOf } from './equalities.ts';
import { conjunctsOf } from './expression-parts.ts';
import { innerJoinsOf, type JoinInput, joinOrder } from './join-order.ts';
import { chooseJoin, type JoinMethod } from './join-method.ts';
import type { Layout } from './layout.ts';
import { keyedStep } from './lookups.ts';
import type { PhysicalPlan } from './physical-plan.ts';
import { relationsOf } from './plan-parts.ts';

/** Of the pairs that a condition is asked about, the part that is assumed to meet it. */
const SELECTIVITY = 1 / 3;

/** Lowers a join, and the inner joins below an inner one with it: these may be made in another order. */
export function* lowerJoin(context: LoweringContext, plan: JoinPlan): Generator<undefined, PhysicalPlan> {
  const inner = plan.type === 'inner' ? innerJoinsOf(plan) : undefined;
  if (inner === undefined) return yield* lowerTwo(context, plan);
  context.needs.add(inner.conditions);
  const lowered: PhysicalPlan[] = [];
  for (const input of inner.inputs) lowered.push(yield* context.lower(input, anyRows));
  const [first, ...others] = joinOrder(lowered, inner);
  let left = (first as { readonly input: JoinInput }).input;
  for (const { conditions, input: right } of others) {
    const joined = yield* join(context, { type: 'inner', left, right, conditions });
    left = { plan: joined, relations: new Set([...left.relations, ...right.relations]) };
  }
  return left.plan;
}

function* lowerTwo(context: LoweringContext, plan: JoinPlan): Generator<undefined, PhysicalPlan> {
  const conditions = plan.on === undefined ? [] : conjunctsOf(plan.on);
  context.needs.add(conditions);
  const left = yield* withSubqueries(context, yield* context.lower(plan.left, anyRows), conditions);
  const right = yield* withSubqueries(context, yield* context.lower(plan.right, anyRows), conditions);
  return yield* join(context, {
    type: plan.type,
    left: { plan: left, relations: relationsOf(plan.left) },
    right: { plan: right, relations: relationsOf(plan.right) },
    conditions,
  });
}

/** Two inputs that are joined. */
interface Joined {
  readonly type: JoinPlan['type'];
  readonly left: JoinInput;
  readonly right: JoinInput;
  readonly conditions: readonly BoundExpression[];
}

/** What the ways to join have in common. */
interface JoinParts {
  readonly type: JoinPlan['type'];
  readonly left: PhysicalPlan;
  readonly right: PhysicalPlan;
  readonly conditions: readonly BoundExpression[];
  readonly equalities: readonly Equality[];
}

/** The steps below a join, and how it is opened over them. */
interface OpenJoin {
  readonly name: string;
  readonly left: PhysicalPlan;
  readonly right: PhysicalPlan;
  readonly sortedBy?: number | undefined;
  readonly open: () => Operator;
}

function* join(
  context: LoweringContext,
  { conditions, left, right, type }: Joined,
): Generator<undefined, PhysicalPlan> {
  const equalities = equalitiesOf(left.relations, right.relations, conditions);
  const parts: JoinParts = { type, left: left.plan, right: right.plan, conditions, equalities };
  const method = yield* chooseJoin(left.plan, right.plan, type, equalities);
  const opened = openJoin(context, parts, method);
  const isEqual = equalities.length > 0;
  return makeStep(context, {
    describe: (names) => {
      const on = conditions.length === 0 ? '' : `, on=${printExpressions(conditions, names)}`;
      return `${opened.name}: type=${type}${on}`;
    },
    inputs: [opened.left, opened.right],
    layout: left.plan.layout.with(right.plan.layout.names),
    rows: estimatedRows(left.plan.rows, right.plan.rows, isEqual, conditions.length - equalities.length),
    isOrdered: false,
    sortedBy: opened.sortedBy,
    open: opened.open,
  });
}

function openJoin(context: LoweringContext, parts: JoinParts, method: JoinMethod): OpenJoin {
  switch (method.kind) {
    case 'nested-loop':
      return nestedLoop(context, parts, method.keepsLeft);
    case 'merge':
      return merge(context, parts, method.by);
    case 'hash':
      return hash(context, parts, method.keepsLeft);
    case 'lookup':
      return lookup(context, parts, method);
  }
}

function nestedLoop(context: LoweringContext, parts: JoinParts, keepsLeft: boolean): OpenJoin {
  const shape = shapeOf(context, parts, []);
  const { left, right } = parts;
  return {
    name: 'NestedLoopJoin',
    left,
    right,
    open: () => new NestedLoopJoinOperator(context.execution, shape(keepsLeft, left.open, right.open)),
  };
}

function merge(context: LoweringContext, parts: JoinParts, by: Equality): OpenJoin {
  const shape = shapeOf(context, parts, [by]);
  const { left, right, type } = parts;
  const keys = {
    left: compileRow(context, by.left, left.layout),
    right: compileRow(context, by.right, right.layout),
    compare: comparatorOf(by.type),
  };
  return {
    name: 'MergeJoin',
    left,
    right,
    // An outer join has rows without a key.
    sortedBy: type === 'inner' || type === 'left' ? left.sortedBy : undefined,
    open: () => new MergeJoinOperator(context.execution, shape(false, left.open, right.open), keys),
  };
}

function hash(context: LoweringContext, parts: JoinParts, keepsLeft: boolean): OpenJoin {
  const { equalities, left, right } = parts;
  const shape = shapeOf(context, parts, equalities);
  const keys = compileKeys(context, equalities, left.layout, right.layout);
  return {
    name: 'HashJoin',
    left,
    right,
    open: () => new HashJoinOperator(context.execution, shape(keepsLeft, left.open, right.open), keys),
  };
}

function lookup(
  context: LoweringContext,
  parts: JoinParts,
  { isExpected, keepsLeft, lookup: found }: JoinMethod & { readonly kind: 'lookup' },
): OpenJoin {
  const { equalities, left, right } = parts;
  const shape = shapeOf(context, parts, equalities);
  const joined = compileKeys(context, equalities, left.layout, right.layout);
  const [kept, read] = keepsLeft ? [left, right] : [right, left];
  const keyed = keyedStep(context, read, found, isExpected);
  const { equality } = found.by;
  const key = compileRow(context, keepsLeft ? equality.left : equality.right, kept.layout);
  const open = (): Operator => {
    let values: readonly SqlValue[] | undefined;
    // biome-ignore lint/correctness/useYield: the join has read them
    const source = keyed.open(function* () {
      return values;
    });
    const openRead = (): Operator => source;
    return new LookupJoinOperator(
      context.execution,
      keepsLeft ? shape(true, left.open, openRead) : shape(false, openRead, right.open),
      joined,
      {
        key,
        type: found.type,
        most: found.keysWorth,
        take: (taken) => {
          values = taken;
        },
      },
    );
  };
  return {
    name: isExpected ? 'IndexLookupJoin' : 'HashJoin',
    left: keepsLeft ? left : keyed.plan,
    right: keepsLeft ? keyed.plan : right,
    open,
  };
}

/** @param joined equalities that the operator itself looks at; the other conditions are asked about each pair */
function shapeOf(
  context: LoweringContext,
  { conditions, left, right, type }: JoinParts,
  joined: readonly Equality[],
): (keepsLeft: boolean, openLeft: () => Operator, openRight: () => Operator) => JoinShape {
  const others = conditions.filter((condition) => !joined.some((each) => each.condition === condition));
  const on = others.map((condition) => compilePair(context, condition, left.layout, right.layout));
  return (keepsLeft, openLeft, openRight) => ({
    left: openLeft(),
    right: openRight(),
    leftWidth: left.layout.width,
    rightWidth: right.layout.width,
    keepsLeft,
    preservesLeft: type === 'left' || type === 'full',
    preservesRight: type === 'right' || type === 'full',
    on,
  });
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
    const { execution } = context;
    return (
      slotReader<JoinPair>(left, part, (slot) => (pair) => pair.left[slot]!, execution) ??
      slotReader<JoinPair>(right, part, (slot) => (pair) => pair.right[slot]!, execution)
    );
  });
}

function estimatedRows(left: number, right: number, isEqual: boolean, others: number): number {
  const pairs = isEqual ? Math.max(left, right) : left * right;
  return Math.max(1, pairs * SELECTIVITY ** others);
}
