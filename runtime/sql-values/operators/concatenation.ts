import { invalid } from '#runtime/errors/service-error.ts';
import type { ScalarFunction } from '../scalar-function.ts';
import type { SqlType } from '../sql-type.ts';
import type { SqlValue } from '../sql-value.ts';
import { requireTextLength } from '../text/text-limit.ts';
import { textWork, toText } from '../to-text.ts';
import { arrayOf, textType } from '../types/basic-types.ts';
import { commonOfTwo } from '../types/common-type.ts';
import { isTextual, typeMismatch } from './operand-types.ts';

/** Most elements of an array that an expression makes. */
const ELEMENTS_MAX = 1_000_000;

/** Estimated nanoseconds for copying an element. */
const ELEMENT_WORK = 5;

/**
 * `||` for types other than JSONB: of a text with a value of any type, whose text is taken; of two arrays; of an array with
 * an element.
 *
 * @throws {ServiceError} `VALIDATION_FAILED` for types that it does not take
 */
export function concatenation(left: SqlType, right: SqlType): ScalarFunction {
  const arrays = arrayConcatenation(left, right);
  if (arrays !== undefined) return arrays;
  if (!isTextual(left) && !isTextual(right)) throw typeMismatch(textType, left);
  const [first, second] = [known(left), known(right)];
  return {
    name: '||',
    parameters: [first, second],
    result: textType,
    isStrict: true,
    work: ([a, b]) => textWork(a!) + textWork(b!),
    evaluate: (a, b) => {
      const [x, y] = [toText(a!, first), toText(b!, second)];
      requireTextLength(x.length + y.length, '|| result');
      return x + y;
    },
  };
}

function known(type: SqlType): SqlType {
  return type.name === 'unknown' ? textType : type;
}

/** As in PostgreSQL, NULL beside an array is no array with NULL: the other array is the result. */
function arrayConcatenation(left: SqlType, right: SqlType): ScalarFunction | undefined {
  if (left.element === undefined && right.element === undefined) return undefined;
  const [first, second] = [left.element ?? left, right.element ?? right];
  const element = commonOfTwo(first, second);
  if (element === undefined) return undefined;
  const array = arrayOf(element);
  const [isLeftArray, isRightArray] = [left.element !== undefined, right.element !== undefined];
  return {
    name: '||',
    parameters: [isLeftArray ? array : element, isRightArray ? array : element],
    result: array,
    isStrict: false,
    work: ([a, b]) => (lengthOf(a!) + lengthOf(b!)) * ELEMENT_WORK,
    evaluate: (a, b) => {
      if (isLeftArray && isRightArray && (a === null || b === null)) return a ?? b!;
      const [before, after] = [itemsOf(a!, isLeftArray), itemsOf(b!, isRightArray)];
      if (before.length + after.length > ELEMENTS_MAX)
        throw invalid(`|| result has more than ${ELEMENTS_MAX} elements`);
      return before.concat(after);
    },
  };
}

function itemsOf(value: SqlValue, isArray: boolean): readonly SqlValue[] {
  if (!isArray) return [value];
  return (value ?? []) as readonly SqlValue[];
}

function lengthOf(value: SqlValue): number {
  return Array.isArray(value) ? value.length : 1;
}
