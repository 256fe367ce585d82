import { isJsonArray } from '#runtime/content/values/json-value.ts';
import type { ScalarFunction } from '../scalar-function.ts';
import { Jsonb } from '../sql-value.ts';
import { arrayOf, jsonbType } from '../types/basic-types.ts';

/** Estimated nanoseconds for an element. */
const ELEMENT_WORK = 30;

/** The elements of a JSON array, as an array of JSONB, for `x = ANY(json)`. NULL for a value that is no array. */
export const jsonbElements: ScalarFunction = {
  name: 'JSONB_ELEMENTS',
  parameters: [jsonbType],
  result: arrayOf(jsonbType),
  isStrict: true,
  work: ([json]) => {
    const items = (json as Jsonb | null)?.value;
    return isJsonArray(items) ? items.length * ELEMENT_WORK : 0;
  },
  evaluate: (json) => {
    const items = (json as Jsonb).value;
    return isJsonArray(items) ? items.map((item) => new Jsonb(item)) : null;
  },
};
