import { jsonMemory } from '../json/json-limits.ts';
import { Jsonb, type SqlValue } from '../sql-value.ts';

/** Bytes of a number, a truth value or NULL in an array. */
const WORD = 8;
/** Bytes of a bigint, with the reference to it. */
const BIGINT = 32;
/** Bytes of an object or a string beside its content. */
const HEADER = 32;

/**
 * Estimated bytes of memory that a value takes, with the reference to it. It is the same number whenever it is asked: JSON that
 * is stored counts as what it takes when it is read, so that who keeps it has counted it, and frees what was counted.
 */
export function valueBytes(value: SqlValue): number {
  if (typeof value === 'string') return HEADER + 2 * value.length;
  if (typeof value === 'bigint') return BIGINT;
  if (typeof value !== 'object' || value === null) return WORD;
  if (value instanceof Jsonb) return HEADER + (value.storedMemory ?? jsonMemory(value));
  let bytes = HEADER;
  for (const item of value) bytes += valueBytes(item);
  return bytes;
}
