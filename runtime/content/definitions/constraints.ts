import { compareNumbers, type ExactNumber, isNumber } from '#runtime/base/text/exact-number.ts';
import { KnownNames, unknownName } from '#runtime/errors/known-names.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { DefinitionReader } from './definition-reader.ts';
import { isDateText } from '../values/date-text.ts';
import { isJsonArray, type JsonObject, type JsonValue, setKey } from '../values/json-value.ts';
import { patternOf } from '../patterns/pattern-cache.ts';

/**
 * Rules for a property value beyond its type. `min` and `max` bound the value of a Number or Date and the length of a
 * String, URL or Array; the others are those of JSON Schema. A constraint that does not apply to the type of the value
 * (`minLength` on a number) has no effect.
 *
 * @see docs/interface/node-types.md#constraints
 */
export interface Constraints {
  readonly min?: ExactNumber | string;
  readonly max?: ExactNumber | string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly enum?: readonly JsonValue[];
  readonly minimum?: ExactNumber;
  readonly maximum?: ExactNumber;
  readonly exclusiveMinimum?: ExactNumber;
  readonly exclusiveMaximum?: ExactNumber;
  readonly multipleOf?: ExactNumber;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly uniqueItems?: boolean;
}

type Rule = (value: JsonValue) => string | null;

const mustBeNumber: Rule = (value) => (isNumber(value) ? null : 'must be a number');
const isBound: Rule = (value) =>
  isNumber(value) || (typeof value === 'string' && isDateText(value))
    ? null
    : 'must be a number or an RFC 3339 date';
const isCount: Rule = (value) =>
  Number.isSafeInteger(value) && (value as number) >= 0 ? null : 'must be a whole number, 0 or more';

const rules: Readonly<Record<keyof Constraints, Rule>> = {
  min: isBound,
  max: isBound,
  minLength: isCount,
  maxLength: isCount,
  pattern: (value) => (typeof value === 'string' ? null : 'must be a string'),
  enum: (value) => (isJsonArray(value) && value.length > 0 ? null : 'must be a list with at least one value'),
  minimum: mustBeNumber,
  maximum: mustBeNumber,
  exclusiveMinimum: mustBeNumber,
  exclusiveMaximum: mustBeNumber,
  multipleOf: (value) => (isNumber(value) && value > 0 ? null : 'must be a number above 0'),
  minItems: isCount,
  maxItems: isCount,
  uniqueItems: (value) => (typeof value === 'boolean' ? null : 'must be a boolean'),
};

/** Fields of the constraints of a property. */
export const constraintFields: KnownNames = new KnownNames(Object.keys(rules));

const ordered: readonly (readonly [keyof Constraints, keyof Constraints])[] = [
  ['min', 'max'],
  ['minLength', 'maxLength'],
  ['minimum', 'maximum'],
  ['minItems', 'maxItems'],
];

/**
 * Reads the constraints of a property. An unknown name is refused: silently not enforcing a misspelt constraint would
 * be worse.
 *
 * @returns undefined when there are none
 * @throws {ServiceError} `VALIDATION_FAILED`; `UNPROCESSABLE_BODY` when `constraints` is not an object
 */
export function parseConstraints(property: DefinitionReader): Constraints | undefined {
  const json = property.optionalObject('constraints');
  if (json === null) return undefined;
  const reader = new DefinitionReader(json, property.place('constraints'), property.work);
  const constraints: Record<string, JsonValue> = {};
  for (const name of Object.keys(json)) {
    if (!constraintFields.has(name)) throw unknownName('field', name, constraintFields.names, reader.at);
    const value = json[name]!;
    if (value === null) continue;
    const complaint = rules[name as keyof Constraints](value);
    if (complaint !== null) throw reader.badValue(name, complaint);
    setKey(constraints, name, value);
  }
  requireOrder(reader, constraints);
  if (typeof constraints.pattern === 'string') compilePattern(reader, constraints.pattern);
  return constraints as Constraints;
}

function requireOrder(reader: DefinitionReader, constraints: JsonObject): void {
  for (const [low, high] of ordered) {
    const from = constraints[low];
    const to = constraints[high];
    if (from === undefined || to === undefined) continue;
    const areNumbers = isNumber(from) && isNumber(to);
    if (!areNumbers && typeof from !== typeof to)
      throw reader.badValue(high, `must be of the same kind as ${low}`);
    if (areNumbers ? compareNumbers(from, to) > 0 : from! > to!)
      throw reader.badValue(high, `must not be below ${low}`);
  }
}

function compilePattern(reader: DefinitionReader, pattern: string): void {
  try {
    patternOf(pattern, reader.work);
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'REQUEST_TOO_EXPENSIVE') throw error;
    throw reader.badValue('pattern', (error as Error).message);
  }
}
