import { allFields } from '../field-filter.ts';
import type { Group, Role, SecurityConfig, User } from './access-nodes.ts';
import { NameGlob } from './name-glob.ts';
import { PathGlob } from './path-glob.ts';
import type { Permission } from './permission.ts';
import type { RuleCaller } from './rule-caller.ts';

/** The most roles that count for a caller. */
export const ROLES_MAX = 256;

/** The most permissions that count for a caller. */
export const PERMISSIONS_OF_CALLER_MAX = 2_000;

/** Roles of settings of workspaces whose permissions are prepared together. */
const ADDED_ROLES_MAX = 16;

/** The role that permits everything. */
const SYSTEM_ADMIN = 'system_admin';

/** The role of anonymous callers where they have no user node. */
const ANONYMOUS = 'anonymous';

/** To read everything. It is less specific than all permissions that name a path. */
const readEverything: Permission = {
  path: new PathGlob(''),
  operations: new Set(['read']),
  workspace: new NameGlob(''),
  branches: [],
  nodeTypes: undefined,
  fields: allFields,
  condition: undefined,
};

/** The interfaces for which a workspace may have its own setting for anonymous callers. */
export type Interface = 'rest' | 'pgwire' | 'websocket' | 'other';

/** The roles, groups and settings of a repository. */
export interface AccessRecords {
  readonly roles: ReadonlyMap<string, Role>;
  readonly groups: ReadonlyMap<string, Group>;
  readonly configs: readonly SecurityConfig[];
}

/** What a caller may do in a repository. */
export interface Grants {
  readonly caller: RuleCaller;
  /** Whether everything is permitted. */
  readonly isBypass: boolean;
  /** In the order of the roles, and in each role as it has them. */
  readonly permissions: readonly Permission[];
  /** Further permissions, for nodes of a workspace. In the order they are behind the others. */
  addedIn(workspace: string): readonly Permission[];
  /** All permissions that may count in some workspace. */
  everywhere(): readonly Permission[];
}

/** Builds the maps of records. Of several with one id that with the first path counts, for every member the same. */
export function byId<Named extends { readonly id: string }>(
  records: Iterable<readonly [path: string, record: Named]>,
): ReadonlyMap<string, Named> {
  const found = new Map<string, Named>();
  for (const [, record] of [...records].sort(([a], [b]) => (a < b ? -1 : 1)))
    if (!found.has(record.id)) found.set(record.id, record);
  return found;
}

/**
 * What an identity may do in a repository: nothing without a user node that is active.
 *
 * @param identity its id
 * @param user its user node in the repository
 * @see docs/interface/permissions.md#roles
 */
export function grantsOfUser(identity: string, user: User | undefined, records: AccessRecords): Grants {
  if (user?.isActive !== true) return nothing(callerOf(identity, undefined, [], []));
  const groups = user.groups.filter((id) => records.groups.has(id));
  const roles = effectiveRoles(user, records);
  const permissions = permissionsOf(roles, records);
  return {
    caller: callerOf(identity, user, roles, groups),
    isBypass: roles.includes(SYSTEM_ADMIN),
    permissions,
    addedIn: (workspace) =>
      decidingConfig(records.configs, workspace)?.readByDefault === true ? [readEverything] : [],
    everywhere: () => permissions,
  };
}

/**
 * What anonymous callers may do in a repository where they have access, see `isAnonymousEnabled`. They are never
 * permitted everything at once, whatever their roles are.
 *
 * @param user the node `/users/system/anonymous`; without it they have the role `anonymous` alone
 * @see docs/interface/permissions.md#anonymous-callers
 */
