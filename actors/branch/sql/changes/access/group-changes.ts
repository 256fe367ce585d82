import type { AlterGroupStatement, CreateGroupStatement } from '#runtime/sql-syntax/nodes/access-nodes.ts';
import { GROUP_TYPE } from '../../../access/access-catalog.ts';
import { accessExists } from '../../access-errors.ts';
import type { AccessEdit } from './access-edit.ts';
import { listOf, withIds, withoutIds } from './listed-ids.ts';

const GROUPS = '/groups';
const ROLE_FOLDER = '/roles/';

/** `CREATE GROUP`. @throws {ServiceError} `ALREADY_EXISTS`; `NOT_FOUND` for a role; `VALIDATION_FAILED` */
export function* createGroup(
  edit: AccessEdit,
  statement: CreateGroupStatement,
): Generator<undefined, string> {
  const id = edit.id('Group', statement.name);
  if ((yield* edit.catalog.group(id)) !== undefined) throw accessExists('Group', id);
  yield* edit.ensureFolder(GROUPS);
  yield* edit.insert(GROUPS, id, GROUP_TYPE, {
    group_id: id,
    name: id,
    ...(statement.description === undefined ? {} : { description: edit.text(statement.description) }),
    roles: yield* edit.existing('Role', statement.roles),
  });
  return `Group '${id}' created`;
}

/** `ALTER GROUP`. @throws {ServiceError} `NOT_FOUND`; `VALIDATION_FAILED` */
export function* alterGroup(
  edit: AccessEdit,
  { change, name }: AlterGroupStatement,
): Generator<undefined, string> {
  const group = yield* edit.required('Group', name);
  const roles = listOf(group, 'roles');
  switch (change.kind) {
    case 'add-roles': {
      const after = withIds(roles, yield* edit.existing('Role', change.roles), ROLE_FOLDER);
      yield* edit.setList(group, 'roles', roles, after);
      break;
    }
    case 'drop-roles': {
      const after = withoutIds(roles, edit.ids('Role', change.roles), ROLE_FOLDER);
      yield* edit.setList(group, 'roles', roles, after);
      break;
    }
    case 'set-description':
      yield* edit.set(group, { description: edit.text(change.text) });
  }
  return `Group '${edit.id('Group', name)}' altered`;
}
