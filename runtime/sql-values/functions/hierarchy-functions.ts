import { isDescendantPath, parentPath, pathDepth } from '#runtime/content/path.ts';
import { invalid } from '#runtime/errors/service-error.ts';
import type { ScalarFunction } from '../scalar-function.ts';
import { booleanType, intType, jsonbType, pathType, textType } from '../types/basic-types.ts';
import { type FunctionDefinition, overloaded, strict } from './overload.ts';
import { ownText } from '../text/own-text.ts';

/** Estimated nanoseconds per UTF-16 unit of a path, where each second one is a slash. */
const UNIT_WORK = 20;

/** `CHILD_OF(path, parent)`: whether a path is directly below another one. The binder adds the column `path`. */
export const childOf: ScalarFunction = {
  name: 'CHILD_OF',
  parameters: [pathType, pathType],
  result: booleanType,
  isStrict: true,
  evaluate: (path, parent) => path !== '/' && parentPath(path as string) === parent,
};

/**
 * `DESCENDANT_OF(path, ancestor, levels)`: whether a path is below another one, at most so many levels; NULL levels: at any.
 * The binder adds the column `path`.
 */
export const descendantOf: ScalarFunction = {
  name: 'DESCENDANT_OF',
  parameters: [pathType, pathType, intType],
  result: booleanType,
  isStrict: false,
  work: ([path, ancestor]) => (lengthOf(path) + lengthOf(ancestor)) * UNIT_WORK,
  evaluate: (path, ancestor, levels) => {
    if (path === null || ancestor === null) return null;
    const [lower, upper] = [path as string, ancestor as string];
    if (!isDescendantPath(lower, upper)) return false;
    return (
      levels === null || levels === undefined || pathDepth(lower) - pathDepth(upper) <= (levels as number)
    );
  },
};

function lengthOf(value: unknown): number {
  return typeof value === 'string' ? value.length : 0;
}

/**
 * `REFERENCES(properties, 'workspace:/path')`: whether a property refers to a node. The binder adds the column
 * `properties`; the table finds the nodes by its index, so this is never evaluated.
 */
export const references: ScalarFunction = {
  name: 'REFERENCES',
  parameters: [jsonbType, textType],
  result: booleanType,
  isStrict: true,
  evaluate: () => {
    throw invalid('REFERENCES is allowed only in the WHERE or ON clause of a workspace');
  },
};

/** Functions on paths of nodes. */
export const hierarchyFunctions: readonly FunctionDefinition[] = [
  overloaded(
    'DEPTH',
    strict(['path'], 'int', pathDepth, (path) => path.length * UNIT_WORK),
  ),
  overloaded(
    'PARENT',
    strict(['path', 'int?'], 'path', ancestorAbove, (path) => path.length * UNIT_WORK),
  ),
  overloaded(
    'ANCESTOR',
    strict(['path', 'int'], 'path', ancestorAt, (path) => path.length * UNIT_WORK),
  ),
  overloaded('PATH_STARTS_WITH', strict(['path', 'text'], 'boolean', startsWith)),
  fixed(childOf, 2),
  fixed(descendantOf, 2),
  fixed(references, 2),
];

/** A function with one list of parameters, of which the last may be left out. */
function fixed(defined: ScalarFunction, least: number): FunctionDefinition {
  return overloaded(defined.name, { ...defined, least });
}

/** The path so many levels up; NULL above the root. */
function ancestorAbove(path: string, levels: number = 1): string | null {
  if (levels < 0) throw invalid('PARENT: the number of levels is negative');
  return levels === 0 ? path : ancestorAt(path, pathDepth(path) - levels);
}

/** The beginning of a path that has so many segments; NULL when it has fewer. */
function ancestorAt(path: string, depth: number): string | null {
  const own = pathDepth(path);
  if (depth < 0 || depth > own) return null;
  if (depth === 0) return '/';
  let end = 0;
  for (let left = depth; left > 0 && end >= 0; left -= 1) end = path.indexOf('/', end + 1);
  return end < 0 ? path : ownText(path.slice(0, end), path);
}

/** By whole segments: `/a` is no beginning of `/ab`. */
function startsWith(path: string, prefix: string): boolean {
  if (!path.startsWith(prefix)) return false;
  return (
    path.length === prefix.length || prefix === '' || prefix.endsWith('/') || path[prefix.length] === '/'
  );
}
