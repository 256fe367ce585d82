import {
  isJsonArray,
  type JsonObject,
  type JsonValue,
  ownValue,
} from '#runtime/content/values/json-value.ts';
import { NameGlob } from './name-glob.ts';
import { NAMES_MAX, type ParsedPermissions, parsePermissions, PATTERN_LENGTH_MAX } from './permission.ts';
import type { CompileCondition } from './rule-condition.ts';

/** Below it users keep what is theirs. Roles, groups and settings there have no effect. */
const USERS = '/users/';

/** A node of the workspace `svc:access_control`. */
export interface AccessNode {
  readonly id: string;
  readonly path: string;
  readonly properties: JsonObject;
}

/** A role. @see docs/interface/permissions.md#roles */
export interface Role extends ParsedPermissions {
  readonly id: string;
  /** Ids of the roles whose permissions it has as well. */
  readonly inherits: readonly string[];
}

/** A group of users. */
export interface Group {
  readonly id: string;
  /** Ids of the roles that its members have. */
  readonly roles: readonly string[];
}

/** A user of the repository. */
export interface User {
  readonly id: string;
  readonly path: string;
  readonly email: string | null;
  /** Whether the user has any permission at all. */
  readonly isActive: boolean;
  readonly groups: readonly string[];
  readonly roles: readonly string[];
}

/** Settings of the workspaces that a pattern matches. @see docs/interface/permissions.md#settings-of-workspaces */
export interface SecurityConfig {
  readonly path: string;
  readonly workspace: NameGlob;
  /** Length of the pattern without `*`: of several that are not names, the longest decides. */
  readonly literalLength: number;
  /** Whether every user may read. */
  readonly readByDefault: boolean;
  /** Whether anonymous callers have the role. */
  readonly isAnonymousEnabled: boolean;
  readonly anonymousRole: string | null;
  /** Values of single interfaces, which replace {@link isAnonymousEnabled}. */
  readonly interfaces: ReadonlyMap<string, boolean>;
}

/**
 * Reads a node of type `svc:Role`.
 *
 * @param compile compiles conditions
 * @returns undefined when it is no role that could be named. Yields as {@link parsePermissions}
 */
export function* roleOf(
  { path, properties }: AccessNode,
  compile: CompileCondition,
): Generator<undefined, Role | undefined> {
  const id = ownValue(properties, 'role_id');
  if (!isId(id) || path.startsWith(USERS)) return undefined;
  return {
    id,
    inherits: idsIn(properties, 'inherits', '/roles/'),
    ...(yield* parsePermissions(ownValue(properties, 'permissions'), compile)),
  };
}

/** Reads a node of type `svc:Group`. @returns undefined when it is no group that could be named */
export function groupOf({ path, properties }: AccessNode): Group | undefined {
  const id = ownValue(properties, 'group_id');
  if (!isId(id) || path.startsWith(USERS)) return undefined;
  return { id, roles: idsIn(properties, 'roles', '/roles/') };
}

/** Reads a node of type `svc:User`. */
export function userOf({ id, path, properties }: AccessNode): User {
  const email = ownValue(properties, 'email');
  return {
    id,
    path,
    email: typeof email === 'string' ? email : null,
    isActive:
      (ownValue(properties, 'status') ?? 'active') === 'active' &&
      (ownValue(properties, 'can_login') ?? true) === true,
    groups: idsIn(properties, 'groups', '/groups/'),
    roles: idsIn(properties, 'roles', '/roles/'),
  };
}

/** Reads a node of type `svc:SecurityConfig`. @returns undefined when it is for no workspace */
export function securityConfigOf({ path, properties }: AccessNode): SecurityConfig | undefined {
  const text = ownValue(properties, 'workspace');
  if (typeof text !== 'string' || text === '' || text.length > PATTERN_LENGTH_MAX) return undefined;
  const workspace = new NameGlob(text);
  if (!workspace.isUnderstood || path.startsWith(USERS)) return undefined;
  const role = ownValue(properties, 'anonymous_role');
  const [anonymousRole = null] = typeof role === 'string' ? strippedIds([role], '/roles/') : [];
  return {
    path,
    workspace,
    literalLength: text.replaceAll('*', '').length,
    readByDefault: ownValue(properties, 'default_policy') === 'allow',
    isAnonymousEnabled: ownValue(properties, 'anonymous_enabled') === true,
    anonymousRole,
    interfaces: interfacesIn(ownValue(properties, 'interfaces')),
  };
}

/**
 * Whether anonymous callers have any access to a repository: the first value that is set counts. A value that is neither
 * true nor false counts as false.
 *
 * @param values of the repository, of its tenant and of the server; null and undefined: not set
 * @see docs/interface/permissions.md#anonymous-callers
 */
export function isAnonymousEnabled(...values: readonly (JsonValue | undefined)[]): boolean {
  return values.find((value) => value != null) === true;
}

function interfacesIn(stored: JsonValue | undefined): ReadonlyMap<string, boolean> {
  const values = new Map<string, boolean>();
  for (const name of ['rest', 'pgwire', 'websocket']) {
    const value = valueIn(valueIn(stored, name), 'anonymous_enabled');
    if (value != null) values.set(name, value === true);
  }
  return values;
}

function valueIn(object: JsonValue | undefined, key: string): JsonValue | undefined {
  if (typeof object !== 'object' || object === null || isJsonArray(object)) return undefined;
  return ownValue(object, key);
}

/** The ids that a list of a node names, as far as they count. @param prefix as of {@link strippedId} */
export function idsIn(properties: JsonObject, key: string, prefix: string): readonly string[] {
  const list = ownValue(properties, key);
  return list !== undefined && isJsonArray(list) ? strippedIds(list, prefix) : [];
}

/** The ids among some values, without the path of their folder. */
function strippedIds(values: readonly JsonValue[], prefix: string): readonly string[] {
  const ids = values
    .slice(0, NAMES_MAX)
    .filter((value) => typeof value === 'string')
    .map((text) => strippedId(text, prefix));
  return [...new Set(ids.filter(isId))];
}

/** The id that a text names, without the path of the folder of such ids. @param prefix `/roles/` or `/groups/` */
export function strippedId(text: string, prefix: string): string {
  return text.startsWith(prefix) ? text.slice(prefix.length) : text;
}

/** Whether a value may be the id of a role or group; with another one a node counts for nothing. */
export function isId(value: JsonValue | undefined): value is string {
  return typeof value === 'string' && value !== '' && value.length <= PATTERN_LENGTH_MAX;
}
