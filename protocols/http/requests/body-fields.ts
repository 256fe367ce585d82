import { invalid, ServiceError } from '#runtime/errors/service-error.ts';
import { otherSpelling } from './other-spelling.ts';

type JsonObject = Readonly<Record<string, unknown>>;

/** The JSON name of a value's type, for error messages. */
function typeName(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  // An integer that a double cannot represent.
  return typeof value === 'bigint' ? 'number' : typeof value;
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * Longest text of a field, in UTF-16 units. Fields hold names, keys and short notes. A lookup hashes and compares the
 * whole text, so one of 16 MiB would block the event loop. Longer texts belong in properties of nodes, which are not
 * fields.
 */
export const FIELD_TEXT_LENGTH_MAX = 131_072;

interface Kind<T> {
  readonly name: string;
  accepts(value: unknown): value is T;
}

const stringKind: Kind<string> = {
  name: 'string',
  accepts: (value): value is string => typeof value === 'string',
};
const numberKind: Kind<number> = {
  name: 'number',
  accepts: (value): value is number => typeof value === 'number' && Number.isFinite(value),
};
const integerKind: Kind<number> = {
  name: 'integer',
  accepts: (value): value is number => Number.isSafeInteger(value),
};
const booleanKind: Kind<boolean> = {
  name: 'boolean',
  accepts: (value): value is boolean => typeof value === 'boolean',
};
const objectKind: Kind<JsonObject> = { name: 'object', accepts: isObject };
const arrayKind: Kind<readonly unknown[]> = {
  name: 'array',
  accepts: (value): value is readonly unknown[] => Array.isArray(value),
};

/**
 * Reads the fields of a JSON body and refuses missing fields and wrong types.
 *
 * Every reader takes the documented name of a field and also accepts its other spelling (camelCase or snake_case) and
 * any further aliases; the first one present counts. For an optional reader `null` counts as absent.
 *
 * @throws {ServiceError} from every reader: `UNPROCESSABLE_BODY` with "missing field `name`" or "invalid type for
 *   `name`: expected string, found number"; nested names are dotted (`changes.0.id`). From readers of texts:
 *   `VALIDATION_FAILED` above {@link FIELD_TEXT_LENGTH_MAX}
 * @see docs/interface/conventions.md#requests
 */
export class BodyFields {
  /** The parsed object. */
  readonly raw: JsonObject;
  readonly #at: string;

  /** @param at dotted name of this object within the body; empty for the body itself */
  constructor(raw: JsonObject, at: string) {
    this.raw = raw;
    this.#at = at;
  }

  /** The dotted name of a field of this object. */
  nameOf(name: string | number): string {
    return this.#at === '' ? String(name) : `${this.#at}.${name}`;
  }

  #find(name: string, aliases: readonly string[]): unknown {
    // Most fields use the documented spelling; computing the other one costs more than the rest of this method.
    if (Object.hasOwn(this.raw, name)) return this.raw[name];
    const other = otherSpelling(name);
    if (Object.hasOwn(this.raw, other)) return this.raw[other];
    for (const alias of aliases) {
      if (Object.hasOwn(this.raw, alias)) return this.raw[alias];
    }
    return undefined;
  }

  #required<T>(kind: Kind<T>, name: string, aliases: readonly string[]): T {
    const value = this.#find(name, aliases);
    if (value === undefined) throw missingField(this.nameOf(name));
    if (!kind.accepts(value)) throw wrongType(this.nameOf(name), kind.name, value);
    requireShort(value, () => this.nameOf(name));
    return value;
  }

  #optional<T>(kind: Kind<T>, name: string, aliases: readonly string[]): T | undefined {
    const value = this.#find(name, aliases);
    if (value === undefined || value === null) return undefined;
    if (!kind.accepts(value)) throw wrongType(this.nameOf(name), kind.name, value);
    requireShort(value, () => this.nameOf(name));
    return value;
  }

  /** Whether the field is present and not `null`. */
  has(name: string, ...aliases: string[]): boolean {
    const value = this.#find(name, aliases);
    return value !== undefined && value !== null;
  }

  string(name: string, ...aliases: string[]): string {
    return this.#required(stringKind, name, aliases);
  }

  optionalString(name: string, ...aliases: string[]): string | undefined {
    return this.#optional(stringKind, name, aliases);
  }

  /**
   * A text that may be longer than {@link FIELD_TEXT_LENGTH_MAX}, because nothing looks it up.
   *
   * @param lengthMax in UTF-16 units
   * @throws {ServiceError} `VALIDATION_FAILED` when it is longer
   */
  longString(name: string, lengthMax: number): string {
    const value = this.#find(name, []);
    const field = this.nameOf(name);
    if (value === undefined) throw missingField(field);
    if (!stringKind.accepts(value)) throw wrongType(field, stringKind.name, value);
    if (value.length <= lengthMax) return value;
    throw invalid(`\`${field}\` is longer than ${lengthMax} characters`, { field });
  }

  /** A finite number. */
  number(name: string, ...aliases: string[]): number {
    return this.#required(numberKind, name, aliases);
  }

  optionalNumber(name: string, ...aliases: string[]): number | undefined {
    return this.#optional(numberKind, name, aliases);
  }

  /** An integer that a double represents exactly. */
  integer(name: string, ...aliases: string[]): number {
    return this.#required(integerKind, name, aliases);
  }

  optionalInteger(name: string, ...aliases: string[]): number | undefined {
    return this.#optional(integerKind, name, aliases);
  }

  boolean(name: string, ...aliases: string[]): boolean {
    return this.#required(booleanKind, name, aliases);
  }

  optionalBoolean(name: string, ...aliases: string[]): boolean | undefined {
    return this.#optional(booleanKind, name, aliases);
  }

  object(name: string, ...aliases: string[]): JsonObject {
    return this.#required(objectKind, name, aliases);
  }

  optionalObject(name: string, ...aliases: string[]): JsonObject | undefined {
    return this.#optional(objectKind, name, aliases);
  }

  array(name: string, ...aliases: string[]): readonly unknown[] {
    return this.#required(arrayKind, name, aliases);
  }

  optionalArray(name: string, ...aliases: string[]): readonly unknown[] | undefined {
    return this.#optional(arrayKind, name, aliases);
  }

  /** An array of strings. */
  strings(name: string, ...aliases: string[]): readonly string[] {
    return this.#eachOf(stringKind, name, this.array(name, ...aliases));
  }

  optionalStrings(name: string, ...aliases: string[]): readonly string[] | undefined {
    const items = this.optionalArray(name, ...aliases);
    return items === undefined ? undefined : this.#eachOf(stringKind, name, items);
  }

  /** A nested object as a reader of its own. */
  fields(name: string, ...aliases: string[]): BodyFields {
    return new BodyFields(this.object(name, ...aliases), this.nameOf(name));
  }

  optionalFields(name: string, ...aliases: string[]): BodyFields | undefined {
    const value = this.optionalObject(name, ...aliases);
    return value === undefined ? undefined : new BodyFields(value, this.nameOf(name));
  }

  /** An array of objects as readers. */
  list(name: string, ...aliases: string[]): readonly BodyFields[] {
    return this.#readersOf(name, this.array(name, ...aliases));
  }

  optionalList(name: string, ...aliases: string[]): readonly BodyFields[] | undefined {
    const items = this.optionalArray(name, ...aliases);
    return items === undefined ? undefined : this.#readersOf(name, items);
  }

  /** Any JSON value, `null` included. */
  value(name: string, ...aliases: string[]): unknown {
    const value = this.#find(name, aliases);
    if (value === undefined) throw missingField(this.nameOf(name));
    return value;
  }

  /** Any JSON value; `null` is kept, only an absent field is `undefined`. */
  optionalValue(name: string, ...aliases: string[]): unknown {
    return this.#find(name, aliases);
  }

  /**
   * One of a closed set of strings.
   *
   * @throws {ServiceError} `VALIDATION_FAILED` for a string outside the set
   */
  oneOf<T extends string>(name: string, allowed: readonly T[], ...aliases: string[]): T {
    return this.#among(name, allowed, this.string(name, ...aliases));
  }

  /**
   * One of a closed set of strings, if it is present.
   *
   * @throws {ServiceError} `VALIDATION_FAILED` for a string outside the set
   */
  optionalOneOf<T extends string>(name: string, allowed: readonly T[], ...aliases: string[]): T | undefined {
    const value = this.optionalString(name, ...aliases);
    return value === undefined ? undefined : this.#among(name, allowed, value);
  }

  #among<T extends string>(name: string, allowed: readonly T[], value: string): T {
    const found = allowed.find((one) => one === value);
    if (found !== undefined) return found;
    const field = this.nameOf(name);
    throw invalid(`\`${field}\` must be one of ${allowed.join(', ')}.`, { field });
  }

  #eachOf<T>(kind: Kind<T>, name: string, items: readonly unknown[]): readonly T[] {
    return items.map((item, index) => {
      if (!kind.accepts(item)) throw wrongType(`${this.nameOf(name)}.${index}`, kind.name, item);
      requireShort(item, () => `${this.nameOf(name)}.${index}`);
      return item;
    });
  }

  #readersOf(name: string, items: readonly unknown[]): readonly BodyFields[] {
    const at = this.nameOf(name);
    return this.#eachOf(objectKind, name, items).map((item, index) => new BodyFields(item, `${at}.${index}`));
  }
}

