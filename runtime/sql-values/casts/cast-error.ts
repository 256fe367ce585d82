import { invalid, type ServiceError } from '#runtime/errors/service-error.ts';
import type { SqlType } from '../sql-type.ts';
import { typeText } from '../types/type-names.ts';
import { shortened } from '../text-excerpt.ts';

/** The error for a text that is no value of a type. */
export function cannotCast(text: string, type: SqlType): ServiceError {
  return invalid(`Cannot cast '${shortened(text)}' to ${typeText(type)}`);
}
