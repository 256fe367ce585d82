import { PERMISSIONS_MAX } from '#runtime/access/roles/permission.ts';
import type { JsonObject } from '#runtime/content/values/json-value.ts';
import type { AlterRoleStatement, CreateRoleStatement } from '#runtime/sql-syntax/nodes/access-nodes.ts';
import type { GivenValue } from '#runtime/sql-syntax/nodes/given-nodes.ts';
import type { Span } from '#runtime/sql-syntax/nodes/syntax-nodes.ts';
import { type CatalogNode, ROLE_TYPE } from '../../../access/access-catalog.ts';
import { accessExists } from '../../access-errors.ts';
import type { AccessEdit } from './access-edit.ts';
import { listOf, withIds, withoutIds } from './listed-ids.ts';
import { permissionOf } from './stored-permission.ts';

const ROLES = '/roles';
const FOLDER = '/roles/';

/** `CREATE ROLE`. @throws {ServiceError} `ALREADY_EXISTS`; `VALIDATION_FAILED` */
export function* createRole(edit: AccessEdit, statement: CreateRoleStatement): Generator<undefined, string> {
  const id = edit.id('Role', statement.name);
  if ((yield* edit.catalog.role(id)) !== undefined) throw accessExists('Role', id);
  requireFew(edit, statement.permissions.length, statement.span);
  const permissions: JsonObject[] = [];
  for (const grant of statement.permissions) permissions.push(yield* permissionOf(edit, grant));
  yield* edit.ensureFolder(ROLES);
  yield* edit.insert(ROLES, id, ROLE_TYPE, {
    role_id: id,
    name: id,
    ...(statement.description === undefined ? {} : { description: edit.text(statement.description) }),
    inherits: edit.ids('Role', statement.inherits),
    permissions,
  });
  return `Role '${id}' created`;
}

/** `ALTER ROLE`. @throws {ServiceError} `NOT_FOUND`; `VALIDATION_FAILED` */
export function* alterRole(
  edit: AccessEdit,
  { change, name, span }: AlterRoleStatement,
): Generator<undefined, string> {
  const role = yield* edit.required('Role', name);
  const inherits = listOf(role, 'inherits');
  switch (change.kind) {
    case 'add-permission': {
      const permissions = listOf(role, 'permissions');
      requireFew(edit, permissions.length + 1, span);
      const added = yield* permissionOf(edit, change.grant);
      yield* edit.set(role, { permissions: [...permissions, added] });
      break;
    }
    case 'drop-permission':
      yield* dropPermission(edit, role, change.number);
      break;
    case 'add-inherits': {
      const after = withIds(inherits, edit.ids('Role', change.roles), FOLDER);
      yield* edit.setList(role, 'inherits', inherits, after);
      break;
    }
    case 'drop-inherits': {
      const after = withoutIds(inherits, edit.ids('Role', change.roles), FOLDER);
      yield* edit.setList(role, 'inherits', inherits, after);
      break;
    }
    case 'set-description':
      yield* edit.set(role, { description: edit.text(change.text) });
  }
  return `Role '${edit.id('Role', name)}' altered`;
}

/** @param given counted from 1 */
function* dropPermission(edit: AccessEdit, role: CatalogNode, given: GivenValue): Generator<undefined, void> {
  const permissions = listOf(role, 'permissions');
  const number = edit.value(given);
  if (typeof number !== 'number' || !Number.isInteger(number) || number < 1 || number > permissions.length) {
    const has =
      permissions.length === 0
        ? 'The role has no permissions'
        : `The permissions of the role have the numbers 1 to ${permissions.length}`;
    throw edit.error(`There is no permission ${JSON.stringify(number)}. ${has}`, given.span);
  }
  yield* edit.set(role, { permissions: permissions.filter((_, index) => index !== number - 1) });
}

/** Refuses more permissions than count: what is behind them would have no effect. */
function requireFew(edit: AccessEdit, count: number, span: Span): void {
  if (count <= PERMISSIONS_MAX) return;
  throw edit.error(`A role may have at most ${PERMISSIONS_MAX} permissions`, span);
}
