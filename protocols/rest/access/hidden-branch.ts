import type { BranchQuery } from '#actors/branch/messages.ts';
import { assert } from '#runtime/base/assert.ts';
import { nodeNotFound, ServiceError } from '#runtime/errors/service-error.ts';
import type { FoundBranch } from './found-branch.ts';
import type { RestRequest } from '../rest-route.ts';

/**
 * Stands for a branch that is not there, and for one where an anonymous caller has no access, so that responses do not tell
 * the two apart.
 */
export const hiddenBranch: FoundBranch = Object.freeze({
  repository: Object.freeze({ id: '', name: '', actor: '' }) as unknown as FoundBranch['repository'],
  name: '',
  uid: '',
  actor: '',
  locks: '',
  taggedAt: undefined,
  guess: undefined,
});

/**
 * Whether a caller is not told which tenants, repositories, branches and tags exist. Where an anonymous caller has no
 * access, each address responds like an existing empty place, so that names cannot be probed.
 */
export function isHiddenFrom({ principal }: RestRequest): boolean {
  return principal.kind === 'anonymous';
}

/** Whether an error says that a repository or branch is not there, or not for this caller. */
export function isOfHiddenBranch(error: unknown): boolean {
  return (
    error instanceof ServiceError &&
    (error.code === 'BRANCH_NOT_FOUND' || error.code === 'REPOSITORY_NOT_FOUND')
  );
}

/**
 * The answer of a branch where an anonymous caller has no access: empty lists of the root, and no nodes.
 *
 * @throws {ServiceError} `NODE_NOT_FOUND`; `INVALID_CURSOR`, because an empty listing never returns a cursor
 * @see docs/interface/accounts.md#callers-without-a-login
 */
export function answerOfNothing(query: BranchQuery): unknown {
  switch (query.type) {
    case 'ListChildren':
    case 'ReadTree': {
      if (!('path' in query.place) || query.place.path !== '/') throw nodeNotFound(query.place);
      if (query.type === 'ReadTree') return query.form === 'map' ? {} : [];
      if (query.cursor !== undefined)
        throw new ServiceError('INVALID_CURSOR', 'The cursor belongs to another listing', {
          field: 'cursor',
        });
      return query.limit === undefined ? [] : { items: [], next_cursor: null, total: null };
    }
    case 'RunQuery':
    case 'RunDslQuery': {
      const { limit, offset } = query.type === 'RunQuery' ? query : query.filter;
      const page = {
        total: 0,
        limit: inBounds(limit, 1),
        offset: inBounds(offset, 0) ?? 0,
        nextOffset: null,
      };
      return { items: [], page };
    }
    case 'RunSql':
      return { columns: [], rows: [], row_count: 0, execution_time_ms: 0 };
    default:
      assert('place' in query, 'anonymous callers ask for nodes and lists of them');
      throw nodeNotFound(query.place);
  }
}

/** Clamps a page number as queries of a branch do. */
function inBounds(value: unknown, least: number): unknown {
  return typeof value === 'number' ? Math.max(value, least) : (value ?? null);
}
