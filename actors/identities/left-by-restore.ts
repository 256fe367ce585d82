import type { StoredRow } from '#runtime/actor/copies/restored-row.ts';
import { CommonTable, type Turn } from '#runtime/commit/behaviour.ts';
import { everyKey } from '#runtime/check/check-rows.ts';
import { hasRow } from '#runtime/shard/has-row.ts';
import { encodeJsonRow } from '#runtime/shard/json-row.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { IdentitiesTable } from './identities-tables.ts';

/** Key in `meta` of a row that is there until the first command after a restore. */
const RESTORED_KEY = 'restored';

/** The row with which a restore begins. What it leaves when it is interrupted may be replaced by the next one. */
export function restoredMark(): StoredRow {
  return { table: CommonTable.meta, key: RESTORED_KEY, value: encodeJsonRow(true) };
}

/** Removes the mark of a restore: from now on there is something that a restore would lose. */
export function wasWritten(turn: Turn): void {
  if (hasRow(turn, CommonTable.meta, RESTORED_KEY)) turn.remove(CommonTable.meta, RESTORED_KEY);
}

/** @see messages.ts, IsReplaceable */
export function isReplaceable(reader: TableReader): boolean {
  if (hasRow(reader, CommonTable.meta, RESTORED_KEY)) return true;
  return [IdentitiesTable.identities, IdentitiesTable.settings].every((table) => {
    for (const _ of reader.range(table, everyKey)) return false;
    return true;
  });
}
