import type { DropAccessStatement } from '#runtime/sql-syntax/nodes/access-nodes.ts';
import type { CatalogNode } from '../../../access/access-catalog.ts';
import { ACCESS_WORKSPACE } from '../../../access/user-places.ts';
import { removeSubtree } from '../../../nodes/delete-node.ts';
import { accessNotFound } from '../../access-errors.ts';
import type { AccessEdit } from './access-edit.ts';

const nouns = { role: 'Role', group: 'Group', user: 'User' } as const;

/**
 * `DROP ROLE|GROUP|USER`. A user goes with what is in its home. Names of a role or group that is gone stay where they are listed, and
 * are ignored.
 *
 * @throws {ServiceError} `NOT_FOUND`; `CONFLICT`; `VALIDATION_FAILED` for a published node
 */
export function* dropAccess(
  edit: AccessEdit,
  { ifExists, name, target }: DropAccessStatement,
): Generator<undefined, string> {
  const noun = nouns[target];
  const named = noun === 'User' ? edit.text(name) : edit.id(noun, name);
  const found = yield* find(edit, noun, named);
  if (found === undefined) {
    if (!ifExists) throw accessNotFound(noun, named);
    return `${noun} '${named}' does not exist, skipped`;
  }
  const stored = yield* edit.edit.requireNode(ACCESS_WORKSPACE, { id: found.id }, 'delete');
  yield* removeSubtree(edit.edit, ACCESS_WORKSPACE, stored);
  return `${noun} '${named}' dropped`;
}

function find(
  { catalog }: AccessEdit,
  noun: (typeof nouns)[keyof typeof nouns],
  name: string,
): Generator<undefined, CatalogNode | undefined> {
  if (noun === 'Role') return catalog.role(name);
  return noun === 'Group' ? catalog.group(name) : catalog.user(name);
}
