import type { QueryContext } from '#runtime/commit/behaviour.ts';
import { textBytes } from '#runtime/shard/binary-key.ts';
import { BranchTable, underParts } from '#runtime/shard/key-layout.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { readAuditEntry } from '#runtime/tree/audit-store.ts';
import { rowsInBatches } from './batched-rows.ts';
import type { BranchState } from './branch-state.ts';
import { requireKnownNode } from './known-node.ts';
import { answerText } from './long-answer.ts';
import type { JsonAnswer, ReadAudit } from './messages.ts';

/**
 * The audit entries of a node, newest first. Only writes of nodes whose type was auditable at the time left any,
 * and those stay when the type stops being so: a log that shrinks proves nothing.
 *
 * @see messages.ts, ReadAudit; Supplement 12, audit entry
 */
export function readAudit(state: BranchState, context: QueryContext, query: ReadAudit): JsonAnswer {
  const { workspace } = query;
  const { id } = requireKnownNode(state, context, workspace, query.place);
  const most = query.limit === undefined ? Number.POSITIVE_INFINITY : Math.max(Math.trunc(query.limit), 0);
  return answerText(context, (reader) => auditText(reader, workspace, id, most));
}

function* auditText(
  reader: TableReader,
  workspace: string,
  id: string,
  most: number,
): Generator<string, void> {
  const range = { ...underParts(workspace, textBytes(id)), reverse: true };
  let opening = '[';
  for (const { value } of rowsInBatches(reader, BranchTable.audit, range, most)) {
    yield opening + JSON.stringify(readAuditEntry(value));
    opening = ',';
  }
  yield opening === '[' ? '[]' : ']';
}
