import type { JsonValue } from '#runtime/content/values/json-value.ts';

/**
 * A JSON value as a value of SQL. It is wrapped, because JSON's null is a value and SQL's NULL is none.
 * Instances are immutable and may be shared.
 */
export class Jsonb {
  readonly value: JsonValue;

  constructor(value: JsonValue) {
    this.value = value;
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
