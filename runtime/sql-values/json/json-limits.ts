import { type JsonValue, isJsonArray } from '#runtime/content/values/json-value.ts';
import { invalid } from '#runtime/errors/service-error.ts';
import { Jsonb } from '../sql-value.ts';
import { memoryOfJson, VALUE_BYTES } from './json-memory.ts';

/** Largest JSON value that an expression may give, in bytes as {@link jsonBytes} estimates them. */
const JSON_BYTES_MAX = 16 * 1024 * 1024;

/** Most levels of nesting of a JSON value. Deeper ones would exhaust the stack of whoever writes or compares them. */
export const JSON_LEVELS_MAX = 500;

/** From this many keys on an object of the engine is a hash table, which takes much longer to copy and to list. */
const MANY_KEYS = 128;

/** Estimated nanoseconds per value, per character of text, per key, and per key of an object with many. */
const VALUE_WORK = 40;
const CHARACTER_WORK = 3;
const KEY_WORK = 60;
const HASHED_KEY_WORK = 1_200;

/** How large a value is. */
interface JsonSize {
  /** Estimated bytes: of its texts, and 8 for each value and key. */
  readonly bytes: number;
  /** Values in it, with itself. */
  readonly values: number;
  /** Arrays and objects in it, with itself. */
  readonly containers: number;
  /** Estimated nanoseconds for copying or writing it once. */
  readonly work: number;
  /** Levels of nesting; 0 for a scalar. */
  readonly levels: number;
  /** Which limit is exceeded; then the rest was not measured. */
  readonly excess: 'bytes' | 'levels' | undefined;
}

/** Sizes that were measured: a value is often an argument of several calls. */
const sizes = new WeakMap<object, JsonSize>();

class Measuring {
  bytes = 0;
  values = 0;
  containers = 0;
  work = 0;
  levels = 0;
  excess: JsonSize['excess'];

  /** @param levels of nesting around the value */
  add(value: JsonValue, levels: number): void {
    // A value that was put together from others has them as members: what was measured is not measured again.
    const known = levels === 1 ? measured(value) : undefined;
    if (known !== undefined) {
      this.#addMeasured(known, levels);
      return;
    }
    this.bytes += VALUE_BYTES;
    this.values += 1;
    this.work += VALUE_WORK;
    if (typeof value === 'string') this.#addText(value);
    if (typeof value !== 'object' || value === null) return;
    this.containers += 1;
    this.levels = Math.max(this.levels, levels + 1);
    if (this.levels > JSON_LEVELS_MAX) {
      this.excess = 'levels';
      return;
    }
    if (isJsonArray(value)) {
      for (let index = 0; index < value.length && this.#isWithin(); index += 1)
        this.add(value[index]!, levels + 1);
      return;
    }
    const keys = Object.keys(value);
    this.work += keys.length * (keys.length < MANY_KEYS ? KEY_WORK : HASHED_KEY_WORK);
    for (let index = 0; index < keys.length && this.#isWithin(); index += 1) {
      const key = keys[index]!;
      this.bytes += VALUE_BYTES;
      this.#addText(key);
      this.add(value[key]!, levels + 1);
    }
  }

  #addMeasured(size: JsonSize, levels: number): void {
    this.bytes += size.bytes;
    this.values += size.values;
    this.containers += size.containers;
    this.work += size.work;
    this.levels = Math.max(this.levels, levels + size.levels);
    this.excess ??= size.excess ?? (this.levels > JSON_LEVELS_MAX ? 'levels' : undefined);
  }

  #addText(text: string): void {
    this.bytes += text.length;
    this.work += text.length * CHARACTER_WORK;
  }

  #isWithin(): boolean {
    if (this.bytes > JSON_BYTES_MAX) this.excess ??= 'bytes';
    return this.excess === undefined;
  }
}

function measured(value: JsonValue): JsonSize | undefined {
  return typeof value === 'object' && value !== null ? sizes.get(value) : undefined;
}

function sizeOf(value: JsonValue): JsonSize {
  const known = measured(value);
  if (known !== undefined) return known;
  const measuring = new Measuring();
  measuring.add(value, 0);
  if (measuring.bytes > JSON_BYTES_MAX) measuring.excess ??= 'bytes';
  if (typeof value === 'object' && value !== null) sizes.set(value, measuring);
  return measuring;
}

/** Estimated bytes of a value: of its texts, and 8 for each value and key. The result is remembered. */
export function jsonBytes(json: Jsonb): number {
  return sizeOf(json.value).bytes;
}

/** Estimated bytes of memory that a value takes. */
export function jsonMemory(json: Jsonb): number {
  const { bytes, containers } = sizeOf(json.value);
  return memoryOfJson(bytes, containers);
}

/** Number of values in a value, with itself. */
export function jsonValues(json: Jsonb): number {
  return sizeOf(json.value).values;
}

/** Estimated nanoseconds for copying a value as a whole, measuring it or writing it as text. */
export function jsonWork(json: Jsonb): number {
  return sizeOf(json.value).work;
}

/**
 * A JSON value that was put together from others. Values share their parts, so a few calls may describe a value of
 * any size: it is measured as if it were written out.
 *
 * @param what for the message: `JSONB_SET result`
 * @throws {ServiceError} `VALIDATION_FAILED` for one that is too large or too deep
 */
export function boundedJsonb(value: JsonValue, what: string): Jsonb {
  const { excess } = sizeOf(value);
  if (excess === 'bytes') throw invalid(`${what} is longer than 16 MiB`);
  if (excess === 'levels') throw invalid(`${what} is nested deeper than ${JSON_LEVELS_MAX} levels`);
  return new Jsonb(value);
}
