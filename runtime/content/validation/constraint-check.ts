import { compareNumbers, type ExactNumber, isMultiple, isNumber } from '#runtime/base/text/exact-number.ts';
import type { Constraints } from '../definitions/constraints.ts';
import { dateMilliseconds, isDateText } from '../values/date-text.ts';
import { canonicalJson, isJsonArray, type JsonValue, jsonEquals } from '../values/json-value.ts';
import { PATTERN_INPUT_MAX } from '../patterns/linear-pattern.ts';
import { patternOf } from '../patterns/pattern-cache.ts';
import type { Validation, ValueCheck } from './validation.ts';
import { COMPARISON_WORK } from './check-work.ts';

/**
 * The checks of a property's constraints, each compiled once.
 *
 * @param isDate whether `min` and `max` bound an instant
 * @see docs/interface/node-types.md#constraints
 */
export function compileConstraints(constraints: Constraints, isDate: boolean): ValueCheck[] {
  const { min, max } = constraints;
  const checks: (ValueCheck | null)[] = [
    min === undefined ? null : boundCheck(min, -1, isDate),
    max === undefined ? null : boundCheck(max, 1, isDate),
    constraints.minLength === undefined ? null : shortest(constraints.minLength),
    constraints.maxLength === undefined ? null : longest(constraints.maxLength),
    constraints.pattern === undefined ? null : patternCheck(constraints.pattern),
    constraints.enum === undefined ? null : enumCheck(constraints.enum),
    ...numberChecks(constraints),
    constraints.minItems === undefined ? null : fewest(constraints.minItems),
    constraints.maxItems === undefined ? null : most(constraints.maxItems),
    constraints.uniqueItems === true ? uniqueItems : null,
  ];
  return checks.filter((check) => check !== null);
}

/** Length in code points. They are counted only when the UTF-16 length does not decide. */
function textLength(text: string): number {
  let length = 0;
  for (let index = 0; index < text.length; index += text.codePointAt(index)! > 0xffff ? 2 : 1) length += 1;
  return length;
}

function isShorter(text: string, length: number): boolean {
  return text.length < length || (text.length < 2 * length && textLength(text) < length);
}

function isLonger(text: string, length: number): boolean {
  return text.length > length && textLength(text) > length;
}

function shortest(length: number): ValueCheck {
  return (value, validation) => {
    if (typeof value === 'string' && isShorter(value, length)) {
      validation.report(`must have at least ${length} characters`);
    }
  };
}

function longest(length: number): ValueCheck {
  return (value, validation) => {
    if (typeof value === 'string' && isLonger(value, length)) {
      validation.report(`must have at most ${length} characters`);
    }
  };
}

function fewest(count: number): ValueCheck {
  return (value, validation) => {
    if (isJsonArray(value) && value.length < count) validation.report(`must have at least ${count} items`);
  };
}

function most(count: number): ValueCheck {
  return (value, validation) => {
    if (isJsonArray(value) && value.length > count) validation.report(`must have at most ${count} items`);
  };
}

/** `min` (side -1) and `max` (side 1) bound a number, an instant, or a length, depending on the value. */
function boundCheck(bound: ExactNumber | string, side: -1 | 1, isDate: boolean): ValueCheck {
  const word = side < 0 ? 'at least' : 'at most';
  if (typeof bound === 'string') {
    const limit = dateMilliseconds(bound);
    return (value, validation) => {
      if (!isDate || typeof value !== 'string' || !isDateText(value)) return;
      if ((dateMilliseconds(value) - limit) * side > 0) validation.report(`must be ${word} ${bound}`);
    };
  }
  const ofLength = side < 0 ? shortest(Number(bound)) : longest(Number(bound));
  const ofItems = side < 0 ? fewest(Number(bound)) : most(Number(bound));
  return (value, validation) => {
    if (isNumber(value)) {
      if (compareNumbers(value, bound) * side > 0) validation.report(`must be ${word} ${bound}`);
    } else if (typeof value === 'string') {
      if (!isDate) ofLength(value, validation);
    } else {
      ofItems(value, validation);
    }
  };
}

function patternCheck(pattern: string): ValueCheck {
  return (value, validation) => {
    if (typeof value !== 'string') return;
    const { work } = validation;
    if (patternOf(pattern, work).test(value, work)) return;
    if (value.length > PATTERN_INPUT_MAX) {
      validation.report(
        `must have at most ${PATTERN_INPUT_MAX} characters to be matched against its pattern`,
      );
    } else {
      validation.report(`must match the pattern ${pattern}`);
    }
  };
}

function enumCheck(allowed: readonly JsonValue[]): ValueCheck {
  const texts = allowed.map((item) => (typeof item === 'string' ? item : canonicalJson(item)));
  const shown = texts.slice(0, 20).join(', ') + (texts.length > 20 ? ', …' : '');
  const scalars = new Set<JsonValue>(allowed.filter((item) => typeof item !== 'object' || item === null));
  const others = allowed.filter((item) => typeof item === 'object' && item !== null);
  return (value, validation) => {
    if (scalars.has(value)) return;
    if (typeof value === 'object' && isKnownObject(others, value, validation)) return;
    validation.report(`must be one of ${shown}`);
  };
}

/** Whether a value equals one of some objects and arrays. */
export function isKnownObject(known: readonly JsonValue[], value: JsonValue, { work }: Validation): boolean {
  work.spend(known.length * COMPARISON_WORK);
  return known.some((item) => jsonEquals(item, value));
}

function numberChecks(constraints: Constraints): ValueCheck[] {
  const checks: ValueCheck[] = [];
  const rule = (
    limit: ExactNumber | undefined,
    isBroken: (value: ExactNumber, limit: ExactNumber) => boolean,
    text: string,
  ) => {
    if (limit === undefined) return;
    checks.push((value, validation) => {
      if (isNumber(value) && isBroken(value, limit)) validation.report(`must be ${text} ${limit}`);
    });
  };
  rule(constraints.minimum, (value, limit) => compareNumbers(value, limit) < 0, 'at least');
  rule(constraints.maximum, (value, limit) => compareNumbers(value, limit) > 0, 'at most');
  rule(constraints.exclusiveMinimum, (value, limit) => compareNumbers(value, limit) <= 0, 'above');
  rule(constraints.exclusiveMaximum, (value, limit) => compareNumbers(value, limit) >= 0, 'below');
  rule(constraints.multipleOf, isNotMultiple, 'a multiple of');
  return checks;
}

/** Computed with decimal digits, so that 0.3 is a multiple of 0.1, although their binary quotient is not whole. */
function isNotMultiple(value: ExactNumber, step: ExactNumber): boolean {
  return Number.isSafeInteger(value) && Number.isSafeInteger(step)
    ? (value as number) % (step as number) !== 0
    : !isMultiple(value, step);
}

const uniqueItems: ValueCheck = (value, validation) => {
  if (isJsonArray(value) && new Set(value.map(canonicalJson)).size < value.length) {
    validation.report('must not have an item twice');
  }
};
