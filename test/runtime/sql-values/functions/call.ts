import { resolveFunction } from '#runtime/sql-values/functions/function-catalog.ts';
import type { SqlType } from '#runtime/sql-values/sql-type.ts';
import { Jsonb, type SqlValue } from '#runtime/sql-values/sql-value.ts';
import {
  arrayOf,
  bigintType,
  booleanType,
  doubleType,
  intType,
  jsonbType,
  textType,
  unknownType,
} from '#runtime/sql-values/types/basic-types.ts';

/** The type of a value in a test: whole numbers are INT, arrays are TEXT[]. */
export function typeOf(value: SqlValue): SqlType {
  if (value === null) return unknownType;
  if (typeof value === 'string') return textType;
  if (typeof value === 'bigint') return bigintType;
  if (typeof value === 'boolean') return booleanType;
  if (typeof value === 'number') return Number.isInteger(value) ? intType : doubleType;
  return value instanceof Jsonb ? jsonbType : arrayOf(textType);
}

/** Calls a function as an executor does. */
export function call(name: string, ...args: readonly SqlValue[]): SqlValue {
  const found = resolveFunction(name, args.map(typeOf));
  if (found.isStrict && args.includes(null)) return null;
  return found.evaluate(...args);
}

/** The work that a call announces, in nanoseconds. */
export function workOf(name: string, ...args: readonly SqlValue[]): number {
  return resolveFunction(name, args.map(typeOf)).work?.(args) ?? 0;
}
