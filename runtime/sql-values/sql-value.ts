import { parseExactJson } from '#runtime/base/text/exact-json.ts';
import type { JsonValue } from '#runtime/content/values/json-value.ts';
import { memoryOfText } from './json/json-memory.ts';

/** Estimated nanoseconds to parse a character of a stored text. */
const PARSED_CHARACTER_WORK = 10;

/** Counts work, as a budget does. */
interface WorkCounter {
  spend(nanoseconds: number): void;
}

/** A JSON value as the text that is stored of it, which is the one that `JSON.stringify` makes of the value. */
export class StoredJson {
  readonly text: string;
  readonly #budget: WorkCounter;

  /** @param budget of the request that has found it: counts the work when the text is parsed */
  constructor(text: string, budget: WorkCounter) {
    this.text = text;
    this.#budget = budget;
  }

  /** @throws {ServiceError} `REQUEST_TOO_EXPENSIVE` */
  parse(): JsonValue {
    this.#budget.spend(this.text.length * PARSED_CHARACTER_WORK);
    return parseExactJson(this.text) as JsonValue;
  }
}

/**
 * A JSON value as a value of SQL. It is wrapped, because JSON's null is a value and SQL's NULL is none.
 * Instances are immutable and may be shared.
 */
export class Jsonb {
  /** What is stored stays a text until the value is read: most values are only answered. */
  private held: JsonValue | StoredJson;
  /** Bytes, once they were estimated of the text; 0: they were not. */
  #memory = 0;

  constructor(value: JsonValue | StoredJson) {
    this.held = value;
  }

  /** @throws {ServiceError} `REQUEST_TOO_EXPENSIVE` where a stored text has to be parsed */
  get value(): JsonValue {
    if (this.held instanceof StoredJson) this.held = this.held.parse();
    return this.held;
  }

  /** The JSON of the value, where that costs nothing: it is stored, and nobody has read the value. */
  get storedText(): string | undefined {
    return this.held instanceof StoredJson ? this.held.text : undefined;
  }

  /**
   * Estimated bytes of the value as it is once it has been read. What was estimated of the text stays the same when the value is
   * read. Undefined: it was read before, or is not stored.
   */
  get storedMemory(): number | undefined {
    if (this.#memory === 0 && this.held instanceof StoredJson) this.#memory = memoryOfText(this.held.text);
    return this.#memory === 0 ? undefined : this.#memory;
  }
}

/**
 * A value of SQL, by its type:
 *
 * | Type | Value |
 * |---|---|
 * | any | `null` for NULL |
 * | `int`, `double` | number |
 * | `bigint` | bigint |
 * | `boolean` | boolean |
 * | `text`, `uuid`, `path`, `unknown` | string |
 * | `timestamptz`, `timestamp` | bigint: microseconds since 1970-01-01 00:00 UTC |
 * | `date` | number: days since 1970-01-01 |
 * | `interval` | bigint: microseconds; a month has 30 days, a year 365.25 |
 * | `jsonb` | {@link Jsonb} |
 * | `array` | array of values |
 */
export type SqlValue = null | number | bigint | boolean | string | Jsonb | readonly SqlValue[];
