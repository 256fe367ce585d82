import { isJsonArray, isJsonObject, type JsonValue, setKey } from '#runtime/content/values/json-value.ts';
import { invalid } from '#runtime/errors/service-error.ts';
import { asJsonb, asText, valueAt } from '../json/json-access.ts';
import { withoutNulls, withPath } from '../json/json-change.ts';
import { boundedJsonb, jsonWork } from '../json/json-limits.ts';
import { keysOf, keysWork } from '../json/key-path.ts';
import { parseJson, parseJsonWork } from '../json/parse-json.ts';
import type { SqlType } from '../sql-type.ts';
import { Jsonb, type SqlValue } from '../sql-value.ts';
import { toJson } from '../to-json.ts';
import { textWork, toText } from '../to-text.ts';
import { booleanType, jsonbType, textType } from '../types/basic-types.ts';
import { typeText } from '../types/type-names.ts';
import { type FunctionDefinition, overloaded, strict } from './overload.ts';

/** Functions that make, read and change JSON; those with a JSONPath are in `json-path-functions.ts`. */
export const jsonFunctions: readonly FunctionDefinition[] = [
  ...['TO_JSON', 'TO_JSONB'].map((name) => conversion(name)),
  ...['JSONB_BUILD_ARRAY', 'JSON_BUILD_ARRAY'].map((name) => construction(name, builtArray)),
  ...['JSONB_BUILD_OBJECT', 'JSON_BUILD_OBJECT'].map((name) => construction(name, builtObject)),
  ...['JSONB_TYPEOF', 'JSON_TYPEOF'].map((name) =>
    overloaded(
      name,
      strict(['jsonb'], 'text', ({ value }) => typeOf(value)),
    ),
  ),
  ...['JSONB_ARRAY_LENGTH', 'JSON_ARRAY_LENGTH'].map((name) =>
    overloaded(
      name,
      strict(['jsonb'], 'int', ({ value }) => arrayLength(value)),
    ),
  ),
  ...['JSONB_EXTRACT_PATH', 'JSON_EXTRACT_PATH'].map((name) => extraction(name, jsonbType, asJsonb)),
  ...['JSONB_EXTRACT_PATH_TEXT', 'JSON_EXTRACT_PATH_TEXT'].map((name) => extraction(name, textType, asText)),
  ...['JSONB_STRIP_NULLS', 'JSON_STRIP_NULLS'].map((name) =>
    overloaded(
      name,
      strict(['jsonb'], 'jsonb', ({ value }) => new Jsonb(withoutNulls(value)), jsonWork),
    ),
  ),
  setter(),
];

function typeOf(value: JsonValue): string {
  if (value === null) return 'null';
  if (isJsonArray(value)) return 'array';
  return typeof value === 'bigint' ? 'number' : typeof value;
}

function arrayLength(value: JsonValue): number {
  if (!isJsonArray(value))
    throw invalid(`Cannot get the array length of ${isJsonObject(value) ? 'an object' : 'a scalar'}`);
  return value.length;
}

/** The type that an argument of any type is taken as. */
function known(type: SqlType): SqlType {
  return type.name === 'unknown' ? textType : type;
}

function jsonOf(value: SqlValue, type: SqlType): JsonValue {
  return value === null ? null : toJson(value, type);
}

function conversionWork(args: readonly SqlValue[]): number {
  let work = 0;
  for (const value of args)
    if (value instanceof Jsonb) work += jsonWork(value);
    else if (value !== null) work += textWork(value);
  return work;
}

function conversion(name: string): FunctionDefinition {
  return {
    name,
    least: 1,
    most: 1,
    resolve: ([type]) => {
      const parameter = known(type!);
      return {
        name,
        parameters: [parameter],
        result: jsonbType,
        isStrict: true,
        work: conversionWork,
        evaluate: (value) =>
          value instanceof Jsonb ? value : boundedJsonb(toJson(value!, parameter), `${name} result`),
      };
    },
  };
}

function construction(
  name: string,
  build: (name: string, values: readonly SqlValue[], types: readonly SqlType[]) => JsonValue,
): FunctionDefinition {
  return {
    name,
    least: 0,
    most: Number.POSITIVE_INFINITY,
    resolve: (types) => {
      const parameters = types.map(known);
      return {
        name,
        parameters,
        result: jsonbType,
        isStrict: false,
        work: conversionWork,
        evaluate: (...values) => boundedJsonb(build(name, values, parameters), `${name} result`),
      };
    },
  };
}

function builtArray(_name: string, values: readonly SqlValue[], types: readonly SqlType[]): JsonValue {
  return values.map((value, index) => jsonOf(value, types[index]!));
}

function builtObject(name: string, values: readonly SqlValue[], types: readonly SqlType[]): JsonValue {
  if (values.length % 2 !== 0) throw invalid(`${name} expects an even number of arguments: keys and values`);
  const object: Record<string, JsonValue> = {};
  for (let index = 0; index < values.length; index += 2) {
    const key = values[index]!;
    if (key === null) throw invalid(`${name}: argument ${index + 1} is a key and must not be NULL`);
    setKey(object, toText(key, types[index]!), jsonOf(values[index + 1]!, types[index + 1]!));
  }
  return object;
}

/** `JSONB_EXTRACT_PATH(j, key, key, …)`. */
function extraction(
  name: string,
  result: SqlType,
  give: (value: JsonValue | undefined) => SqlValue,
): FunctionDefinition {
  return {
    name,
    least: 1,
    most: Number.POSITIVE_INFINITY,
    resolve: ([json, ...keys]) => {
      if (json === undefined || !isTyped(json, 'jsonb') || !keys.every((key) => isTyped(key, 'text')))
        return undefined;
      return {
        name,
        parameters: [jsonbType, ...keys.map(() => textType)],
        result,
        isStrict: true,
        work: ([value]) => (result === textType ? jsonWork(value as Jsonb) : 0),
        evaluate: (value, ...path) => give(valueAt((value as Jsonb).value, path as readonly string[])),
      };
    },
  };
}

function isTyped(type: SqlType, name: SqlType['name']): boolean {
  return type.name === name || type.name === 'unknown';
}

/** `JSONB_SET(target, path, value, create)`; a text is JSON text, other values become JSON. */
function setter(): FunctionDefinition {
  const name = 'JSONB_SET';
  return {
    name,
    least: 3,
    most: 4,
    resolve: ([target, path, value, create]) => {
      if (!isTyped(target!, 'jsonb') || !isKeyPath(path!)) return undefined;
      if (create !== undefined && !isTyped(create, 'boolean')) return undefined;
      const type = known(value!);
      return {
        name,
        parameters: [jsonbType, known(path!), type, ...(create === undefined ? [] : [booleanType])],
        result: jsonbType,
        isStrict: true,
        work: ([json, keys, replacement]) =>
          // It is copied and measured.
          2 * jsonWork(json as Jsonb) +
          keysWork(keys!) +
          (typeof replacement === 'string' ? parseJsonWork(replacement) : conversionWork([replacement!])),
        evaluate: (json, keys, replacement, creates = true) =>
          boundedJsonb(
            withPath(
              (json as Jsonb).value,
              keysOf(keys!),
              type.name === 'text' ? parseJson(replacement as string) : toJson(replacement!, type),
              creates as boolean,
            ),
            `${name} result`,
          ),
      };
    },
  };
}

/** Whether a path may be given in this type: as text, JSON, or an array of texts. */
function isKeyPath(type: SqlType): boolean {
  return ['unknown', 'text', 'jsonb', 'TEXT[]'].includes(type.name === 'array' ? typeText(type) : type.name);
}
