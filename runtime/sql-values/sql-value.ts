import { parseExactJson } from '#runtime/base/text/exact-json.ts';
import type { JsonValue } from '#runtime/content/values/json-value.ts';

/** A JSON value as the text that is stored of it, which is the one that `JSON.stringify` makes of the value. */
export class StoredJson {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/**
 * A JSON value as a value of SQL. It is wrapped, because JSON's null is a value and SQL's NULL is none.
 * Instances are immutable and may be shared.
 */
export class Jsonb {
  /** What is stored stays a text until the value is read: most values are only answered. */
  private held: JsonValue | StoredJson;

  constructor(value: JsonValue | StoredJson) {
    this.held = value;
  }

  get value(): JsonValue {
    if (this.held instanceof StoredJson) this.held = parseExactJson(this.held.text) as JsonValue;
    return this.held;
  }

  /** The JSON of the value, where that costs nothing: it is stored, and nobody has read the value. */
  get storedText(): string | undefined {
    return this.held instanceof StoredJson ? this.held.text : undefined;
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