/** @throws {ServiceError} `VALIDATION_FAILED` for a text that is too long */
function requireShort(value: unknown, nameOf: () => string): void {
  if (typeof value !== 'string' || value.length <= FIELD_TEXT_LENGTH_MAX) return;
  const field = nameOf();
  throw invalid(`\`${field}\` is longer than ${FIELD_TEXT_LENGTH_MAX} characters`, { field });
}

/**
 * The error for an absent required field.
 *
 * @param besides a further fault, which may be the reason
 * @returns `UNPROCESSABLE_BODY`
 */
export function missingField(field: string, besides?: string): ServiceError {
  const missing = `missing field \`${field}\``;
  const message = besides === undefined ? missing : `${missing}. ${besides}`;
  return new ServiceError('UNPROCESSABLE_BODY', message, { field });
}

function wrongType(field: string, expected: string, found: unknown): ServiceError {
  return new ServiceError(
    'UNPROCESSABLE_BODY',
    `invalid type for \`${field}\`: expected ${expected}, found ${typeName(found)}`,
    { field },
  );
}

/**
 * A reader for a JSON body.
 *
 * @param at dotted name of the object within the body; default the body itself
 * @throws {ServiceError} `UNPROCESSABLE_BODY` if it is not an object
 */
export function bodyFields(body: unknown, at = ''): BodyFields {
  if (isObject(body)) return new BodyFields(body, at);
  const found = body === undefined ? 'nothing' : typeName(body);
  const what = at === '' ? 'the body' : `\`${at}\``;
  throw new ServiceError('UNPROCESSABLE_BODY', `invalid type for ${what}: expected object, found ${found}`);
}
