import type {
  AggregatePlan,
  BoundExpression,
  BoundQuery,
  CommonTablePlan,
  DistinctPlan,
  JoinPlan,
  LimitPlan,
  LogicalPlan,
  ProjectPlan,
  SetOperationPlan,
} from '#runtime/sql-plan/bound/bound-statement.ts';
import { conjunction, conjunctsOf, isVolatile, relationsIn } from './expression-parts.ts';
import { rejectsNulls } from './null-rejection.ts';
import { relationsOf } from './plan-parts.ts';
import { substituteCheaply } from './substitute.ts';

/** The plan of a common table that is read at one place only, so that it needs not be kept; undefined: it is kept. */
export type InlinedTables = (plan: CommonTablePlan) => ProjectPlan | undefined;

/** A query with its conditions moved down. @see pushDown */
export function pushDownQuery(query: BoundQuery, inlined: InlinedTables): BoundQuery {
  return { ...query, plan: pushDown(query.plan, [], inlined) };
}

/**
 * Moves conditions as far down as they may go, so that tables are asked for as few rows as possible.
 *
 * Of the conditions at one place those that were further down come first: a condition may rely on another one below it, for
 * example a cast on a test of the text.
 *
 * @param conditions over the relations of the plan; all must hold for the rows of the result
 */
export function pushDown(
  plan: LogicalPlan,
  conditions: readonly BoundExpression[],
  inlined: InlinedTables,
): LogicalPlan {
  switch (plan.kind) {
    case 'nodes':
    case 'schema':
    case 'values':
    case 'series':
      return filtered(plan, conditions);
    case 'common-table': {
      const query = inlined(plan);
      return query === undefined ? filtered(plan, conditions) : pushDown(query, conditions, inlined);
    }
    case 'filter':
      return pushDown(plan.input, [...conjunctsOf(plan.predicate), ...conditions], inlined);
    case 'project':
      return pushIntoProjection(plan, conditions, inlined);
    case 'join':
      return pushIntoJoin(plan, conditions, inlined);
    case 'aggregate':
      return pushIntoGroups(plan, conditions, inlined);
    case 'distinct':
      return pushIntoDistinct(plan, conditions, inlined);
    case 'sort':
      return { ...plan, input: pushDown(plan.input, conditions, inlined) };
    case 'window':
      return filtered({ ...plan, input: pushDown(plan.input, [], inlined) }, conditions);
    case 'limit':
      return filtered(limited(plan, pushDown(plan.input, [], inlined)), conditions);
    case 'set-operation':
      return pushIntoSetOperation(plan, conditions, inlined);
  }
}

function filtered(plan: LogicalPlan, conditions: readonly BoundExpression[]): LogicalPlan {
  const predicate = conjunction(conditions);
  return predicate === undefined ? plan : { kind: 'filter', input: plan, predicate };
}

/** A limit goes below a projection: what it leaves out is not computed, and it may meet an order there. */
function limited(plan: LimitPlan, input: LogicalPlan): LogicalPlan {
  if (input.kind !== 'project') return { ...plan, input };
  return { ...input, input: limited(plan, input.input) };
}

function pushIntoProjection(
  plan: ProjectPlan,
  conditions: readonly BoundExpression[],
  inlined: InlinedTables,
): LogicalPlan {
  const below: BoundExpression[] = [];
  const above: BoundExpression[] = [];
  for (const condition of conditions) {
    const substituted = substituteCheaply(condition, plan.relation, plan.expressions);
    if (substituted === undefined) above.push(condition);
    else below.push(substituted);
  }
  return filtered({ ...plan, input: pushDown(plan.input, below, inlined) }, above);
}

/** A condition on keys leaves out whole groups. Without keys there is one group, also without rows. */
function pushIntoGroups(
  plan: AggregatePlan,
  conditions: readonly BoundExpression[],
  inlined: InlinedTables,
): LogicalPlan {
  const below: BoundExpression[] = [];
  const above: BoundExpression[] = [];
  for (const condition of conditions) {
    const substituted =
      plan.keys.length === 0 || isVolatile(condition)
        ? undefined
        : substituteCheaply(condition, plan.relation, plan.keys);
    if (substituted === undefined) above.push(condition);
    else below.push(substituted);
  }
  return filtered({ ...plan, input: pushDown(plan.input, below, inlined) }, above);
}

