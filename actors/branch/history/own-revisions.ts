import {
  compareRevisions,
  decodeRevisionDescending,
  parseRevision,
  REVISION_BYTES,
  type Revision,
} from '#runtime/content/revision.ts';
import type { RequestBudget } from '#runtime/budget/request-budget.ts';
import { BranchTable, nodeVersionsUpTo } from '#runtime/shard/key-layout.ts';
import { storedRowsInBatches } from '#runtime/shard/rows-in-batches.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { HeadNodeReader } from '#runtime/tree/node-reader.ts';
import { readBranchHead } from '#runtime/tree/revision-store.ts';
import { StateAt } from '#runtime/tree/state-at.ts';

/** Estimated nanoseconds to look at one version of a node. */
const VERSION_WORK = 2_000;

/** A node of a branch, and the moment up to which it is looked at. */
interface OwnHistory {
  readonly reader: TableReader;
  readonly workspace: string;
  readonly id: string;
  /** Undefined: the head, and what a command has written so far. */
  readonly at: Revision | undefined;
}

/** A revision of a node, counted backwards. */
export interface CountedRevision {
  /** Undefined: the node has fewer revisions. */
  readonly revision: Revision | undefined;
  /** Revisions passed, including this one. */
  readonly count: number;
}

/**
 * The revision that wrote a node some revisions of its own ago. Deletions count, as they do in its history.
 *
 * @param distance 0: the last one
 * @returns yields where the work may pause
 */
export function* ownRevision(
  history: OwnHistory,
  distance: number,
  budget: RequestBudget,
): Generator<undefined, CountedRevision> {
  let count = 0;
  for (const revision of revisionsOf(history)) {
    yield;
    budget.spend(VERSION_WORK);
    if (revision === undefined) continue;
    count += 1;
    if (count > distance) return { revision, count };
  }
  return { revision: undefined, count };
}

/** The revisions that wrote a node, newest first; undefined where the work may pause. */
function* revisionsOf({ at, id, reader, workspace }: OwnHistory): Generator<Revision | undefined, void> {
  const moment = at ?? readBranchHead(reader).head;
  const state = new StateAt(reader, moment);
  let present = presentRevision(reader, workspace, id);
  if (present !== undefined) {
    // What the running command has written is newer than the head.
    const isUnrecorded = at === undefined && compareRevisions(present, moment) > 0;
    if (isUnrecorded) yield present;
    if (isUnrecorded || !state.belongs(present)) present = undefined;
  }
  // After the head was moved, the present state may be older than some versions, or one of them.
  for (const { key } of storedRowsInBatches(
    reader,
    BranchTable.nodeVersions,
    nodeVersionsUpTo(workspace, id, moment),
  )) {
    const written = decodeRevisionDescending(key, key.length - REVISION_BYTES);
    if (!state.belongs(written)) {
      yield undefined;
      continue;
    }
    const order = present === undefined ? 1 : compareRevisions(written, present);
    if (present !== undefined && order <= 0) {
      yield present;
      present = undefined;
    }
    if (order !== 0) yield written;
  }
  if (present !== undefined) yield present;
}

function presentRevision(reader: TableReader, workspace: string, id: string): Revision | undefined {
  const record = new HeadNodeReader(reader).byId(workspace, id);
  return record === undefined ? undefined : parseRevision(record.revision);
}
