import { assert } from '#runtime/base/assert.ts';
import type { QueryContext } from '#runtime/commit/behaviour.ts';
import type { Revision } from '#runtime/content/revision.ts';
import { textBytes } from '#runtime/shard/binary-key.ts';
import { auditRevision, BranchTable, underParts } from '#runtime/shard/key-layout.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { restReader } from '#runtime/scan/moment.ts';
import { readAuditEntry } from '#runtime/tree/audit-store.ts';
import { readBranchHead } from '#runtime/tree/revision-store.ts';
import { ledgerFilter } from '#runtime/tree/state-at.ts';
import { rowsInBatches } from '#runtime/shard/rows-in-batches.ts';
import type { BranchState } from '../branch-state.ts';
import { AuditSight } from './audit-sight.ts';
import { stateUpTo, withKnownNode } from './known-node.ts';
import { answerScan, silently } from '../long-answer.ts';
import { readsWhole } from '../reads/node-access.ts';
import type { JsonAnswer, ReadAudit } from '../messages.ts';

/**
 * The audit entries of a node, newest first. Only writes of nodes whose type was auditable at the time made entries.
 * Entries stay when the type is no longer auditable: a log that shrinks proves nothing.
 *
 * @see messages.ts, ReadAudit; docs/interface/revisions.md#audit-log
 */
export function readAudit(
  state: BranchState,
  context: QueryContext,
  query: ReadAudit,
): JsonAnswer | Promise<JsonAnswer> {
  const { at, workspace } = query;
  const most = query.limit === undefined ? Number.POSITIVE_INFINITY : Math.max(Math.trunc(query.limit), 0);
  return withKnownNode(state, context, query, ({ header: { id } }) =>
    answerScan(context, (reader) => auditText(context, reader, workspace, id, at, most)),
  );
}

function* auditText(
  context: QueryContext,
  reader: TableReader,
  workspace: string,
  id: string,
  at: Revision | undefined,
  most: number,
): Generator<string, void> {
  const range = { ...underParts(workspace, textBytes(id)), reverse: true };
  const isShown = ledgerFilter(reader, at);
  const sight = yield* silently(auditSight(context, reader, workspace, id, at));
  let left = most;
  let opening = '[';
  for (const { key, value } of rowsInBatches(reader, BranchTable.audit, range)) {
    if (left <= 0) break;
    const entry = isShown(auditRevision(key)) ? readAuditEntry(value) : undefined;
    const shown = entry === undefined || sight === undefined ? entry : yield* silently(sight.shown(entry));
    if (shown !== undefined) {
      yield opening + JSON.stringify(shown);
      opening = ',';
      left -= 1;
    } else {
      restReader(reader);
      yield '';
    }
  }
  yield opening === '[' ? '[]' : ']';
}

/** @returns undefined for a caller who reads everything of the workspace */
function* auditSight(
  context: QueryContext,
  reader: TableReader,
  workspace: string,
  id: string,
  at: Revision | undefined,
): Generator<undefined, AuditSight | undefined> {
  if (readsWhole(context.caller.policy, workspace)) return undefined;
  const last = yield* stateUpTo(reader, workspace, id, at ?? readBranchHead(reader).head);
  assert(last !== undefined, 'the node was found before');
  return new AuditSight(context, reader, workspace, last);
}
