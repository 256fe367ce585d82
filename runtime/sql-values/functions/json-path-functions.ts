import { isNumber } from '#runtime/base/text/exact-number.ts';
import { isJsonObject, type JsonValue } from '#runtime/content/values/json-value.ts';
import { invalid } from '#runtime/errors/service-error.ts';
import { asJsonb, asText, memberOf, valueAt } from '../json/json-access.ts';
import { boundedJsonb } from '../json/json-limits.ts';
import { matchesPath, valuesAtPath } from '../json/path/evaluate-json-path.ts';
import { jsonPathWork, PathMemo } from '../json/path/path-memo.ts';
import { Jsonb, type SqlValue } from '../sql-value.ts';
import { isInt } from '../types/number-ranges.ts';
import { type FunctionDefinition, type Overload, nullable, overloaded, strict } from './overload.ts';

/** Functions that look into JSON by a JSONPath, a key or dotted keys. */
export const jsonPathFunctions: readonly FunctionDefinition[] = [
  overloaded('JSON_VALUE', strict(['jsonb', 'text'], 'text', jsonValue, jsonPathWork)),
  overloaded('JSON_EXISTS', existence()),
  overloaded(
    'JSON_QUERY',
    strict(['jsonb', 'text', 'text?', 'text?', 'text?'], 'jsonb', jsonQuery, (json, path) =>
      jsonPathWork(json, path),
    ),
  ),
  overloaded(
    'JSON_GET',
    strict(['jsonb', 'text'], 'jsonb', (json, path) => asJsonb(dotted(json, path)), jsonPathWork),
  ),
  getter('JSON_GET_TEXT', 'text', (value) => (typeof value === 'string' ? value : null)),
  getter('JSON_GET_INT', 'int', (value) => {
    const whole = isNumber(value) ? Math.trunc(Number(value)) + 0 : Number.NaN;
    return isInt(whole) ? whole : null;
  }),
  getter('JSON_GET_DOUBLE', 'double', (value) => (isNumber(value) ? Number(value) : null)),
  getter('JSON_GET_BOOL', 'boolean', (value) => (typeof value === 'boolean' ? value : null)),
];

const paths = new PathMemo();

function isContainer(value: JsonValue): boolean {
  return typeof value === 'object' && value !== null;
}

/** The one value at a path as text. A container, or none, is NULL. */
function jsonValue(json: Jsonb, path: string): SqlValue {
  const values = valuesAtPath(json.value, paths.parsed(path));
  if (values.length > 1) throw invalid(`JSON_VALUE: the path finds ${values.length} values, expected one`);
  const [value] = values;
  return value === undefined || isContainer(value) ? null : asText(value);
}

function existence(): Overload {
  return nullable(
    ['jsonb', 'text'],
    'boolean',
    (json, path) => json !== null && path !== null && matchesPath(json.value, paths.parsed(path)),
    (json, path) => (json === null || path === null ? 0 : jsonPathWork(json, path)),
  );
}

type Wrapper = 'without' | 'with' | 'conditional';

const wrappers: ReadonlyMap<string, Wrapper> = new Map([
  ['WITHOUT WRAPPER', 'without'],
  ['WITHOUT ARRAY WRAPPER', 'without'],
  ['WITH WRAPPER', 'with'],
  ['WITH ARRAY WRAPPER', 'with'],
  ['WITH UNCONDITIONAL WRAPPER', 'with'],
  ['CONDITIONAL WRAPPER', 'conditional'],
  ['WITH CONDITIONAL WRAPPER', 'conditional'],
]);

const substitutes: ReadonlyMap<string, JsonValue | undefined> = new Map<string, JsonValue | undefined>([
  ['NULL', undefined],
  ['EMPTY ARRAY', []],
  ['EMPTY OBJECT', {}],
]);

/** The values at a path as JSON; without a wrapper only a single container. */
function jsonQuery(
  json: Jsonb,
  path: string,
  wrapper: string = 'WITHOUT WRAPPER',
  onEmpty: string = 'NULL',
  onError: string = 'NULL',
): SqlValue {
  const wraps = wrappers.get(wrapper.toUpperCase());
  if (wraps === undefined)
    throw invalid(
      `JSON_QUERY: unsupported wrapper '${wrapper}'. Supported: WITHOUT WRAPPER, WITH WRAPPER, CONDITIONAL WRAPPER`,
    );
  for (const behavior of [onEmpty, onError]) requireBehavior(behavior);
  const values = valuesAtPath(json.value, paths.parsed(path));
  if (values.length === 0) return substitute(onEmpty, 'the path finds no value');
  const [first] = values;
  const isSingleContainer = values.length === 1 && isContainer(first!);
  if (wraps === 'with' || (wraps === 'conditional' && !isSingleContainer))
    return boundedJsonb(values, 'JSON_QUERY result');
  return isSingleContainer
    ? new Jsonb(first!)
    : substitute(onError, 'the path finds no single array or object');
}

function requireBehavior(behavior: string): void {
  const name = behavior.toUpperCase();
  if (name !== 'ERROR' && !substitutes.has(name))
    throw invalid(
      `JSON_QUERY: unsupported behavior '${behavior}'. Supported: NULL, ERROR, EMPTY ARRAY, EMPTY OBJECT`,
    );
}

function substitute(behavior: string, reason: string): SqlValue {
  if (behavior.toUpperCase() === 'ERROR') throw invalid(`JSON_QUERY: ${reason}`);
  return asJsonb(substitutes.get(behavior.toUpperCase()));
}

/** `JSON_GET_…(json, key)`: the value of a key, or at a path that begins with `$`; NULL for one of another type. */
function getter(
  name: string,
  result: 'text' | 'int' | 'double' | 'boolean',
  give: (value: JsonValue) => SqlValue,
): FunctionDefinition {
  return overloaded(
    name,
    strict(
      ['jsonb', 'text'],
      result,
      (json, key) => {
        const value =
          key.startsWith('$') && !hasMember(json.value, key) ? single(json, key) : memberOf(json.value, key);
        return value === undefined ? null : give(value);
      },
      (json, key) => (key.startsWith('$') ? jsonPathWork(json, key) : 0),
    ),
  );
}

function hasMember(value: JsonValue, key: string): boolean {
  return isJsonObject(value) && Object.hasOwn(value, key);
}

/** The value at a path; undefined unless there is exactly one. */
function single(json: Jsonb, path: string): JsonValue | undefined {
  const values = valuesAtPath(json.value, paths.parsed(path));
  return values.length === 1 ? values[0] : undefined;
}

/** The value at keys joined with points, or at a path that begins with `$`. */
function dotted(json: Jsonb, path: string): JsonValue | undefined {
  return path.startsWith('$') ? single(json, path) : valueAt(json.value, path.split('.'));
}
