import { assert } from '#runtime/base/assert.ts';
import { isJsonArray, type JsonValue } from '#runtime/content/values/json-value.ts';
import { resolveOperator } from '#runtime/sql-values/operators/resolve-operator.ts';
import type { ScalarFunction } from '#runtime/sql-values/scalar-function.ts';
import type { SqlType } from '#runtime/sql-values/sql-type.ts';
import { Jsonb, type SqlValue } from '#runtime/sql-values/sql-value.ts';
import {
  arrayOf,
  booleanType,
  doubleType,
  intType,
  jsonbType,
  textType,
} from '#runtime/sql-values/types/basic-types.ts';

/** Estimated nanoseconds to take one element out of a JSON array. */
const ELEMENT_WORK = 60;

/**
 * The function that makes an array of the elements of a JSON array, for `x = ANY (json)`. Its elements are like `x`: as
 * `->>` gives them for a text, numbers for a number, truth values for a truth value; an element of another kind is NULL.
 * What is no array of JSON gives NULL.
 *
 * @param type of the value that the elements are compared with
 */
export function elementsOf(type: SqlType): ScalarFunction {
  switch (type.name) {
    case 'jsonb':
      return elements(jsonbType, (value) => new Jsonb(value));
    case 'int':
    case 'bigint':
    case 'double':
      return elements(doubleType, (value) => (isNumber(value) ? Number(value) : null));
    case 'boolean':
      return elements(booleanType, (value) => (typeof value === 'boolean' ? value : null));
    default:
      return textElements();
  }
}

function isNumber(value: JsonValue): boolean {
  return typeof value === 'number' || typeof value === 'bigint';
}

function textElements(): ScalarFunction {
  const extract = resolveOperator('->>', [jsonbType, intType]);
  return elements(textType, (value) =>
    // A text is by far the most frequent element.
    typeof value === 'string' ? value : extract.evaluate(new Jsonb([value]), 0),
  );
}

function elements(type: SqlType, read: (value: JsonValue) => SqlValue): ScalarFunction {
  return {
    name: 'JSON_ELEMENTS',
    parameters: [jsonbType],
    result: arrayOf(type),
    isStrict: true,
    work: ([json]) => {
      const value = json instanceof Jsonb ? json.value : null;
      return isJsonArray(value) ? value.length * ELEMENT_WORK : 0;
    },
    evaluate: (json) => {
      assert(json instanceof Jsonb, 'the elements are taken of JSON');
      return isJsonArray(json.value) ? json.value.map(read) : null;
    },
  };
}
