import { parseEmail, spellingsOf } from '#runtime/access/identity/email-address.ts';
import { joinPath, pathSegments, sanitizeName } from '#runtime/content/path.ts';
import type { JsonObject, JsonValue } from '#runtime/content/values/json-value.ts';
import { invalid, ServiceError } from '#runtime/errors/service-error.ts';
import type { AlterUserStatement, CreateUserStatement } from '#runtime/sql-syntax/nodes/access-nodes.ts';
import type { GivenText } from '#runtime/sql-syntax/nodes/given-nodes.ts';
import { isAmongUsersOf, ACCESS_WORKSPACE, USER_TYPE } from '../../../access/user-places.ts';
import { accessExists } from '../../access-errors.ts';
import { ACCESS_FOLDER_TYPE, type AccessEdit } from './access-edit.ts';
import { listOf, withIds, withoutIds } from './listed-ids.ts';

const USERS = '/users';

const kinds = {
  roles: { noun: 'Role', folder: '/roles/' },
  groups: { noun: 'Group', folder: '/groups/' },
} as const;

/**
 * `CREATE USER`. The node has no `user_id`: it becomes that of the identity that proves its address, as every node that was made for
 * an address.
 *
 * @throws {ServiceError} `ALREADY_EXISTS`; `NOT_FOUND` for a role or group; `INVALID_EMAIL`; `VALIDATION_FAILED`
 * @see docs/interface/identities.md#the-node-of-a-person
 */
export function* createUser(edit: AccessEdit, statement: CreateUserStatement): Generator<undefined, string> {
  const name = edit.text(statement.name);
  if (statement.email === undefined) throw edit.error('CREATE USER requires EMAIL', statement.name.span);
  const nodeName = sanitizeName(name);
  const email = yield* freeEmail(edit, statement.email);
  const folder = yield* madeFolder(edit, statement.folder);
  // Somebody else with that name would be meant by later statements, or by this one.
  if ((yield* edit.catalog.quickUsers(name)).length > 0) throw accessExists('User', name);
  const properties: JsonObject = {
    email,
    display_name: statement.displayName === undefined ? name : edit.text(statement.displayName),
    roles: yield* edit.existing('Role', statement.roles),
    groups: yield* edit.existing('Group', statement.groups),
    ...(statement.canLogin === undefined ? {} : { can_login: statement.canLogin }),
    ...(statement.birthDate === undefined ? {} : { birth_date: edit.text(statement.birthDate) }),
  };
  yield* edit.insert(folder, nodeName, USER_TYPE, properties);
  return `User '${name}' created`;
}

/** `ALTER USER`. @throws {ServiceError} `NOT_FOUND`; `CONFLICT`; `ALREADY_EXISTS`; `INVALID_EMAIL`; `VALIDATION_FAILED` */
export function* alterUser(
  edit: AccessEdit,
  { change, name }: AlterUserStatement,
): Generator<undefined, string> {
  const user = yield* change.kind === 'add' ? edit.grantableUser(name) : edit.requiredUser(name);
  if (change.kind === 'set') yield* edit.set(user, yield* changedProperty(edit, change, user.id));
  else {
    const { folder, noun } = kinds[change.what];
    const before = listOf(user, change.what);
    const after =
      change.kind === 'add'
        ? withIds(before, yield* edit.existing(noun, change.names), folder)
        : withoutIds(before, edit.ids(noun, change.names), folder);
    yield* edit.setList(user, change.what, before, after);
  }
  return `User '${edit.text(name)}' altered`;
}

function* changedProperty(
  edit: AccessEdit,
  { field, value: given }: AlterUserStatement['change'] & { readonly kind: 'set' },
  userId: string,
): Generator<undefined, JsonObject> {
  switch (field) {
    case 'email':
      return { email: yield* freeEmail(edit, given, userId) };
    case 'display-name':
      return { display_name: edit.text(given) };
    case 'can-login': {
      const value: JsonValue = edit.value(given);
      if (typeof value !== 'boolean') throw edit.error('CAN LOGIN is true or false', given.span);
      return { can_login: value };
    }
    case 'birth-date':
      return { birth_date: edit.value(given) === null ? null : edit.text(given) };
  }
}

/**
 * An address for a user node that no other one has. It is kept in lower case, in which people are found whatever spelling their
 * account has.
 *
 * @param userId id of the node that gets it; absent: a new one
 */
function* freeEmail(edit: AccessEdit, given: GivenText, userId?: string): Generator<undefined, string> {
  const { address, key } = parseEmail(edit.text(given));
  for (const spelling of spellingsOf(address)) {
    const holder = yield* edit.catalog.withValue(USER_TYPE, 'email', spelling);
    if (holder !== undefined && holder.id !== userId)
      throw new ServiceError('ALREADY_EXISTS', `User with email '${address}' already exists`);
  }
  return key;
}

/**
 * The folder of a new user, which is made if it is missing. One that is not `/users` or below it is meant below it: elsewhere users
 * count for nobody.
 *
 * @returns its path
 * @throws {ServiceError} `VALIDATION_FAILED`
 */
function* madeFolder(edit: AccessEdit, given: GivenText | undefined): Generator<undefined, string> {
  yield* edit.ensureFolder(USERS);
  if (given === undefined) return USERS;
  const text = edit.text(given);
  const segments = pathSegments(text.startsWith('/') ? text.replace(/(?<=.)\/$/, '') : `/${text}`);
  if (segments[0] !== USERS.slice(1)) segments.unshift(USERS.slice(1));
  let path = '/';
  for (const segment of segments) {
    const name = sanitizeName(segment);
    const below = joinPath(path, name);
    const existing = yield* edit.edit.head.byPathInSteps(ACCESS_WORKSPACE, below);
    if (existing === undefined) yield* edit.insert(path, name, ACCESS_FOLDER_TYPE, {});
    else if (!isUserFolder(edit, existing.id, below))
      throw invalid(`'${below}' is in the home of a user, and users there count for nobody`);
    path = below;
  }
  return path;
}

/** Whether a user in a folder counts. */
function isUserFolder({ edit }: AccessEdit, id: string, path: string): boolean {
  return path === USERS || isAmongUsersOf(edit.head, { parentId: id, path: joinPath(path, 'x') });
}
