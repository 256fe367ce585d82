import { wholeScope } from '#runtime/access/policy.ts';
import { parentPath } from '#runtime/content/path.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { Moment } from '#runtime/scan/moment.ts';
import { scan } from '#runtime/scan/scan.ts';
import type { NodeRecord } from '#runtime/tree/record/node-record.ts';
import { type EditScope, unmoved } from '../edit-scope.ts';
import { FOLDER, newRecord, requireParent, storeNew } from './create-node.ts';

/** What takes the place of a node that moves without its children. */
export interface StandIn {
  /** A new folder, with the path and order key that the node had. */
  readonly folder: NodeRecord;
  /** The children of the node, which become those of the folder. */
  readonly children: readonly NodeRecord[];
}

/** The node that moves and the folder, which the commit changes beside the children. */
const NODES_BESIDE = 2;

/**
 * Checks what has to take the place of a node that moves alone, without writing anything. Its children keep their paths, so
 * there must be a parent above them: a folder, as `deep` creates missing parents. They are not moved: nothing of them but
 * their parent changes, so the caller needs no permission on them, and may be unable to read them.
 *
 * @param node still in its place
 * @returns undefined for a node without children
 * @throws {ServiceError} `VALIDATION_FAILED` or `PERMISSION_DENIED` when there can be no such folder; `COMMIT_TOO_LARGE`
 * @see docs/interface/sql-writes.md#update
 */
export function* planStandIn(
  edit: EditScope,
  workspace: string,
  node: NodeRecord,
): Generator<undefined, StandIn | undefined> {
  const { id, name, path } = node.header;
  if (!edit.head.hasChildren(workspace, id)) return undefined;
  let folder: NodeRecord;
  try {
    const parent = yield* requireParent(edit, workspace, parentPath(path));
    const fresh = { name, nodeType: FOLDER, properties: {} };
    folder = yield* newRecord(edit, workspace, parent, fresh, { insteadOf: node });
  } catch (error) {
    throw withAdvice(error, path);
  }
  return { folder, children: yield* childrenOf(edit, workspace, id) };
}

/** The children of a node. Each may be below a folder: that type is shipped, and always allows children of every type. */
function* childrenOf(
  edit: EditScope,
  workspace: string,
  parentId: string,
): Generator<undefined, readonly NodeRecord[]> {
  const children: NodeRecord[] = [];
  const source = { kind: 'children', workspace, parentId } as const;
  for (const row of scan(new Moment(edit.turn), { source, scope: wholeScope })) {
    yield;
    if (row === undefined) continue;
    children.push(row.record);
    edit.checkSize(children.length + NODES_BESIDE);
  }
  return children;
}

/**
 * Puts the folder into the place that the node has left, and the children below it. They keep their path, position, version,
 * time and author.
 *
 * @throws {ServiceError} `COMMIT_TOO_LARGE`, `REQUEST_TOO_EXPENSIVE`
 */
export function* putStandIn(
  edit: EditScope,
  workspace: string,
  { children, folder }: StandIn,
): Generator<undefined, void> {
  yield* storeNew(edit, workspace, folder);
  // The first one first: after its last child, a parent would have to look up the new last one each time.
  for (const child of children) {
    const next = yield* edit.nextInSteps(child, { ...unmoved(child), parentId: folder.id });
    yield* edit.replaceInSteps(workspace, child, next);
    yield;
  }
}

/** The same error, saying why there has to be a folder and what can be done. A hidden parent counts as one that forbids it. */
function withAdvice(error: unknown, path: string): unknown {
  if (!(error instanceof ServiceError)) return error;
  const { code, details, field, message } = error;
  const isHidden = code === 'NODE_NOT_FOUND';
  if (!isHidden && code !== 'PERMISSION_DENIED' && code !== 'VALIDATION_FAILED') return error;
  const reason = isHidden ? `Permission denied: cannot create node ${path}` : message;
  return new ServiceError(
    isHidden ? 'PERMISSION_DENIED' : code,
    `Cannot move '${path}' alone, with a ${FOLDER} in its place for the nodes below it: ${reason}; use MOVE, which takes them along`,
    {
      ...(details === undefined ? {} : { details }),
      ...(field === undefined ? {} : { field }),
      cause: error,
    },
  );
}
