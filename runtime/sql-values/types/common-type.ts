import { invalid } from '#runtime/errors/service-error.ts';
import type { SqlType, SqlTypeName } from '../sql-type.ts';
import { arrayOf, textType, unknownType } from './basic-types.ts';
import { typeText } from './type-names.ts';

/** Families of types that convert into each other by themselves, each from the narrowest type to the widest. */
const families: readonly (readonly SqlTypeName[])[] = [
  ['int', 'bigint', 'double'],
  ['uuid', 'path', 'text'],
  ['date', 'timestamp', 'timestamptz'],
];

/** Whether two types are the same. */
export function sameType(a: SqlType, b: SqlType): boolean {
  if (a.name !== b.name) return false;
  if (a.element === undefined || b.element === undefined) return a.element === b.element;
  return sameType(a.element, b.element);
}

/**
 * The type that values of several types are brought to: in CASE, COALESCE, lists, arrays and set operations.
 * Without any known type it is text.
 *
 * @throws {ServiceError} `VALIDATION_FAILED` for types without a common one
 */
export function commonType(types: readonly SqlType[]): SqlType {
  let common = unknownType;
  for (const type of types) {
    const next = commonOfTwo(common, type);
    if (next === undefined)
      throw invalid(`Type mismatch: expected ${typeText(common)}, got ${typeText(type)}`);
    common = next;
  }
  return common.name === 'unknown' ? textType : common;
}

/** The type that values of both types are brought to. @returns undefined: there is none */
export function commonOfTwo(a: SqlType, b: SqlType): SqlType | undefined {
  if (a.name === 'unknown') return b;
  if (b.name === 'unknown' || sameType(a, b)) return a;
  if (a.element !== undefined && b.element !== undefined) {
    const element = commonOfTwo(a.element, b.element);
    return element === undefined ? undefined : arrayOf(element);
  }
  for (const family of families) {
    const [x, y] = [family.indexOf(a.name), family.indexOf(b.name)];
    if (x >= 0 && y >= 0) return x > y ? a : b;
  }
  return undefined;
}
