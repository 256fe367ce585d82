import { assert } from '#runtime/base/assert.ts';
import type { QueryContext } from '#runtime/commit/behaviour.ts';
import {
  compareRevisions,
  decodeRevisionDescending,
  formatRevision,
  parseRevision,
  REVISION_BYTES,
  type Revision,
} from '#runtime/content/revision.ts';
import { BranchTable, nodeVersionsUpTo } from '#runtime/shard/key-layout.ts';
import { LargeValue } from '#runtime/shard/large-value.ts';
import { valueInSteps } from '#runtime/shard/value-in-steps.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { HeadNodeReader } from '#runtime/tree/node-reader.ts';
import { type NodeRecord, recordInSteps } from '#runtime/tree/record/node-record.ts';
import { readBranchHead, readRevision } from '#runtime/tree/revision-store.ts';
import { StateAt } from '#runtime/tree/state-at.ts';
import { storedRowsInBatches } from '#runtime/shard/rows-in-batches.ts';
import type { BranchState } from '../branch-state.ts';
import { ChangeSight, shownMessage } from './change-sight.ts';
import { withKnownNode } from './known-node.ts';
import { answerScan, silently } from '../long-answer.ts';
import type { JsonAnswer, ReadHistory } from '../messages.ts';

/** One past state of a node: the revision that wrote it, and the record; undefined for a deletion. */
interface PastState {
  readonly revision: string;
  readonly record: NodeRecord | undefined;
}

/**
 * Every revision that wrote a node, newest first, whether or not its type is auditable.
 *
 * @see messages.ts, ReadHistory; docs/interface/revisions.md#history
 */
export function readHistory(
  state: BranchState,
  context: QueryContext,
  query: ReadHistory,
): JsonAnswer | Promise<JsonAnswer> {
  const { at, workspace } = query;
  const most = query.limit === undefined ? Number.POSITIVE_INFINITY : Math.max(Math.trunc(query.limit), 0);
  return withKnownNode(state, context, query, ({ header: { id }, record }) =>
    answerScan(
      context,
      (reader) => historyText(context, reader, statesOf(reader, workspace, id, at, most)),
      // A large state is not read again in the step that read it.
      record === undefined,
    ),
  );
}

function* historyText(
  context: QueryContext,
  reader: TableReader,
  states: Iterable<PastState | undefined>,
): Generator<string, void> {
  const sight = new ChangeSight(context, reader);
  let opening = '[';
  for (const state of states) {
    if (state === undefined) {
      yield '';
      continue;
    }
    const { record, revision } = state;
    const made = readRevision(reader, parseRevision(revision));
    const entry = {
      revision,
      updated_at: record?.updatedAt ?? made?.timestamp ?? null,
      updated_by: record?.updatedBy ?? made?.actor ?? null,
      deleted: record === undefined,
      message: made === undefined ? null : shownMessage(made, yield* silently(sight.extentOf(made))),
      is_system: made?.isSystem ?? false,
    };
    yield opening + JSON.stringify(entry);
    opening = ',';
  }
  yield opening === '[' ? '[]' : ']';
}

/** Yields undefined where the work may pause. */
function* statesOf(
  reader: TableReader,
  workspace: string,
  id: string,
  at: Revision | undefined,
  most: number,
): Generator<PastState | undefined, void> {
  const { head, tip } = readBranchHead(reader);
  const moment = at ?? head;
  const state = new StateAt(reader, moment);
  const isPlain = state.intervals.length === 1 && compareRevisions(moment, tip) === 0;
  let left = most;
  let present = yield* presentState(reader, workspace, id, state);
  // After the head was moved, some versions belong to other lines, and one may be the current state again.
  const range = nodeVersionsUpTo(workspace, id, moment);
  const rows = storedRowsInBatches(reader, BranchTable.nodeVersions, range, isPlain ? left : undefined);
  for (const { key, value } of rows) {
    const written = decodeRevisionDescending(key, key.length - REVISION_BYTES);
    if (!state.belongs(written)) continue;
    const order = present === undefined ? 1 : compareRevisions(written, parseRevision(present.revision));
    if (present !== undefined && order <= 0) {
      if (left <= 0) return;
      yield present;
      left -= 1;
      present = undefined;
      if (order === 0) continue;
    }
    if (left <= 0) return;
    // By its key: where the reader has gone over to another snapshot, a large value may be stored anew.
    const bytes =
      value instanceof LargeValue ? yield* valueInSteps(reader, BranchTable.nodeVersions, key) : value;
    assert(bytes !== undefined, 'what a branch wrote stays readable');
    yield {
      revision: formatRevision(written),
      record: bytes.length === 0 ? undefined : yield* recordInSteps(bytes),
    };
    left -= 1;
  }
  if (present !== undefined && left > 0) yield present;
}

/** The state in the head tables, if it belongs to the moment. */
function* presentState(
  reader: TableReader,
  workspace: string,
  id: string,
  state: StateAt,
): Generator<undefined, PastState | undefined> {
  const record = yield* new HeadNodeReader(reader).byIdInSteps(workspace, id);
  if (record === undefined || !state.belongs(parseRevision(record.revision))) return undefined;
  return { revision: record.revision, record };
}
