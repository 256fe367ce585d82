import type { FieldRules } from './validation.ts';
import {
  isJsonArray,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  ownValue,
} from '../values/json-value.ts';
import type { Validation, ValueCheck } from './validation.ts';
import { COMPARISON_WORK } from './check-work.ts';

/** Keys of an element besides its fields. */
const elementKeys: ReadonlySet<string> = new Set(['element_type', 'uuid', 'id']);

/**
 * Checks an element `{element_type, uuid?, …fields}` against its element type.
 *
 * @param allowed the allowed element types; null allows any
 * @see docs/interface/node-types.md#elements
 */
export function checkElement(
  value: JsonValue,
  validation: Validation,
  allowed: readonly string[] | null,
): void {
  const name = isJsonObject(value) ? ownValue(value, 'element_type') : undefined;
  if (typeof name !== 'string') {
    validation.report('must be an element: an object that carries element_type');
    return;
  }
  validation.work.spend((allowed?.length ?? 0) * COMPARISON_WORK);
  if (allowed !== null && !allowed.includes(name)) {
    validation.report(
      `must be of element type ${allowed.map((type) => `'${type}'`).join(' or ')}, not '${name}'`,
    );
    return;
  }
  const type = validation.source.elementType(name);
  if (type === undefined) {
    validation.add(`ElementType '${name}' not found${validation.place()}`);
    return;
  }
  checkFields(value as JsonObject, type, `ElementType '${name}'${validation.place()}`, validation);
}

/**
 * Checks a list of elements, plain or as `{uuid, items}`.
 *
 * @param allowed the allowed element types; null allows any
 */
export function checkElements(
  value: JsonValue,
  validation: Validation,
  allowed: readonly string[] | null,
): void {
  checkItems(value, validation, 'a list of elements', (item) => checkElement(item, validation, allowed));
}

/**
 * Runs a check over the items of a list, plain or as `{uuid, items}`.
 *
 * @param text the expected form, for the message
 */
export function checkItems(
  value: JsonValue,
  validation: Validation,
  text: string,
  check: (item: JsonValue) => void,
): void {
  const wrapped = isJsonObject(value) ? ownValue(value, 'items') : undefined;
  const list = wrapped ?? value;
  if (!isJsonArray(list)) {
    validation.report(`must be ${text}: an array, or an object with items`);
    return;
  }
  if (wrapped !== undefined) validation.enter('items');
  for (let index = 0; index < list.length; index += 1) {
    validation.enter(index);
    check(list[index]!);
    validation.leave();
  }
  if (wrapped !== undefined) validation.leave();
}

/**
 * Checks the fields of an element: required fields, undeclared fields of a strict type, and each value.
 *
 * @param owner names the type that declares the fields, for the messages
 */
export function checkFields(
  object: JsonObject,
  rules: FieldRules,
  owner: string,
  validation: Validation,
): void {
  for (const name of rules.required) {
    if (!Object.hasOwn(object, name)) validation.add(`Missing required field '${name}' for ${owner}`);
  }
  for (const key in object) {
    const field = rules.byName.get(key);
    if (field !== undefined) {
      validation.enter(key);
      field.check(object[key]!, validation);
      validation.leave();
    } else if (rules.strict && !elementKeys.has(key)) {
      validation.add(`Undefined field '${key}' in strict mode for ${owner}`);
    }
  }
}

/** The check of property type Element. */
export const elementCheck: ValueCheck = (value, validation) => checkElement(value, validation, null);

/** The check of property type Composite. */
export const compositeCheck: ValueCheck = (value, validation) => checkElements(value, validation, null);
