import type { Turn } from '#runtime/commit/behaviour.ts';
import { everyKey } from '#runtime/check/check-rows.ts';
import { readRecord } from '#runtime/commit/record-store.ts';
import { decodeJsonRow } from '#runtime/shard/json-row.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { dropRow, IdentitiesTable, putRow } from './identities-tables.ts';
import {
  type EndStatusChange,
  type ListStatusChanges,
  type NoteStatusChange,
  STATUS_CHANGES_PAGE,
  type StatusChange,
  type UserStatus,
  type UserStatusChanging,
} from './people-messages.ts';

const changing: UserStatusChanging = Object.freeze({ type: 'UserStatusChanging' });

/** Begins to carry a status to the user nodes of an identity. A change that is under way is replaced. */
export function beginStatusChange(turn: Turn, identityId: string, status: UserStatus): void {
  const change: StatusChange = { identityId, status, changeId: turn.newId(), after: null, done: 0 };
  putRow(turn, IdentitiesTable.statusChanges, change, identityId);
  turn.emit(changing);
}

/** @see people-messages.ts, NoteStatusChange */
export function noteStatusChange(
  turn: Turn,
  { after, changeId, done, identityId }: NoteStatusChange,
): boolean {
  const change = current(turn, identityId, changeId);
  if (change === undefined) return false;
  putRow(turn, IdentitiesTable.statusChanges, { ...change, after, done }, identityId);
  return true;
}

/** @see people-messages.ts, EndStatusChange */
export function endStatusChange(turn: Turn, { changeId, identityId }: EndStatusChange): boolean {
  if (current(turn, identityId, changeId) === undefined) return false;
  dropRow(turn, IdentitiesTable.statusChanges, identityId);
  return true;
}

/** @see people-messages.ts, ListStatusChanges */
export function listStatusChanges(
  reader: TableReader,
  { identityId }: ListStatusChanges,
): readonly StatusChange[] {
  if (identityId !== undefined) {
    const change = read(reader, identityId);
    return change === undefined ? [] : [change];
  }
  const changes: StatusChange[] = [];
  for (const { value } of reader.range(IdentitiesTable.statusChanges, everyKey)) {
    changes.push(decodeJsonRow(value) as StatusChange);
    if (changes.length === STATUS_CHANGES_PAGE) break;
  }
  return changes;
}

function current(turn: Turn, identityId: string, changeId: string): StatusChange | undefined {
  const change = read(turn, identityId);
  return change?.changeId === changeId ? change : undefined;
}

function read(reader: TableReader, identityId: string): StatusChange | undefined {
  return identityId === ''
    ? undefined
    : readRecord<StatusChange>(reader, IdentitiesTable.statusChanges, identityId);
}
