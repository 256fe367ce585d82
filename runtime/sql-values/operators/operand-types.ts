import { invalid, type ServiceError } from '#runtime/errors/service-error.ts';
import type { SqlType } from '../sql-type.ts';
import { typeText } from '../types/type-names.ts';

/** Whether values of a type are numbers. */
export function isNumeric({ name }: SqlType): boolean {
  return name === 'int' || name === 'bigint' || name === 'double';
}

/** Whether values of a type are texts: TEXT itself, paths, identifiers, and literals of no known type. */
export function isTextual({ name }: SqlType): boolean {
  return name === 'text' || name === 'path' || name === 'uuid' || name === 'unknown';
}

/** The error for an operand of a type that an operator does not take. */
export function typeMismatch(expected: SqlType, actual: SqlType): ServiceError {
  return invalid(`Type mismatch: expected ${typeText(expected)}, got ${typeText(actual)}`);
}
