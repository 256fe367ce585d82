import type { QueryContext } from '#runtime/commit/behaviour.ts';
import { ROOT_ID } from '#runtime/content/content-node.ts';
import type { Revision } from '#runtime/content/revision.ts';
import { nodeNotFound } from '#runtime/errors/service-error.ts';
import type { BranchState } from '../branch-state.ts';
import { isHidden, localeChain } from './localize.ts';
import type { NodePlace } from '../read-messages.ts';
import { withReadable } from './read-node.ts';

/** A node or root whose children are read. */
export interface ParentPlace {
  readonly id: string;
  readonly path: string;
}

/** The root of every workspace. */
export const rootPlace: ParentPlace = Object.freeze({ id: ROOT_ID, path: '/' });

/**
 * Answers what is about a node whose children the caller may list, or about the root. Permission for children of the root
 * is checked for each child.
 *
 * @param lang a node hidden in this locale is not found
 * @throws {ServiceError} `NODE_NOT_FOUND`, `WORKSPACE_NOT_FOUND`, `VALIDATION_FAILED` for a malformed locale
 */
export function withParent<T>(
  state: BranchState,
  context: QueryContext,
  query: {
    readonly at?: Revision;
    readonly workspace: string;
    readonly place: NodePlace;
    readonly lang?: string;
  },
  answer: (parent: ParentPlace) => T | Promise<T>,
): T | Promise<T> {
  const { lang, place, workspace } = query;
  state.workspace(workspace);
  if ('path' in place && place.path === '/') return answer(rootPlace);
  return withReadable(state, context, query, (found) => {
    const { id, path } = found.header;
    if (lang !== undefined && isHidden(found, localeChain(state, lang))) throw nodeNotFound(place);
    return answer({ id, path });
  });
}
