import type { BranchQuery } from '#actors/branch/messages.ts';
import { isGrantedNothing } from '#runtime/access/policy.ts';
import { assert } from '#runtime/base/assert.ts';
import { nodeNotFound, ServiceError } from '#runtime/errors/service-error.ts';
import type { FoundBranch } from './found-branch.ts';
import type { RestRequest } from '../rest-route.ts';

/** Where a caller who may see nothing stands with every address: nothing is looked up, so nothing can be told from it. */
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
 * Whether tenants, repositories, branches, tags, workspaces and revisions are hidden from a caller. They are from whoever
 * was granted nothing: each address is answered like an empty place that is there, so that names cannot be tried.
 */
export function isHiddenFrom(request: RestRequest): boolean {
  return isGrantedNothing(request.principal);
}

/**
 * What a caller who may see nothing gets of any branch: empty lists of the root, and no node anywhere.
 *
 * @throws {ServiceError} `NODE_NOT_FOUND`; `INVALID_CURSOR`, for no listing of nothing has ever given one
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

/** As queries of a branch bring the numbers of a page into bounds. */
function inBounds(value: unknown, least: number): unknown {
  return typeof value === 'number' ? Math.max(value, least) : (value ?? null);
}
