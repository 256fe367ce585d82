import { decidingTypes } from '#runtime/content/built-in/deciding-nodes.ts';
import { type JsonObject, type JsonValue, jsonEquals, ownValue } from '#runtime/content/values/json-value.ts';
import { invalid } from '#runtime/errors/service-error.ts';
import { compileRule } from './compile-rule.ts';
import { type Permission, parsePermissions } from './permission.ts';

/**
 * Most work of a role for one node, in units of `DecisionWork`, if its permissions are compared with a node of an ordinary
 * path and none of them holds. It is a quarter of what a decision may take, because a caller has several roles.
 */
export const ROLE_WORK_MAX = 200_000;

/** Length of an ordinary path, in characters. */
const PATH_LENGTH = 64;

/** Estimated work of a question for relations, in units. */
const RELATES_WORK = 2_000;

const ROLE = 'svc:Role';

/** The state of a node that is replaced. */
interface ReplacedNode {
  property(name: string): JsonValue | undefined;
}

/**
 * Refuses a role whose permissions take too much work for each node that somebody with the role looks at. A role from before
 * this bound keeps its permissions.
 *
 * @param before the state that is replaced; absent: the node is new
 * @throws {ServiceError} `VALIDATION_FAILED`, with the first permission that is too much. Yields where the work may pause
 * @see docs/interface/permissions.md#limits
 */
export function* requireLightRole(
  workspace: string,
  nodeType: string,
  properties: JsonObject,
  before?: ReplacedNode,
): Generator<undefined, void> {
  if (nodeType !== ROLE || !decidingTypes(workspace).has(nodeType)) return;
  const permissions = ownValue(properties, 'permissions');
  const stored = before?.property('permissions');
  if (permissions !== undefined && stored !== undefined && jsonEquals(permissions, stored)) return;
  let work = 0;
  yield* parsePermissions(permissions, compileRule, (permission, index) => {
    work += workOf(permission);
    if (work > ROLE_WORK_MAX) throw tooHeavy(permission, index);
  });
}

/** Estimated work of a permission for a node, in units. */
function workOf({ condition, path }: Permission): number {
  const conditionWork = condition === undefined ? 0 : condition.text.length;
  return path.wordsOfWildcards * PATH_LENGTH + conditionWork + (condition?.readsRelations ? RELATES_WORK : 0);
}

function tooHeavy({ condition, path }: Permission, index: number): Error {
  const length = condition?.text.length ?? 0;
  return invalid(
    `The permissions up to permissions[${index}] take too much work for one node; that one has ${path.text.length} characters of path and ${length} of condition. Write fewer permissions, or shorter conditions and patterns.`,
    { field: 'properties.permissions' },
  );
}
