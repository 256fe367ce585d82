import { invalid } from '#runtime/errors/service-error.ts';
import type { SqlType } from '../sql-type.ts';
import {
  arrayOf,
  bigintType,
  booleanType,
  dateType,
  doubleType,
  elementOf,
  intervalType,
  intType,
  jsonbType,
  pathType,
  textType,
  timestamptzType,
  timestampType,
  uuidType,
} from './basic-types.ts';

const types: ReadonlyMap<string, SqlType> = new Map([
  ['int', intType],
  ['integer', intType],
  ['int4', intType],
  ['bigint', bigintType],
  ['int8', bigintType],
  ['double', doubleType],
  ['double precision', doubleType],
  ['float8', doubleType],
  ['boolean', booleanType],
  ['bool', booleanType],
  ['text', textType],
  ['varchar', textType],
  ['string', textType],
  ['uuid', uuidType],
  ['path', pathType],
  ['timestamptz', timestamptzType],
  ['timestamp with time zone', timestamptzType],
  ['timestamp', timestampType],
  ['timestamp without time zone', timestampType],
  ['date', dateType],
  ['interval', intervalType],
  ['json', jsonbType],
  ['jsonb', jsonbType],
]);

/**
 * The type that a name in a statement means, in any case.
 *
 * @param isArray whether `[]` follows the name
 * @throws {ServiceError} `VALIDATION_FAILED` for a type that does not exist, such as NUMERIC
 */
export function typeNamed(name: string, isArray: boolean): SqlType {
  const type = types.get(name.toLowerCase());
  if (type === undefined) throw invalid(`Unsupported SQL type: ${name.toUpperCase()}`);
  return isArray ? arrayOf(type) : type;
}

/** The name of a type in messages and explanations: `INT`, `TEXT[]`. */
export function typeText(type: SqlType): string {
  if (type.name === 'array') return `${typeText(elementOf(type))}[]`;
  // An unknown type is that of a literal text, which a message calls by what it will be without any context.
  return type.name === 'unknown' ? 'TEXT' : type.name.toUpperCase();
}
