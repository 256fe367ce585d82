import { isJsonArray } from '#runtime/content/values/json-value.ts';
import { invalid } from '#runtime/errors/service-error.ts';
import { parseArrayText } from '../json/key-path.ts';
import { parseJsonWork } from '../json/parse-json.ts';
import { boundedJsonb } from '../json/json-limits.ts';
import type { ScalarFunction } from '../scalar-function.ts';
import type { SqlType, SqlTypeName } from '../sql-type.ts';
import { Jsonb, type SqlValue } from '../sql-value.ts';
import { dayOfTimestamp } from '../time/calendar.ts';
import { startOfDate } from '../time/time-arithmetic.ts';
import { requireTextLength } from '../text/text-limit.ts';
import { toJson } from '../to-json.ts';
import { textLength, textWork, toText } from '../to-text.ts';
import { textType } from '../types/basic-types.ts';
import { sameType } from '../types/common-type.ts';
import { typeText } from '../types/type-names.ts';
import { bigintOfDouble, intOfBigint, intOfDouble } from './number-casts.ts';
import { valueOfText } from './text-casts.ts';

/** Changes a value that is not NULL; an element of an array may become NULL. */
type Conversion = (value: SqlValue) => SqlValue;

/** Estimated nanoseconds for a character of a text that is read, and for an element of an array. */
const CHARACTER_WORK = 5;
const ELEMENT_WORK = 100;

const same: Conversion = (value) => value;
const asIs = new Set([
  'unknown>text',
  'path>text',
  'uuid>text',
  'timestamp>timestamptz',
  'timestamptz>timestamp',
]);

/** The other conversions that are not through texts. */
const conversions: ReadonlyMap<string, Conversion> = new Map<string, Conversion>([
  ['int>bigint', (value) => BigInt(value as number)],
  ['int>double', same],
  ['int>boolean', (value) => value !== 0],
  ['bigint>int', (value) => intOfBigint(value as bigint)],
  ['bigint>double', (value) => Number(value)],
  ['double>int', (value) => intOfDouble(value as number)],
  ['double>bigint', (value) => bigintOfDouble(value as number)],
  ['boolean>int', (value) => (value === true ? 1 : 0)],
  ['date>timestamptz', (value) => startOfDate(value as number)],
  ['date>timestamp', (value) => startOfDate(value as number)],
  ['timestamptz>date', (value) => dayOfTimestamp(value as bigint)],
  ['timestamp>date', (value) => dayOfTimestamp(value as bigint)],
]);

/** Casts that are made without being written. */
const implicit = new Set([
  'int>bigint',
  'int>double',
  'bigint>double',
  'text>path',
  'path>text',
  'uuid>text',
  'date>timestamp',
  'date>timestamptz',
  'timestamp>timestamptz',
]);

/** Types whose values become JSON. */
const jsonSources: ReadonlySet<SqlTypeName> = new Set(['int', 'bigint', 'double', 'boolean']);

/**
 * The cast of one type to another that `x::type` means. It is strict.
 *
 * @returns undefined: there is none
 */
export function resolveCast(from: SqlType, to: SqlType): ScalarFunction | undefined {
  const evaluate = conversionOf(from, to);
  if (evaluate === undefined) return undefined;
  const work = workOf(from, to);
  return {
    name: 'CAST',
    parameters: [from],
    result: to,
    isStrict: true,
    ...(work === undefined ? {} : { work: ([value]) => (value === null ? 0 : work(value!)) }),
    evaluate: evaluate as ScalarFunction['evaluate'],
  };
}

/**
 * The cast of one type to another that is made by itself, where the other type is needed.
 *
 * @returns undefined: there is none
 */
export function implicitCast(from: SqlType, to: SqlType): ScalarFunction | undefined {
  return isImplicit(from, to) ? resolveCast(from, to) : undefined;
}