/** DISTINCT ON takes the first row of a group, so that nothing may be left out before it. */
function pushIntoDistinct(
  plan: DistinctPlan,
  conditions: readonly BoundExpression[],
  inlined: InlinedTables,
): LogicalPlan {
  const below = plan.on === undefined ? conditions.filter((condition) => !isVolatile(condition)) : [];
  const above = conditions.filter((condition) => !below.includes(condition));
  return filtered({ ...plan, input: pushDown(plan.input, below, inlined) }, above);
}

function pushIntoSetOperation(
  plan: SetOperationPlan,
  conditions: readonly BoundExpression[],
  inlined: InlinedTables,
): LogicalPlan {
  const below: { readonly left: BoundExpression; readonly right: BoundExpression }[] = [];
  const above: BoundExpression[] = [];
  const definitions = (query: BoundQuery): readonly BoundExpression[] =>
    query.output.map(({ expression }) => expression);
  for (const condition of conditions) {
    const left = substituteCheaply(condition, plan.relation, definitions(plan.left));
    const right = substituteCheaply(condition, plan.relation, definitions(plan.right));
    if (left === undefined || right === undefined || isVolatile(condition)) above.push(condition);
    else below.push({ left, right });
  }
  const pushed = (side: 'left' | 'right'): BoundQuery => ({
    ...plan[side],
    plan: pushDown(
      plan[side].plan,
      below.map((condition) => condition[side]),
      inlined,
    ),
  });
  return filtered({ ...plan, left: pushed('left'), right: pushed('right') }, above);
}

/** Where conditions at a join may go. */
interface JoinConditions {
  readonly left: BoundExpression[];
  readonly right: BoundExpression[];
  readonly on: BoundExpression[];
  readonly above: BoundExpression[];
}

function pushIntoJoin(
  plan: JoinPlan,
  conditions: readonly BoundExpression[],
  inlined: InlinedTables,
): LogicalPlan {
  const leftRelations = relationsOf(plan.left);
  const rightRelations = relationsOf(plan.right);
  const type = narrowedType(plan.type, conditions, leftRelations, rightRelations);
  const preservesLeft = type === 'left' || type === 'full';
  const preservesRight = type === 'right' || type === 'full';
  const to: JoinConditions = { left: [], right: [], on: [], above: [] };
  for (const condition of plan.on === undefined ? [] : conjunctsOf(plan.on)) {
    const relations = relationsIn(condition);
    // the rows of a preserved side come out whether the condition holds or not
    if (!preservesLeft && areAmong(relations, leftRelations)) to.left.push(condition);
    else if (!preservesRight && areAmong(relations, rightRelations)) to.right.push(condition);
    else to.on.push(condition);
  }
  for (const condition of conditions) {
    const relations = relationsIn(condition);
    // a side that is filled with NULLs must not lose rows that have a partner
    if (!preservesRight && areAmong(relations, leftRelations)) to.left.push(condition);
    else if (!preservesLeft && areAmong(relations, rightRelations)) to.right.push(condition);
    else if (type === 'inner') to.on.push(condition);
    else to.above.push(condition);
  }
  const joined: JoinPlan = {
    kind: 'join',
    type,
    left: pushDown(plan.left, to.left, inlined),
    right: pushDown(plan.right, to.right, inlined),
    on: conjunction(to.on),
  };
  return filtered(joined, to.above);
}

/** Without the rows that no condition lets through, a join may preserve less. */
function narrowedType(
  type: JoinPlan['type'],
  conditions: readonly BoundExpression[],
  left: ReadonlySet<number>,
  right: ReadonlySet<number>,
): JoinPlan['type'] {
  const preservesLeft =
    (type === 'left' || type === 'full') && !conditions.some((condition) => rejectsNulls(condition, right));
  const preservesRight =
    (type === 'right' || type === 'full') && !conditions.some((condition) => rejectsNulls(condition, left));
  if (preservesLeft) return preservesRight ? 'full' : 'left';
  return preservesRight ? 'right' : 'inner';
}

function areAmong(relations: ReadonlySet<number>, others: ReadonlySet<number>): boolean {
  return [...relations].every((relation) => others.has(relation));
}
