import type { BranchQuery } from '#actors/branch/messages.ts';
import { isGrantedNothing } from '#runtime/access/policy.ts';
import { assert } from '#runtime/base/assert.ts';
import { nodeNotFound, ServiceError } from '#runtime/errors/service-error.ts';
import type { FoundBranch } from './found-branch.ts';
import type { RestRequest } from '../rest-route.ts';

/** Stands for every branch when the caller has no grant: nothing is looked up, so responses reveal nothing. */
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
 * Whether tenants, repositories, branches, tags, workspaces and revisions are hidden from a caller. They are hidden
 * from callers without any grant: each address responds like an existing empty place, so that names cannot be probed.
 */
export function isHiddenFrom(request: RestRequest): boolean {
  return isGrantedNothing(request.principal);
}

/**
 * The answer of any branch to a caller without any grant: empty lists of the root, and no nodes.
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
    default:
      assert('place' in query, 'somebody who may see nothing asks for nodes and lists of them');
      throw nodeNotFound(query.place);
  }
}

/** Clamps a page number as queries of a branch do. */
function inBounds(value: unknown, least: number): unknown {
  return typeof value === 'number' ? Math.max(value, least) : (value ?? null);
}
