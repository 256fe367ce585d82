import { Buffer } from 'node:buffer';
import { decidingTypes } from '#runtime/content/built-in/deciding-nodes.ts';
import { CommonTable, type Turn } from '#runtime/commit/behaviour.ts';
import { formatRevision } from '#runtime/content/revision.ts';
import { peekWhole } from '#runtime/shard/value-in-steps.ts';
import type { TableReader } from '#runtime/shard/shard.ts';

/** Key of the meta row with the revision of the newest write that may change what callers may do. */
const STAMP_KEY = 'access';

/**
 * Identifies the state of the users, roles, groups and settings of a branch: while it is the same, they are. Reading it
 * costs one look-up, so that everything derived from these nodes can be kept without a time limit.
 *
 * @returns empty when there were never any
 */
export function accessStamp(reader: TableReader): string {
  const bytes = peekWhole(reader, CommonTable.meta, STAMP_KEY);
  if (bytes === undefined) return '';
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).latin1Slice(0, bytes.length);
}

/** Changes the stamp if a node is one that decides. To be called for each state of a node that is written or removed. */
export function noteDeciding(turn: Turn, workspace: string, nodeType: string): void {
  if (!decidingTypes(workspace).has(nodeType)) return;
  turn.put(CommonTable.meta, STAMP_KEY, Buffer.from(formatRevision(turn.revision), 'latin1'));
}