export function grantsOfAnonymous(
  user: User | undefined,
  records: AccessRecords,
  through: Interface,
): Grants {
  const identity = ANONYMOUS;
  if (user?.isActive === false)
    return nothing({ ...callerOf(identity, undefined, [], []), isAnonymous: true });
  const holder = user ?? { roles: [ANONYMOUS], groups: [] };
  const groups = holder.groups.filter((id) => records.groups.has(id));
  const roles = effectiveRoles(holder, records);
  const permissions = permissionsOf(roles, records);
  const permissionsOfRole = (role: string): readonly Permission[] =>
    permissionsOf(effectiveRoles({ roles: [role], groups: [] }, records), records);
  return {
    caller: { ...callerOf(identity, user, roles, groups), isAnonymous: true },
    isBypass: false,
    permissions,
    addedIn: (workspace) => {
      const config = decidingConfig(records.configs, workspace);
      if (config === undefined || config.anonymousRole === null) return [];
      const isEnabled = config.interfaces.get(through) ?? config.isAnonymousEnabled;
      if (!isEnabled) return [];
      return permissionsOfRole(config.anonymousRole);
    },
    everywhere: () => {
      const named = new Set(records.configs.map(({ anonymousRole }) => anonymousRole));
      const added = [...named].filter((role) => role !== null).slice(0, ADDED_ROLES_MAX);
      return [...new Set([...permissions, ...added.flatMap(permissionsOfRole)])];
    },
  };
}

/** Why a role counts for a user. */
export interface RoleSource {
  readonly source: 'direct' | 'group' | 'inherited';
  /** The group that has the role, or the role that inherits it; null for a role of the user itself. */
  readonly via: string | null;
}

/**
 * The roles that count for a user, and why: first its own, then those of its groups, then the inherited ones, each in the order in
 * which they are named, and each with the first reason. Names of roles and groups that do not exist are ignored.
 *
 * @see docs/interface/permissions.md#roles
 */
export function rolesWithSources(
  { groups, roles }: Pick<User, 'groups' | 'roles'>,
  records: Pick<AccessRecords, 'groups'> & { readonly roles: ReadonlyMap<string, Pick<Role, 'inherits'>> },
): ReadonlyMap<string, RoleSource> {
  const found = new Map<string, RoleSource>();
  const add = (ids: readonly string[], source: RoleSource): void => {
    for (const id of ids)
      if (records.roles.has(id) && !found.has(id) && found.size < ROLES_MAX) found.set(id, source);
  };
  add(roles, { source: 'direct', via: null });
  for (const group of groups) add(records.groups.get(group)?.roles ?? [], { source: 'group', via: group });
  // A map is gone through with what is added on the way, each role once.
  for (const id of found.keys()) add(records.roles.get(id)?.inherits ?? [], { source: 'inherited', via: id });
  return found;
}

function effectiveRoles(holder: Pick<User, 'groups' | 'roles'>, records: AccessRecords): readonly string[] {
  return [...rolesWithSources(holder, records).keys()];
}

function permissionsOf(roles: readonly string[], records: AccessRecords): readonly Permission[] {
  return roles.flatMap((id) => records.roles.get(id)?.permissions ?? []).slice(0, PERMISSIONS_OF_CALLER_MAX);
}

/** The settings of a workspace: those that name it, else of the patterns that match it the one with most characters. */
export function decidingConfig(
  configs: readonly SecurityConfig[],
  workspace: string,
): SecurityConfig | undefined {
  return configs
    .filter((config) => config.workspace.matches(workspace))
    .sort(
      (a, b) =>
        Number(b.workspace.isName) - Number(a.workspace.isName) ||
        b.literalLength - a.literalLength ||
        (a.path < b.path ? -1 : 1),
    )[0];
}

function nothing(caller: RuleCaller): Grants {
  return { caller, isBypass: false, permissions: [], addedIn: () => [], everywhere: () => [] };
}

function callerOf(
  userId: string,
  user: User | undefined,
  roles: readonly string[],
  groups: readonly string[],
): RuleCaller {
  return {
    userId,
    localUserId: user?.id ?? null,
    email: user?.email ?? null,
    isAnonymous: false,
    isSystem: false,
    roles,
    groups,
    home: user?.path ?? null,
    actingAsWard: null,
    activeStewardshipSource: null,
  };
}
