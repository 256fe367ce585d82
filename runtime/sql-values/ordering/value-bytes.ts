import { jsonBytes } from '../json/json-limits.ts';
import { Jsonb, type SqlValue } from '../sql-value.ts';

/** Bytes of a number, a truth value or NULL in an array. */
const WORD = 8;
/** Bytes of a bigint, with the reference to it. */
const BIGINT = 32;
/** Bytes of an object or a string beside its content. */
const HEADER = 32;

/** Estimated bytes of memory that a value takes, with the reference to it. */
export function valueBytes(value: SqlValue): number {
  if (typeof value === 'string') return HEADER + 2 * value.length;
  if (typeof value === 'bigint') return BIGINT;
  if (typeof value !== 'object' || value === null) return WORD;
  // Values of JSON have twice the size of their text: references, and strings of two bytes a character.
  if (value instanceof Jsonb) return HEADER + 2 * (value.storedText?.length ?? jsonBytes(value));
  let bytes = HEADER;
  for (const item of value) bytes += valueBytes(item);
  return bytes;
}
