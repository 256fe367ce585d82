import { isDescendantPath } from '#runtime/content/path.ts';
import { invalid } from '#runtime/errors/service-error.ts';
import type { NodeReference } from '#runtime/sql-syntax/nodes/tree-nodes.ts';
import type { NodeRecord } from '#runtime/tree/record/node-record.ts';
import type { ChangeContext } from '../change-context.ts';
import { isRoot, placeOf, requireNamed } from './named-nodes.ts';

/** The words of the errors of a statement that places nodes below another one. */
const verbs = {
  MOVE: { verb: 'move', done: 'moved', operation: 'delete' },
  COPY: { verb: 'copy', done: 'copied', operation: 'read' },
} as const;

/** A node and the path of the one below which it is to be. */
export interface NewPlace {
  readonly node: NodeRecord;
  /** `/` for the root. */
  readonly parentPath: string;
}

/**
 * The node that MOVE or COPY names first, and the new parent that it names second.
 *
 * @throws {ServiceError} `NODE_NOT_FOUND` for either; `PERMISSION_DENIED`; `VALIDATION_FAILED` for the root as the node, and
 *   for a parent that is the node or below it
 * @see docs/interface/sql-tree.md#move-and-copy
 */
export function* newPlace(
  change: ChangeContext,
  workspace: string,
  word: 'MOVE' | 'COPY',
  references: { readonly source: NodeReference; readonly target: NodeReference },
): Generator<undefined, NewPlace> {
  const { done, operation, verb } = verbs[word];
  const source = placeOf(change, references.source);
  const target = placeOf(change, references.target);
  if (isRoot(source)) throw invalid(`${word}: Root node '/' cannot be ${done}`);
  const node = yield* requireNamed(change, workspace, source, operation, 'Source node');
  const { id, path } = node.header;
  if (isRoot(target)) return { node, parentPath: '/' };
  const parent = (yield* requireNamed(change, workspace, target, 'read', 'Target parent node')).header;
  if (parent.id === id) throw invalid(`${word}: Cannot ${verb} a node into itself`);
  if (isDescendantPath(parent.path, path)) {
    const named = `Source '${path}' cannot be ${done} into '${parent.path}'`;
    throw invalid(`${word}: Cannot ${verb} a node into its own descendant. ${named}`);
  }
  return { node, parentPath: parent.path };
}
