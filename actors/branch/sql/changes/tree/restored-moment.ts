import { formatRevision, parseRevision, type Revision } from '#runtime/content/revision.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { RestoredRevision } from '#runtime/sql-syntax/nodes/tree-nodes.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { HeadNodeReader } from '#runtime/tree/node-reader.ts';
import { PastNodeReader } from '#runtime/tree/past-node-reader.ts';
import { readableRevision } from '#runtime/tree/readable-revision.ts';
import type { NodeRecord } from '#runtime/tree/record/node-record.ts';
import { ownRevision } from '../../../history/own-revisions.ts';
import { NodeAccess } from '../../../reads/node-access.ts';
import type { BranchTables } from '../../branch-tables.ts';
import type { ChangeContext } from '../change-context.ts';
import { missing, textOf } from './named-nodes.ts';
import type { NodePlace } from '../../../read-messages.ts';

/** The node that is restored. */
export interface RestoredNode {
  readonly workspace: string;
  readonly record: NodeRecord;
  /** As the statement names it. */
  readonly place: NodePlace;
}

/** The moment to which nodes are restored, and what the caller may read of it. */
export class RestoredMoment {
  /** The revision, as the answer shows it. */
  readonly revision: string;
  readonly #access: NodeAccess;
  readonly #tree: Pick<PastNodeReader, 'byIdInSteps'>;

  constructor(revision: Revision, access: NodeAccess, tree: Pick<PastNodeReader, 'byIdInSteps'>) {
    this.revision = formatRevision(revision);
    this.#access = access;
    this.#tree = tree;
  }

  /** The state of a node then; undefined when it was not there. Yields only for a large one. */
  stateOf(workspace: string, id: string): Generator<undefined, NodeRecord | undefined> {
    return this.#tree.byIdInSteps(workspace, id);
  }

  /** Whether the caller may read a state. */
  mayRead(workspace: string, state: NodeRecord): boolean {
    return this.#access.mayRead(workspace, state);
  }

  /** Whether the caller may read a state with all of its properties, as it must be able to for restoring it. */
  showsWhole(workspace: string, state: NodeRecord): boolean {
    const access = this.#access;
    return access.together(
      () => access.mayRead(workspace, state) && access.shownFields(workspace, state).isAll,
    );
  }
}

/**
 * Finds the revision that a RESTORE names. `HEAD~n` and `branch~n` count the node's own revisions.
 *
 * @param own the branch that runs the statement
 * @throws {ServiceError} `VALIDATION_FAILED` for a node with fewer revisions; `REVISION_NOT_FOUND`,
 *   `INVALID_REVISION_NUMBER`; `BRANCH_NOT_FOUND`; `NODE_NOT_FOUND` for a node that the other branch does not show
 * @see docs/interface/sql-tree.md#restore
 */
export function* restoredMoment(
  change: ChangeContext,
  own: BranchTables,
  node: RestoredNode,
  named: RestoredRevision,
): Generator<undefined, RestoredMoment> {
  const { edit } = change;
  if (named.kind === 'revision') {
    const at = readableRevision(edit.turn, parseRevision(revisionText(textOf(change, named.revision))));
    return new RestoredMoment(at, edit.access, new PastNodeReader(edit.turn, at));
  }
  const branch = named.branch === undefined ? own : yield* own.other(named.branch);
  const access = branch === own ? edit.access : new NodeAccess(branch.context, branch.reader);
  const name = named.branch ?? 'HEAD';
  const { id } = node.record.header;
  if (branch !== own) yield* requireShown(branch, access, node, name);
  const history = { reader: branch.reader, workspace: node.workspace, id, at: branch.moment };
  const { count, revision } = yield* ownRevision(history, named.distance, edit.turn.budget);
  if (revision === undefined) throw tooFewRevisions(node, count, `${name}~${named.distance}`, named.distance);
  return new RestoredMoment(revision, access, treeAt(branch.reader, revision, edit.revision));
}

/** The tree at a revision. What the running command has written is the present state. */
function treeAt(
  reader: TableReader,
  revision: Revision,
  running: string,
): Pick<PastNodeReader, 'byIdInSteps'> {
  const isRunning = formatRevision(revision) === running;
  return isRunning ? new HeadNodeReader(reader) : new PastNodeReader(reader, revision);
}

/** Refuses a node that the caller may not read on another branch. @throws {ServiceError} `NODE_NOT_FOUND` */
function* requireShown(
  { moment, reader }: BranchTables,
  access: NodeAccess,
  { place, record, workspace }: RestoredNode,
  name: string,
): Generator<undefined, void> {
  const tree = moment === undefined ? new HeadNodeReader(reader) : new PastNodeReader(reader, moment);
  const there = yield* tree.byIdInSteps(workspace, record.header.id);
  if (there !== undefined && access.mayRead(workspace, there)) return;
  throw new ServiceError('NODE_NOT_FOUND', `${missing('Node', place).message} on branch '${name}'`);
}

function tooFewRevisions(
  { record }: RestoredNode,
  count: number,
  named: string,
  distance: number,
): ServiceError {
  const [has, back] = [plural(count), plural(distance)];
  const text = `Node '${record.path}' only has ${has}, cannot go back ${back} (${named})`;
  return new ServiceError('VALIDATION_FAILED', text, { field: 'revision' });
}

function plural(count: number): string {
  return `${count} ${count === 1 ? 'revision' : 'revisions'}`;
}

/** A bare number is the first revision of a millisecond, as in a condition on `__revision`. */
function revisionText(text: string): string {
  return /^\d+$/.test(text) ? `${text}-0` : text;
}
