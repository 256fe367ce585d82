import type { BoundExpression } from '#runtime/sql-plan/bound/bound-statement.ts';

/**
 * Whether a condition is never TRUE for a row in which all columns of certain relations are NULL: so a row that an outer join
 * has filled with NULLs does not pass it.
 */
export function rejectsNulls(condition: BoundExpression, relations: ReadonlySet<number>): boolean {
  switch (condition.kind) {
    case 'and':
      return condition.operands.some((operand) => rejectsNulls(operand, relations));
    case 'or':
      return condition.operands.every((operand) => rejectsNulls(operand, relations));
    case 'is':
      return condition.test !== 'null' && isNull(condition.operand, relations);
    case 'not':
      return isNull(condition.operand, relations) || isNullTest(condition.operand, relations);
    case 'quantified-subquery':
      // of an empty list ALL is TRUE, whatever it is compared with
      return condition.quantifier === 'any' && isNull(condition.left, relations);
    default:
      return isNull(condition, relations);
  }
}

function isNullTest(expression: BoundExpression, relations: ReadonlySet<number>): boolean {
  return expression.kind === 'is' && expression.test === 'null' && isNull(expression.operand, relations);
}

/** Whether an expression is NULL where all columns of certain relations are. */
function isNull(expression: BoundExpression, relations: ReadonlySet<number>): boolean {
  switch (expression.kind) {
    case 'column':
      return relations.has(expression.relation);
    case 'constant':
      return expression.value === null;
    case 'call':
      return expression.function.isStrict && expression.args.some((arg) => isNull(arg, relations));
    case 'not':
      return isNull(expression.operand, relations);
    case 'in':
      return expression.items.length > 0 && isNull(expression.operand, relations);
    case 'and':
    case 'or':
      return expression.operands.every((operand) => isNull(operand, relations));
    case 'quantified':
      return isNull(expression.array, relations);
    default:
      return false;
  }
}
