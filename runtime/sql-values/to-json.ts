import { exactNumber } from '#runtime/base/text/exact-number.ts';
import type { JsonValue } from '#runtime/content/values/json-value.ts';
import type { SqlType } from './sql-type.ts';
import type { Jsonb, SqlValue } from './sql-value.ts';
import { elementOf } from './types/basic-types.ts';
import { toText } from './to-text.ts';

/**
 * The value as JSON, for answers: numbers as numbers, JSON as it is, arrays as arrays; timestamps, dates and intervals as
 * their text. A double that is no number, which JSON cannot write, is its text.
 */
export function toJson(value: SqlValue, type: SqlType): JsonValue {
  if (value === null) return null;
  switch (type.name) {
    case 'jsonb':
      return (value as Jsonb).value;
    case 'bigint':
      // A number has one representation in JSON values: a bigint only where no double has this text.
      return exactNumber(String(value)) as JsonValue;
    case 'array': {
      const element = elementOf(type);
      return (value as readonly SqlValue[]).map((item) => toJson(item, element));
    }
    case 'int':
    case 'boolean':
      return value as number | boolean;
    case 'double':
      return Number.isFinite(value) ? (value as number) : toText(value, type);
    default:
      return toText(value, type);
  }
}
