import { assert } from '#runtime/base/assert.ts';
import type { QueryContext } from '#runtime/commit/behaviour.ts';
import { ROOT_ID } from '#runtime/content/content-node.ts';
import { decodeRevisionDescending, REVISION_BYTES, type Revision } from '#runtime/content/revision.ts';
import { nodeNotFound } from '#runtime/errors/service-error.ts';
import { storedText } from '#runtime/shard/binary-key.ts';
import { BranchTable, nodeVersionsUpTo, pathVersionsUpTo } from '#runtime/shard/key-layout.ts';
import { LargeValue } from '#runtime/shard/large-value.ts';
import { valueInSteps } from '#runtime/shard/value-in-steps.ts';
import { storedRowsInBatches } from '#runtime/shard/rows-in-batches.ts';
import type { Range, TableReader } from '#runtime/shard/shard.ts';
import { type FoundNode, findNode, foundNode } from '#runtime/tree/found-node.ts';
import { type NodeRecord, recordInSteps } from '#runtime/tree/record/node-record.ts';
import { readBranchHead } from '#runtime/tree/revision-store.ts';
import type { BranchState } from '../branch-state.ts';
import { settle } from '../long-answer.ts';
import { NodeAccess } from '../reads/node-access.ts';
import type { ReadAudit, ReadHistory } from '../messages.ts';
import { Moment, restReader } from '#runtime/scan/moment.ts';
import { StateAt } from '#runtime/tree/state-at.ts';

/** The state in which a past node is looked up: the tree at a moment and the versions before it. */
interface Past {
  readonly view: TableReader;
  readonly state: Moment;
  readonly moment: Revision;
  /** Tells the revisions of the moment from those of other lines and those of the source made after the fork. */
  readonly lineage: StateAt;
}

/**
 * Answers what is about one node that exists or once existed, see {@link findKnownNode}. Usually at once; later if several
 * states of it are large.
 */
export function withKnownNode<T>(
  state: BranchState,
  context: QueryContext,
  query: ReadHistory | ReadAudit,
  answer: (found: FoundNode) => T,
): T | Promise<T> {
  const found = settle(context, (view) => findKnownNode(state, context, view, query), 'moving');
  return found instanceof Promise ? found.then(answer) : answer(found);
}

/**
 * A node that exists or once existed, for history and audit. A path names the node that is there now, or else the last
 * one that was there. Access is decided by the current path of the node, or by its last one.
 *
 * @param at the moment to read at; absent: the head
 * @returns the newest state that is not a deletion; yields between two large states that are read
 * @throws {ServiceError} `NODE_NOT_FOUND`, also when it may not be read; `WORKSPACE_NOT_FOUND`
 */
function* findKnownNode(
  state: BranchState,
  context: QueryContext,
  view: TableReader,
  { at, place, workspace }: ReadHistory | ReadAudit,
): Generator<undefined, FoundNode> {
  state.workspace(workspace);
  const moment = at ?? readBranchHead(view).head;
  const past: Past = { view, state: new Moment(view, at), moment, lineage: new StateAt(view, moment) };
  const id = 'id' in place ? place.id : yield* lastIdAt(past, workspace, place.path);
  const last = id === undefined ? undefined : yield* lastState(past, workspace, id);
  if (last === undefined) throw nodeNotFound(place);
  const access = new NodeAccess(context, view);
  // The error names the node as the caller did and does not reveal its current path.
  if (!access.readsAll(workspace) && !access.mayRead(workspace, yield* wholeState(past, workspace, last)))
    throw nodeNotFound(place);
  return last;
}

/**
 * The last state of a node up to a revision that is not a deletion, whether it may be read or not.
 *
 * @returns yields between two large states that are read
 */
export function* stateUpTo(
  view: TableReader,
  workspace: string,
  id: string,
  at: Revision,
): Generator<undefined, NodeRecord | undefined> {
  const past: Past = { view, state: new Moment(view, at), moment: at, lineage: new StateAt(view, at) };
  const last = yield* lastState(past, workspace, id);
  return last === undefined ? undefined : yield* wholeState(past, workspace, last);
}

/** A state that was found, with its properties. */
function* wholeState(
  past: Past,
  workspace: string,
  { header, record }: FoundNode,
): Generator<undefined, NodeRecord> {
  if (record !== undefined) return record;
  const present = yield* past.state.tree.byIdInSteps(workspace, header.id);
  if (present !== undefined) return present;
  const earlier = nodeVersionsUpTo(workspace, header.id, past.moment);
  const value = yield* lastValue(past, BranchTable.nodeVersions, earlier);
  assert(value !== undefined, 'what was found stays readable');
  return yield* recordInSteps(value);
}

function* lastIdAt(past: Past, workspace: string, path: string): Generator<undefined, string | undefined> {
  const present = past.state.tree.idAt(workspace, path);
  if (present !== undefined) return present === ROOT_ID ? undefined : present;
  const earlier = pathVersionsUpTo(workspace, path, past.moment);
  const value = yield* lastValue(past, BranchTable.pathVersions, earlier);
  return value === undefined ? undefined : storedText(value);
}

function* lastState(past: Past, workspace: string, id: string): Generator<undefined, FoundNode | undefined> {
  const present = yield* findNode(past.state.tree, workspace, id);
  if (present !== undefined) return present;
  const earlier = nodeVersionsUpTo(workspace, id, past.moment);
  const value = yield* lastValue(past, BranchTable.nodeVersions, earlier);
  return value === undefined ? undefined : foundNode(yield* recordInSteps(value));
}

/** The newest version of a key that is not a deletion. */
function* lastValue(
  { lineage, view }: Past,
  table: number,
  range: Range,
): Generator<undefined, Uint8Array | undefined> {
  // Versions of other lines come between them, which may be large.
  for (const { key, value } of storedRowsInBatches(view, table, range)) {
    restReader(view);
    yield;
    if (value.length === 0) continue;
    if (lineage.belongs(decodeRevisionDescending(key, key.length - REVISION_BYTES)))
      // By its key: where the reader has gone over to another snapshot, a large value may be stored anew.
      return value instanceof LargeValue ? yield* valueInSteps(view, table, key) : value;
  }
  return undefined;
}
