import type { BoundCall, BoundExpression } from '#runtime/sql-plan/bound/bound-statement.ts';
import { commonKeyType } from '#runtime/sql-values/ordering/common-key-type.ts';
import type { SqlType } from '#runtime/sql-values/sql-type.ts';
import { isVolatile, relationsIn } from './expression-parts.ts';

/** A condition that two expressions, one of each side of a join, are equal. */
export interface Equality {
  readonly condition: BoundCall;
  readonly left: BoundExpression;
  readonly right: BoundExpression;
  /** Whether the condition names the right side first. */
  readonly isTurned: boolean;
  /** The type as which both have keys of a hash table. */
  readonly type: SqlType;
}

/** The equalities among the conditions of a join. */
export function equalitiesOf(
  leftRelations: ReadonlySet<number>,
  rightRelations: ReadonlySet<number>,
  conditions: readonly BoundExpression[],
): readonly Equality[] {
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
      equalities.push({ condition, left: first, right: second, isTurned: false, type });
    } else if (isOnlyOf(first, rightRelations) && isOnlyOf(second, leftRelations)) {
      equalities.push({ condition, left: second, right: first, isTurned: true, type });
    }
  }
  return equalities;
}

/** Whether an expression names columns, and all of them are of certain relations. */
function isOnlyOf(expression: BoundExpression, relations: ReadonlySet<number>): boolean {
  const named = [...relationsIn(expression)];
  return named.length > 0 && named.every((relation) => relations.has(relation));
}
