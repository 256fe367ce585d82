import type { GrantStatement } from '#runtime/sql-syntax/nodes/access-nodes.ts';
import type { AccessEdit } from './access-edit.ts';
import { listOf, withIds, withoutIds } from './listed-ids.ts';

/** What is granted: where a holder lists it, and the folder that may stand before an id. */
const kinds = {
  role: { noun: 'Role', property: 'roles', folder: '/roles/' },
  group: { noun: 'Group', property: 'groups', folder: '/groups/' },
} as const;

/**
 * `GRANT … TO` and `REVOKE … FROM`. What is granted has to exist; revoked is also what does not exist any more.
 *
 * @throws {ServiceError} `NOT_FOUND`; `CONFLICT`, also for the user of an account that was removed; `VALIDATION_FAILED` for a
 *   group of a group
 */
export function* grant(edit: AccessEdit, statement: GrantStatement): Generator<undefined, string> {
  const { kind, name, names, span, to, what } = statement;
  if (what === 'group' && to === 'group')
    throw edit.error('Groups have roles, and no groups: only users are in groups', span);
  const { folder, noun, property } = kinds[what];
  const holder = yield* to === 'group'
    ? edit.required('Group', name)
    : kind === 'grant'
      ? edit.grantableUser(name)
      : edit.requiredUser(name);
  const before = listOf(holder, property);
  const after =
    kind === 'grant'
      ? withIds(before, yield* edit.existing(noun, names), folder)
      : withoutIds(before, edit.ids(noun, names), folder);
  yield* edit.setList(holder, property, before, after);
  const target = to === 'user' ? `User '${edit.text(name)}'` : `Group '${edit.id('Group', name)}'`;
  return kind === 'grant' ? `Grants applied to ${target}` : `Revocations applied to ${target}`;
}
