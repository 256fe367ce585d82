import type { JsonValue } from '#runtime/content/values/json-value.ts';
import type { SqlType } from './sql-type.ts';
import { Jsonb, type SqlValue } from './sql-value.ts';
import { bigintType, booleanType, doubleType, intType, jsonbType, unknownType } from './types/basic-types.ts';
import { BIGINT_MAX, BIGINT_MIN, isInt } from './types/number-ranges.ts';

/** From here on a whole double is written with an exponent. */
const WHOLE_TEXT_BELOW = 1e21;

/** A value with its type. */
interface TypedValue {
  readonly type: SqlType;
  readonly value: SqlValue;
}

/**
 * The value of a parameter of a statement. A text and null are of the type `unknown`, because they may become anything; a
 * number has the first of INT, BIGINT and DOUBLE that it fits into.
 */
export function fromParameter(json: JsonValue): TypedValue {
  if (json === null || typeof json === 'string') return { type: unknownType, value: json };
  if (typeof json === 'boolean') return { type: booleanType, value: json };
  if (typeof json === 'object') return { type: jsonbType, value: new Jsonb(json) };
  if (typeof json === 'number' && isInt(json)) return { type: intType, value: json === 0 ? 0 : json };
  if (typeof json === 'bigint' || (Number.isInteger(json) && Math.abs(json) < WHOLE_TEXT_BELOW)) {
    // A large double stands for the number that its text shows, not for its binary value.
    const whole = BigInt(String(json));
    if (whole >= BIGINT_MIN && whole <= BIGINT_MAX) return { type: bigintType, value: whole };
  }
  return { type: doubleType, value: Number(json) };
}
