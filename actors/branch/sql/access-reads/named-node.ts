import type { AccessTarget } from '#runtime/sql-syntax/nodes/access-nodes.ts';
import type { CatalogNode } from '../../access/access-catalog.ts';
import { accessNotFound } from '../access-errors.ts';
import type { AccessSource } from './access-answer.ts';

const nouns = { role: 'Role', group: 'Group', user: 'User' } as const;

/**
 * The role, group or user that a statement names. One that the caller may not read is not there.
 *
 * @returns yields where the work may pause
 * @throws {ServiceError} `NOT_FOUND`; `CONFLICT` for a name of several users
 */
export function* named(
  { catalog }: AccessSource,
  target: AccessTarget,
  name: string,
): Generator<undefined, CatalogNode> {
  const found = yield* target === 'user'
    ? catalog.user(name)
    : target === 'role'
      ? catalog.role(name)
      : catalog.group(name);
  if (found === undefined) throw accessNotFound(nouns[target], name);
  return found;
}
