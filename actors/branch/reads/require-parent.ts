import type { QueryContext } from '#runtime/commit/behaviour.ts';
import { ROOT_ID } from '#runtime/content/content-node.ts';
import { nodeNotFound } from '#runtime/errors/service-error.ts';
import type { NodeReader } from '#runtime/tree/node-reader.ts';
import type { BranchState } from '../branch-state.ts';
import { isHidden, localeChain } from './localize.ts';
import type { NodePlace } from '../read-messages.ts';
import { requireReadable } from './read-node.ts';

/** A node or root whose children are read. */
export interface ParentPlace {
  readonly id: string;
  readonly path: string;
}

/** The root of every workspace. */
export const rootPlace: ParentPlace = Object.freeze({ id: ROOT_ID, path: '/' });

/**
 * A node whose children the caller may list, or the root. Permission for children of the root is checked for each
 * child.
 *
 * @param lang a node hidden in this locale is not found
 * @throws {ServiceError} `NODE_NOT_FOUND`, `WORKSPACE_NOT_FOUND`, `VALIDATION_FAILED` for a malformed locale
 */
export function requireParent(
  state: BranchState,
  context: QueryContext,
  reader: NodeReader,
  query: { readonly workspace: string; readonly place: NodePlace; readonly lang?: string },
): ParentPlace {
  const { workspace, place, lang } = query;
  state.workspace(workspace);
  if ('path' in place && place.path === '/') return rootPlace;
  const record = requireReadable(state, context, reader, workspace, place);
  const { id, path } = record.header;
  if (lang !== undefined && isHidden(record, localeChain(state, lang))) throw nodeNotFound(place);
  return { id, path };
}
