import { ServiceError } from '#runtime/errors/service-error.ts';
import type { ScalarFunction } from '../scalar-function.ts';
import type { SqlType } from '../sql-type.ts';
import type { Jsonb, SqlValue } from '../sql-value.ts';
import { bigintType, booleanType, intType, jsonbType, textType } from '../types/basic-types.ts';
import { asJsonb, asText, itemOf, memberOf, valueAt } from './json-access.ts';
import { merged, withoutItem, withoutKeys, withoutPath } from './json-change.ts';
import { containsWork, hasKey, jsonContains } from './json-contains.ts';
import { boundedJsonb, jsonWork } from './json-limits.ts';
import { keysOf, keysWork } from './key-path.ts';
import { matchesPath } from './path/evaluate-json-path.ts';
import { jsonPathWork, PathMemo } from './path/path-memo.ts';

/** Estimated nanoseconds per item of an array that is searched. */
const ITEM_WORK = 10;

/** Gives the function of an operator for its operands. @returns undefined: not for these types */
type Resolve = (types: readonly SqlType[]) => ScalarFunction | undefined;

/**
 * The operators on JSON. An operand of type `unknown` is taken as what the operator needs: JSON on the side of the JSON, else a
 * key or a path. `||` and `-` are for others too, so they are asked only when the left operand (of `||`: one) is JSON.
 */
export const jsonOperators: ReadonlyMap<string, Resolve> = new Map<string, Resolve>([
  ['->', member('->', jsonbType, asJsonb)],
  ['->>', member('->>', textType, asText)],
  ['#>', atPath('#>', jsonbType, asJsonb)],
  ['#>>', atPath('#>>', textType, asText)],
  ['@>', containment('@>', (left, right) => [left, right])],
  ['<@', containment('<@', (left, right) => [right, left])],
  ['?', resolveKey],
  ['?|', keys('?|', (json, wanted) => wanted.some((key) => hasKey(json.value, key)))],
  ['?&', keys('?&', (json, wanted) => wanted.every((key) => hasKey(json.value, key)))],
  ['#-', resolveRemovePath],
  ['@?', matching('@?')],
  ['@@', matching('@@')],
  ['||', resolveMerge],
  ['-', resolveRemove],
]);

function isJson(type: SqlType | undefined): boolean {
  return type?.name === 'jsonb' || type?.name === 'unknown';
}

function isText(type: SqlType | undefined): boolean {
  return type?.name === 'text' || type?.name === 'path' || type?.name === 'uuid' || type?.name === 'unknown';
}

/** The type in which keys are taken: array text, JSON, or an array of texts. @returns undefined: not such a type */
function keysType(type: SqlType | undefined): SqlType | undefined {
  if (type?.name === 'unknown' || type?.name === 'text') return textType;
  if (type?.name === 'jsonb') return type;
  return type?.name === 'array' && isText(type.element) ? type : undefined;
}

/** Writing a text costs what the part that is taken out has; that of the whole is an upper bound. */
function takeWork(result: SqlType): ((args: readonly SqlValue[]) => number) | undefined {
  return result === textType ? ([json]) => jsonWork(json as Jsonb) : undefined;
}

/** `->` and `->>`: of an object by a key, of an array by an index. */
function member(
  name: string,
  result: SqlType,
  give: (value: ReturnType<typeof memberOf>) => SqlValue,
): Resolve {
  return ([left, right]) => {
    if (!isJson(left)) return undefined;
    if (isText(right)) {
      return {
        name,
        parameters: [jsonbType, textType],
        result,
        isStrict: true,
        work: memberWork(result),
        evaluate: (json, key) => give(memberOf((json as Jsonb).value, key as string)),
      };
    }
    if (right?.name !== 'int' && right?.name !== 'bigint') return undefined;
    return {
      name,
      parameters: [jsonbType, right.name === 'int' ? intType : bigintType],
      result,
      isStrict: true,
      work: memberWork(result),
      evaluate: (json, index) => give(itemOf((json as Jsonb).value, Number(index))),
    };
  };
}

/** What is written is looked at first, because most members are scalars. */
function memberWork(result: SqlType): (args: readonly SqlValue[]) => number {
  if (result !== textType) return () => 0;
  return ([json, key]) => {
    const { value } = json as Jsonb;
    const found = typeof key === 'string' ? memberOf(value, key) : itemOf(value, Number(key));
    return typeof found === 'object' && found !== null ? jsonWork(json as Jsonb) : 0;
  };
}

/** `#>` and `#>>`. */
function atPath(
  name: string,
  result: SqlType,
  give: (value: ReturnType<typeof valueAt>) => SqlValue,
): Resolve {
  const written = takeWork(result);
  return ([left, right]) => {
    const path = keysType(right);
    if (!isJson(left) || path === undefined) return undefined;
    return {
      name,
      parameters: [jsonbType, path],
      result,
      isStrict: true,
      work: (args) => keysWork(args[1]!) + (written?.(args) ?? 0),
      evaluate: (json, keysOfPath) => give(valueAt((json as Jsonb).value, keysOf(keysOfPath!))),
    };
  };
}

