import type { QueryBody, SetOperationNode } from './nodes/syntax-nodes.ts';

/** A set operator between two operands. */
export type SetOperator = Pick<SetOperationNode, 'operator' | 'isAll'>;

/**
 * The tree of queries joined by set operators. INTERSECT binds more tightly than UNION and EXCEPT; operators of one
 * level associate to the left.
 *
 * @param operands one more than operators
 */
export function setOperations(operands: readonly QueryBody[], operators: readonly SetOperator[]): QueryBody {
  const terms: QueryBody[] = [operands[0]!];
  const between: SetOperator[] = [];
  operators.forEach((operator, index) => {
    const right = operands[index + 1]!;
    if (operator.operator === 'intersect') terms.push(join(operator, terms.pop()!, right));
    else {
      terms.push(right);
      between.push(operator);
    }
  });
  return terms.reduce((left, right, index) => join(between[index - 1]!, left, right));
}

function join({ operator, isAll }: SetOperator, left: QueryBody, right: QueryBody): SetOperationNode {
  const span = { start: left.span.start, end: right.span.end };
  return { kind: 'set-operation', operator, isAll, left, right, span };
}
