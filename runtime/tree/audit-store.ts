import type { Turn } from '#runtime/commit/behaviour.ts';
import type { JsonObject } from '#runtime/content/values/json-value.ts';
import { decodeJsonRow, encodeJsonRow } from '#runtime/shard/json-row.ts';
import { auditKey, BranchTable } from '#runtime/shard/key-layout.ts';

/** Actions of the audit log. @see docs/interface/revisions.md#audit-log */
export type AuditAction =
  | 'Create'
  | 'Update'
  | 'UpdateProperty'
  | 'Delete'
  | 'Publish'
  | 'Unpublish'
  | 'Move'
  | 'Copy'
  | 'Rename'
  | 'Restore';

/** Who changed a node and how, in wire format. @see docs/interface/revisions.md#audit-log */
export interface AuditEntry {
  readonly id: string;
  readonly node_id: string;
  readonly path: string;
  readonly workspace: string;
  readonly user_id: string;
  readonly action: AuditAction;
  /** ISO 8601. */
  readonly timestamp: string;
  readonly details: JsonObject | null;
}

/** Stores an entry under the turn's revision. @param number of the entry within its revision */
export function writeAuditEntry(turn: Turn, number: number, entry: AuditEntry): void {
  const key = auditKey(entry.workspace, entry.node_id, turn.revision, number);
  turn.put(BranchTable.audit, key, encodeJsonRow(entry));
}

/** Reads the value of a row of the `audit` table. @throws {ServiceError} `DATA_CORRUPTED` */
export function readAuditEntry(bytes: Uint8Array): AuditEntry {
  return decodeJsonRow(bytes) as AuditEntry;
}