function isImplicit(from: SqlType, to: SqlType): boolean {
  if (from.name === 'unknown' || sameType(from, to)) return true;
  if (from.element !== undefined && to.element !== undefined) return isImplicit(from.element, to.element);
  return implicit.has(`${from.name}>${to.name}`);
}

function conversionOf(from: SqlType, to: SqlType): Conversion | undefined {
  if (sameType(from, to)) return same;
  const key = `${from.name}>${to.name}`;
  if (asIs.has(key)) return same;
  const direct = conversions.get(key);
  if (direct !== undefined) return direct;
  if (to.name === 'unknown') return undefined;
  if (to.name === 'text') return (value) => boundedText(value, from);
  if (from.name === 'jsonb') return ofJson(to);
  if (from.name === 'array') return ofArray(from, to);
  if (from.name === 'text' || from.name === 'unknown') return ofText(to);
  if (to.name === 'jsonb' && jsonSources.has(from.name)) return (value) => new Jsonb(toJson(value, from));
  return undefined;
}

function boundedText(value: SqlValue, type: SqlType): string {
  const text = toText(value, type);
  requireTextLength(text.length, 'CAST result');
  return text;
}

function ofText(to: SqlType): Conversion | undefined {
  if (to.name !== 'array') return (value) => valueOfText(value as string, to);
  const element = to.element === undefined ? undefined : conversionOf(textType, to.element);
  return element && ((value) => mapped(parseArrayText(value as string), element));
}

function ofArray(from: SqlType, to: SqlType): Conversion | undefined {
  if (to.name === 'jsonb') return (value) => boundedJsonb(toJson(value, from), 'CAST result');
  if (from.element === undefined || to.element === undefined) return undefined;
  const element = conversionOf(from.element, to.element);
  return element && ((value) => mapped(value as readonly SqlValue[], element));
}

function mapped(items: readonly SqlValue[], conversion: Conversion): SqlValue {
  return items.map((item) => (item === null ? null : conversion(item)));
}

/** Through the text of the value: that of a JSON text is its content, and JSON's null becomes NULL. */
function ofJson(to: SqlType): Conversion | undefined {
  const { element } = to;
  if (element !== undefined) {
    const conversion = element.name === 'jsonb' ? undefined : ofJsonElement(element);
    return (value) => {
      const items = (value as Jsonb).value;
      if (!isJsonArray(items)) throw invalid(`Cannot cast JSONB to ${typeText(to)}: it is not an array`);
      return items.map((item) => (conversion === undefined ? new Jsonb(item) : conversion(new Jsonb(item))));
    };
  }
  return to.name === 'array' ? undefined : ofJsonScalar(to);
}

function ofJsonElement(element: SqlType): Conversion | undefined {
  return element.name === 'text' ? contentOf : ofJson(element);
}

function ofJsonScalar(to: SqlType): Conversion {
  return (value) => {
    const text = contentOf(value);
    return text === null ? null : valueOfText(text, to);
  };
}

/** The text of a JSON value without quotes; of JSON's null: none. */
function contentOf(value: SqlValue): string | null {
  const json = (value as Jsonb).value;
  if (json === null) return null;
  return typeof json === 'string' ? json : JSON.stringify(json);
}

function workOf(from: SqlType, to: SqlType): ((value: SqlValue) => number) | undefined {
  if (sameType(from, to)) return undefined;
  if (from.name === 'jsonb') return textWork;
  if (from.name === 'array')
    return (value) =>
      (value as readonly SqlValue[]).length * ELEMENT_WORK + textLength(value) * CHARACTER_WORK;
  const isText = from.name === 'text' || from.name === 'unknown';
  if (!isText || to.name === 'text') return undefined;
  if (to.name === 'jsonb') return (value) => parseJsonWork(value as string);
  if (to.name === 'path') return undefined;
  return (value) => (value as string).length * (to.name === 'array' ? ELEMENT_WORK : CHARACTER_WORK);
}
