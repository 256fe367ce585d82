import type { Caller, ConditionNode } from '../ports.ts';
import type { RelValue } from '../values/rel-value.ts';

/** A column of a node, as conditions name it after `node.`. A property of the same name is hidden by it. */
export type ConditionColumn =
  | 'id'
  | 'name'
  | 'path'
  | 'node_type'
  | 'created_by'
  | 'updated_by'
  | 'owner_id'
  | 'workspace';

/** Reads the columns of a node by their names in conditions. */
export const columnReaders: Readonly<Record<ConditionColumn, (node: ConditionNode) => string | null>> = {
  id: (node) => node.id,
  name: (node) => node.name,
  path: (node) => node.path,
  node_type: (node) => node.nodeType,
  created_by: (node) => node.createdBy,
  updated_by: (node) => node.updatedBy,
  owner_id: (node) => node.ownerId,
  workspace: (node) => node.workspace,
};

/** The names of all columns. */
export const conditionColumns = Object.freeze(Object.keys(columnReaders)) as readonly ConditionColumn[];

/** Whether a name after `node.` is that of a column. */
export function isColumn(name: string): name is ConditionColumn {
  return Object.hasOwn(columnReaders, name);
}

/** A value of the caller, as conditions name it after `auth.`. */
export type CallerField =
  | 'user_id'
  | 'local_user_id'
  | 'email'
  | 'home'
  | 'roles'
  | 'groups'
  | 'is_anonymous'
  | 'is_system'
  | 'acting_as_ward'
  | 'active_stewardship_source';

/** Reads the values of a caller by their names in conditions. */
export const callerReaders: Readonly<Record<CallerField, (caller: Caller) => RelValue>> = {
  user_id: (caller) => caller.userId,
  local_user_id: (caller) => caller.localUserId,
  email: (caller) => caller.email,
  home: (caller) => caller.home,
  roles: (caller) => caller.roles,
  groups: (caller) => caller.groups,
  is_anonymous: (caller) => caller.isAnonymous,
  is_system: (caller) => caller.isSystem,
  acting_as_ward: (caller) => caller.actingAsWard,
  active_stewardship_source: (caller) => caller.activeStewardshipSource,
};

/** The names of all values of a caller. */
export const callerFields = Object.freeze(Object.keys(callerReaders)) as readonly CallerField[];

/** Whether a name after `auth.` is known. */
export function isCallerField(name: string): name is CallerField {
  return Object.hasOwn(callerReaders, name);
}