function containment(
  name: string,
  inOrder: (left: Jsonb, right: Jsonb) => readonly [container: Jsonb, contained: Jsonb],
): Resolve {
  return ([left, right]) => {
    if (!isJson(left) || !isJson(right)) return undefined;
    return {
      name,
      parameters: [jsonbType, jsonbType],
      result: booleanType,
      isStrict: true,
      work: ([a, b]) => containsWork(...inOrder(a as Jsonb, b as Jsonb)),
      evaluate: (a, b) => {
        const [container, contained] = inOrder(a as Jsonb, b as Jsonb);
        return jsonContains(container.value, contained.value);
      },
    };
  };
}

/** An array is searched from its beginning. */
function searchWork(json: Jsonb, count: number): number {
  return Array.isArray(json.value) ? json.value.length * count * ITEM_WORK : 0;
}

function resolveKey([left, right]: readonly SqlType[]): ScalarFunction | undefined {
  if (!isJson(left) || !isText(right)) return undefined;
  return {
    name: '?',
    parameters: [jsonbType, textType],
    result: booleanType,
    isStrict: true,
    work: ([json]) => searchWork(json as Jsonb, 1),
    evaluate: (json, key) => hasKey((json as Jsonb).value, key as string),
  };
}

/** `?|` and `?&`. */
function keys(name: string, test: (json: Jsonb, wanted: readonly string[]) => boolean): Resolve {
  return ([left, right]) => {
    const type = keysType(right);
    if (!isJson(left) || type === undefined) return undefined;
    return {
      name,
      parameters: [jsonbType, type],
      result: booleanType,
      isStrict: true,
      work: ([json, wanted]) => keysWork(wanted!) + searchWork(json as Jsonb, keysOf(wanted!).length),
      evaluate: (json, wanted) => test(json as Jsonb, keysOf(wanted!)),
    };
  };
}

function resolveRemovePath([left, right]: readonly SqlType[]): ScalarFunction | undefined {
  const path = keysType(right);
  if (!isJson(left) || path === undefined) return undefined;
  return {
    name: '#-',
    parameters: [jsonbType, path],
    result: jsonbType,
    isStrict: true,
    work: ([json, keysOfPath]) => jsonWork(json as Jsonb) + keysWork(keysOfPath!),
    evaluate: (json, keysOfPath) => asJsonb(withoutPath((json as Jsonb).value, keysOf(keysOfPath!))),
  };
}

/** `@?` and `@@`: whether the path finds something, or is a condition that is true. No path at all is FALSE. */
function matching(name: string): Resolve {
  const paths = new PathMemo();
  return ([left, right]) => {
    if (!isJson(left) || !isText(right)) return undefined;
    return {
      name,
      parameters: [jsonbType, textType],
      result: booleanType,
      isStrict: true,
      work: ([json, path]) => jsonPathWork(json as Jsonb, path as string),
      evaluate: (json, path) => {
        try {
          return matchesPath((json as Jsonb).value, paths.parsed(path as string));
        } catch (error) {
          if (error instanceof ServiceError && error.code === 'VALIDATION_FAILED') return false;
          throw error;
        }
      },
    };
  };
}

/** NULL beside JSON is as nothing, because a missing property must not remove the others. */
function resolveMerge([left, right]: readonly SqlType[]): ScalarFunction | undefined {
  if (!isJson(left) || !isJson(right)) return undefined;
  return {
    name: '||',
    parameters: [jsonbType, jsonbType],
    result: jsonbType,
    isStrict: false,
    work: (args) =>
      args.reduce((sum: number, json) => sum + (json === null ? 0 : 2 * jsonWork(json as Jsonb)), 0),
    evaluate: (a, b) => {
      if (a === null || b === null) return (a ?? b) as SqlValue;
      return boundedJsonb(merged((a as Jsonb).value, (b as Jsonb).value), '|| result');
    },
  };
}

/** `- 'key'`, `- index`, `- ARRAY['key', …]`. */
function resolveRemove([left, right]: readonly SqlType[]): ScalarFunction | undefined {
  if (left?.name !== 'jsonb' || right === undefined) return undefined;
  const found = removal(right);
  return (
    found && {
      name: '-',
      parameters: [jsonbType, found.type],
      result: jsonbType,
      isStrict: true,
      work: ([json]) => jsonWork(json as Jsonb),
      evaluate: (json, removed) => asJsonb(found.remove((json as Jsonb).value, removed!)),
    }
  );
}

type Removal = {
  readonly type: SqlType;
  readonly remove: (json: Jsonb['value'], removed: SqlValue) => Jsonb['value'];
};

function removal(right: SqlType): Removal | undefined {
  if (isText(right)) return { type: textType, remove: (json, key) => withoutKeys(json, [key as string]) };
  if (right.name === 'int' || right.name === 'bigint')
    return { type: right, remove: (json, index) => withoutItem(json, Number(index)) };
  const type = keysType(right);
  return type && { type, remove: (json, removed) => withoutKeys(json, keysOf(removed)) };
}
