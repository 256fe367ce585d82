import { compareTexts } from '#runtime/base/text/text-order.ts';
import { type Evaluation, KEY_WORK, STEP_WORK } from '../evaluation/evaluation.ts';
import { compareNumeric, isList, isObject, kindOf, numberOf, type RelValue } from './rel-value.ts';

/**
 * Deep equality. Numbers are equal when their decimal values are, integers and floats alike; values of other different
 * kinds are not equal, and the order of keys does not matter. It is never an error.
 */
export function isEqual(evaluation: Evaluation, a: RelValue, b: RelValue): boolean {
  evaluation.spend(STEP_WORK);
  if (typeof a === 'string' && typeof b === 'string') {
    if (a.length !== b.length) return false;
    evaluation.spend(a.length);
    return a === b;
  }
  if (isList(a)) return isList(b) && areListsEqual(evaluation, a, b);
  if (isObject(a)) {
    if (!isObject(b)) return false;
    const keys = Object.keys(a);
    evaluation.spend(keys.length * KEY_WORK);
    if (keys.length !== Object.keys(b).length) return false;
    return keys.every((key) => Object.hasOwn(b, key) && isEqual(evaluation, a[key]!, b[key]!));
  }
  const x = numberOf(a);
  return x === undefined ? a === b : x === numberOf(b);
}

function areListsEqual(evaluation: Evaluation, a: readonly RelValue[], b: readonly RelValue[]): boolean {
  return a.length === b.length && a.every((item, index) => isEqual(evaluation, item, b[index]!));
}

/**
 * The order of two numbers, or of two texts by their UTF-8 bytes.
 *
 * @returns below 0, 0 or above 0
 * @throws {Fault} for all other pairs
 */
export function compare(evaluation: Evaluation, a: RelValue, b: RelValue): number {
  evaluation.spend(STEP_WORK);
  if (typeof a === 'string' && typeof b === 'string') {
    evaluation.spend(Math.min(a.length, b.length));
    return compareTexts(a, b);
  }
  return compareNumeric(a, b) ?? evaluation.fail(`Cannot compare ${kindOf(a)} with ${kindOf(b)}`);
}
