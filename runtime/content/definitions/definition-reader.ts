import { type KnownNames, unknownName } from '#runtime/errors/known-names.ts';
import { invalid, ServiceError } from '#runtime/errors/service-error.ts';
import { boundMessage, measureJson } from '../values/json-bounds.ts';
import {
  isJsonArray,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  ownValue,
} from '../values/json-value.ts';
import { CheckWork } from '../validation/check-work.ts';

/** The largest schema or workspace definition, in units of {@link measureJson}. */
export const DEFINITION_SIZE_MAX = 4 * 1024 * 1024;

function kindOf(value: JsonValue): string {
  if (value === null) return 'null';
  if (isJsonArray(value)) return 'an array';
  if (typeof value === 'object') return 'an object';
  // An integer that a double cannot represent.
  return typeof value === 'bigint' ? 'a number' : `a ${typeof value}`;
}

/**
 * Reads typed fields from a JSON object and keeps its place in the body, so that every error names the field. A field
 * that is missing or of the wrong type is `UNPROCESSABLE_BODY` (422); `null` counts as absent.
 *
 * @see docs/interface/conventions.md#requests
 */
export class DefinitionReader {
  /** The object being read. */
  readonly json: JsonObject;
  /** Its place in the body, dotted (`node_type.properties.0`); empty for the body itself. */
  readonly at: string;
  /** Work of reading the whole definition; compiling its patterns is nearly all of it. */
  readonly work: CheckWork;

  /**
   * @param at empty for the body itself
   * @param work of the whole definition
   * @throws {ServiceError} `UNPROCESSABLE_BODY` when the value is not an object
   */
  constructor(json: unknown, at: string, work: CheckWork = new CheckWork()) {
    this.work = work;
    if (json === undefined || json === null) {
      throw at === '' ? wrongType(at, 'an object', null) : missingField(at);
    }
    if (!isJsonObject(json)) throw wrongType(at, 'an object', json as JsonValue);
    this.json = json;
    this.at = at;
  }

  /**
   * Starts reading a definition in a body; its total size and depth are checked first.
   *
   * @throws {ServiceError} `UNPROCESSABLE_BODY`, `VALIDATION_FAILED`
   */
  static whole(json: unknown, at = ''): DefinitionReader {
    const reader = new DefinitionReader(json, at);
    const size = measureJson(reader.json);
    const [name, place] = at === '' ? ['The body', {}] : [`'${at}'`, { field: at }];
    if (size < 0) throw invalid(`${name} ${boundMessage(size)}`, place);
    if (size > DEFINITION_SIZE_MAX) throw invalid(`${name} is larger than a definition may be`, place);
    return reader;
  }

  /** The dotted place of a field. */
  place(key: string): string {
    return this.at === '' ? key : `${this.at}.${key}`;
  }

  /** The raw value; undefined when the field is absent or null. */
  raw(key: string): JsonValue | undefined {
    return ownValue(this.json, key) ?? undefined;
  }

  /** Whether the field is present, even as null. */
  has(key: string): boolean {
    return Object.hasOwn(this.json, key);
  }

  /** A required string. */
  string(key: string): string {
    return this.optionalString(key) ?? this.#missing(key);
  }

  /** A string, or null when absent. */
  optionalString(key: string): string | null {
    const value = this.raw(key);
    if (value === undefined) return null;
    if (typeof value !== 'string') throw wrongType(this.place(key), 'a string', value);
    return value;
  }

  /** A boolean, or null when absent. */
  optionalBoolean(key: string): boolean | null {
    const value = this.raw(key);
    if (value === undefined) return null;
    if (typeof value !== 'boolean') throw wrongType(this.place(key), 'a boolean', value);
    return value;
  }

  /** An object, or null when absent. */
  optionalObject(key: string): JsonObject | null {
    const value = this.raw(key);
    if (value === undefined) return null;
    if (!isJsonObject(value)) throw wrongType(this.place(key), 'an object', value);
    return value;
  }

  /** A required array. */
  array(key: string): readonly JsonValue[] {
    return this.optionalArray(key) ?? this.#missing(key);
  }

  /** An array, or null when absent. */
  optionalArray(key: string): readonly JsonValue[] | null {
    const value = this.raw(key);
    if (value === undefined) return null;
    if (!isJsonArray(value)) throw wrongType(this.place(key), 'an array', value);
    return value;
  }

  /** A list of strings without duplicates; empty when absent. */
  strings(key: string): readonly string[] {
    const list = this.optionalArray(key) ?? [];
    for (const [index, item] of list.entries()) {
      if (typeof item !== 'string') throw wrongType(`${this.place(key)}.${index}`, 'a string', item);
    }
    return [...new Set(list as readonly string[])];
  }

  /** Readers over a list of objects; none when absent. */
  objects(key: string): readonly DefinitionReader[] {
    const list = this.optionalArray(key) ?? [];
    return list.map((item, index) => new DefinitionReader(item, `${this.place(key)}.${index}`, this.work));
  }

  /**
   * Refuses unknown fields: a misspelt one would otherwise be ignored silently. Call it after everything has been read,
   * because a missing field is reported first.
   *
   * @throws {ServiceError} `VALIDATION_FAILED`
   */
  refuseOthers(known: KnownNames): void {
    for (const key in this.json) {
      if (!known.has(key)) throw unknownName('field', key, known.names, this.at);
    }
  }

  /** `VALIDATION_FAILED` (400) for a field of the right type with an invalid value. */
  badValue(key: string, message: string): ServiceError {
    const field = this.place(key);
    return invalid(`${field}: ${message}`, { field });
  }

  #missing(key: string): never {
    throw missingField(this.place(key));
  }
}

/** A required field is absent. @returns `UNPROCESSABLE_BODY` (422) */
export function missingField(field: string): ServiceError {
  const name = field.slice(field.lastIndexOf('.') + 1);
  const message = name === field ? `missing field \`${name}\`` : `${field}: missing field \`${name}\``;
  return new ServiceError('UNPROCESSABLE_BODY', message, { field });
}

/** A field has another JSON type. @returns `UNPROCESSABLE_BODY` (422) */
export function wrongType(field: string, expected: string, found: JsonValue): ServiceError {
  const message = `${field || 'body'}: expected ${expected}, found ${kindOf(found)}`;
  return new ServiceError('UNPROCESSABLE_BODY', message, field === '' ? {} : { field });
}
