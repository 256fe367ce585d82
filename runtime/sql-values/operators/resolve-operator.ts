import { invalid } from '#runtime/errors/service-error.ts';
import { jsonOperators } from '../json/json-operators.ts';
import type { ScalarFunction } from '../scalar-function.ts';
import type { SqlType } from '../sql-type.ts';
import type { SqlValue } from '../sql-value.ts';
import { intType, jsonbType, textType } from '../types/basic-types.ts';
import { type ArithmeticOperator, arithmeticOperator, signOperator } from './arithmetic.ts';
import { type ComparisonOperator, comparisonOperator } from './comparison.ts';
import { concatenation } from './concatenation.ts';
import { likeOperator } from './like-operator.ts';
import { isNumeric, typeMismatch } from './operand-types.ts';

type Resolver = (left: SqlType, right: SqlType) => ScalarFunction;

const comparisons: readonly ComparisonOperator[] = [
  '=',
  '<>',
  '<',
  '<=',
  '>',
  '>=',
  'IS DISTINCT FROM',
  'IS NOT DISTINCT FROM',
];
const arithmetic: readonly ArithmeticOperator[] = ['+', '-', '*', '/', '%'];

const resolvers: ReadonlyMap<string, Resolver> = new Map<string, Resolver>([
  ...comparisons.map((operator): [string, Resolver] => [
    operator,
    (left, right) => comparisonOperator(operator, left, right),
  ]),
  ...arithmetic.map((operator): [string, Resolver] => [
    operator,
    (left, right) => arithmeticOperator(operator, left, right),
  ]),
  ['||', concatenation],
  ['LIKE', (left, right) => likeOperator('LIKE', left, right)],
  ['ILIKE', (left, right) => likeOperator('ILIKE', left, right)],
  ['[]', subscript],
]);

/**
 * The function that an operator is for certain types of operands. Operators are named as in a statement; `LIKE`, `ILIKE`,
 * `IS DISTINCT FROM`, `IS NOT DISTINCT FROM` and `[]` (a subscript) are operators too. An operand of the type `unknown`
 * takes the type that the other side needs: the parameters of the function say which.
 *
 * @param argumentTypes one for a sign, otherwise two
 * @throws {ServiceError} `VALIDATION_FAILED` for types that the operator does not take
 */
export function resolveOperator(operator: string, argumentTypes: readonly SqlType[]): ScalarFunction {
  const [left, right] = argumentTypes;
  if (left === undefined) throw invalid(`Unsupported expression: ${operator}`);
  if (right === undefined) {
    if (operator !== '-' && operator !== '+') throw invalid(`Unsupported expression: ${operator}`);
    return signOperator(operator, left);
  }
  const ofJson = jsonOperator(operator, left, right);
  if (ofJson !== undefined) return ofJson;
  const resolve = resolvers.get(operator);
  if (resolve !== undefined) return resolve(left, right);
  if (!jsonOperators.has(operator)) throw invalid(`Unsupported expression: ${operator}`);
  throw typeMismatch(jsonbType, left.name === 'jsonb' ? right : left);
}

/** Where an operator has another meaning besides that for JSON, an operand must be JSON for this one. */
function jsonOperator(operator: string, left: SqlType, right: SqlType): ScalarFunction | undefined {
  const isLeft = left.name === 'jsonb';
  if (operator === '||' && !isLeft && right.name !== 'jsonb') return undefined;
  if ((operator === '-' || operator === '[]') && !isLeft) return undefined;
  const name = operator === '[]' ? '->' : operator;
  return jsonOperators.get(name)?.([left, right]);
}

/** `array[n]`; the first element is 1, and there is none beyond the ends. */
function subscript(array: SqlType, index: SqlType): ScalarFunction {
  const { element } = array;
  if (element === undefined) throw typeMismatch({ name: 'array', element: textType }, array);
  if (!isNumeric(index)) throw typeMismatch(intType, index);
  return {
    name: '[]',
    parameters: [array, index],
    result: element,
    isStrict: true,
    evaluate: (items, place) => (items as readonly SqlValue[])[Number(place) - 1] ?? null,
  };
}
