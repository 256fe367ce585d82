import { assert } from '#runtime/base/assert.ts';
import { invalid } from '#runtime/errors/service-error.ts';
import type { SqlType } from '../sql-type.ts';

/** Type of an untyped NULL, and of a literal text before its context is known. */
export const unknownType: SqlType = Object.freeze({ name: 'unknown' });
/** 32-bit whole numbers. */
export const intType: SqlType = Object.freeze({ name: 'int' });
/** 64-bit whole numbers. */
export const bigintType: SqlType = Object.freeze({ name: 'bigint' });
/** Numbers in binary64. */
export const doubleType: SqlType = Object.freeze({ name: 'double' });
/** Truth values. */
export const booleanType: SqlType = Object.freeze({ name: 'boolean' });
/** Texts. */
export const textType: SqlType = Object.freeze({ name: 'text' });
/** Identifiers, as texts in lower case. */
export const uuidType: SqlType = Object.freeze({ name: 'uuid' });
/** Paths of nodes. */
export const pathType: SqlType = Object.freeze({ name: 'path' });
/** Instants. */
export const timestamptzType: SqlType = Object.freeze({ name: 'timestamptz' });
/** Dates with a time of day, without an offset; as instants they are in UTC. */
export const timestampType: SqlType = Object.freeze({ name: 'timestamp' });
/** Days of the calendar. */
export const dateType: SqlType = Object.freeze({ name: 'date' });
/** Durations. */
export const intervalType: SqlType = Object.freeze({ name: 'interval' });
/** JSON values. */
export const jsonbType: SqlType = Object.freeze({ name: 'jsonb' });

/** The type of the elements of an array. */
export function elementOf(type: SqlType): SqlType {
  assert(type.element !== undefined, 'a type of arrays says what its elements are');
  return type.element;
}

/**
 * The type of arrays of a type.
 *
 * @throws {ServiceError} `VALIDATION_FAILED` for arrays of arrays: forty of the form `ARRAY[x, x]`, each of the one before,
 *   would be a value of 2^40 elements that share their memory
 */
export function arrayOf(element: SqlType): SqlType {
  if (element.name === 'array') throw invalid('Arrays of arrays are not supported; use JSONB');
  return { name: 'array', element };
}
