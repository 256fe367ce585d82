import type { Span } from '#runtime/sql-syntax/nodes/syntax-nodes.ts';
import type { ScalarFunction } from '#runtime/sql-values/scalar-function.ts';
import type { BoundExpression } from '../../bound/bound-statement.ts';
import type { Typing } from './typing.ts';

/**
 * `NULLIF(a, b)`: NULL where both are equal, else `a`. It is a function and not a CASE, which would have to evaluate `a`
 * twice: nested calls would double the work at each level.
 */
export function nullIf(
  first: BoundExpression,
  second: BoundExpression,
  span: Span,
  typing: Typing,
): BoundExpression {
  const { scalar: equal, args } = typing.findOperator('=', [first, second], span);
  // The result has the type of the first operand, where that converts into what is compared.
  const fitting = typing.coerce(args[0]!, equal.parameters[0]!, span);
  const scalar: ScalarFunction = {
    ...equal,
    name: 'NULLIF',
    parameters: [fitting.type, equal.parameters[1]!],
    result: fitting.type,
    isStrict: false,
    evaluate: (a, b) => (a !== null && b !== null && equal.evaluate(a, b) === true ? null : a!),
  };
  return typing.call(scalar, [fitting, args[1]!], span);
}
