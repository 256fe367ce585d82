import { type JsonValue, isJsonArray } from '#runtime/content/values/json-value.ts';
import { invalid } from '#runtime/errors/service-error.ts';
import { Jsonb } from '../sql-value.ts';

/** Largest JSON value that an expression may give, in bytes as {@link jsonBytes} estimates them. */
export const JSON_BYTES_MAX = 16 * 1024 * 1024;

/** Most levels of nesting of a JSON value. Deeper ones would exhaust the stack of whoever writes or compares them. */
export const JSON_LEVELS_MAX = 500;

/** Estimated bytes of a scalar, and of what an array or object keeps for each member. */
const VALUE_BYTES = 8;

const TOO_LARGE = -1;
const TOO_DEEP = -2;

/** Sizes that were measured: a value is often an argument of several calls. */
const sizes = new WeakMap<object, number>();

/** @returns estimated bytes, or one of the negative results above */
function measure(value: JsonValue, levels: number): number {
  if (typeof value === 'string') return VALUE_BYTES + value.length;
  if (typeof value !== 'object' || value === null) return VALUE_BYTES;
  if (levels >= JSON_LEVELS_MAX) return TOO_DEEP;
  let bytes = VALUE_BYTES;
  if (isJsonArray(value)) {
    for (const item of value) {
      const measured = measure(item, levels + 1);
      if (measured < 0) return measured;
      bytes += measured;
      if (bytes > JSON_BYTES_MAX) return TOO_LARGE;
    }
    return bytes;
  }
  for (const key of Object.keys(value)) {
    const measured = measure(value[key]!, levels + 1);
    if (measured < 0) return measured;
    bytes += measured + VALUE_BYTES + key.length;
    if (bytes > JSON_BYTES_MAX) return TOO_LARGE;
  }
  return bytes;
}

/** Estimated bytes of a value: its texts, and 8 for each value and key. The result is remembered. */
export function jsonBytes(json: Jsonb): number {
  const { value } = json;
  if (typeof value !== 'object' || value === null) return Math.abs(measure(value, 0));
  let bytes = sizes.get(value);
  if (bytes === undefined) {
    bytes = measure(value, 0);
    sizes.set(value, bytes);
  }
  return bytes < 0 ? JSON_BYTES_MAX : bytes;
}

/**
 * A JSON value that was put together from others. Values share their parts, so a few calls may describe a value of
 * any size: it is measured as if it were written out.
 *
 * @param what for the message: `JSONB_SET result`
 * @throws {ServiceError} `VALIDATION_FAILED` for one that is too large or too deep
 */
export function boundedJsonb(value: JsonValue, what: string): Jsonb {
  const bytes = measure(value, 0);
  if (bytes === TOO_LARGE) throw invalid(`${what} is longer than 16 MiB`);
  if (bytes === TOO_DEEP) throw invalid(`${what} is nested deeper than ${JSON_LEVELS_MAX} levels`);
  if (typeof value === 'object' && value !== null) sizes.set(value, bytes);
  return new Jsonb(value);
}
