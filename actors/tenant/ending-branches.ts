import type { ActorId } from '#runtime/actor/ports.ts';
import { CommonTable, type Turn } from '#runtime/commit/behaviour.ts';
import { AFTER_END, END } from '#runtime/shard/binary-key.ts';
import { encodeJsonRow } from '#runtime/shard/json-row.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import {
  type BranchesEnding,
  ENDING_PAGE,
  type ForgetEnding,
  type ListEnding,
  type NoteEnding,
} from './messages.ts';

/** Rows of branches whose removal the consumers of their feeds were not told of, in the meta table. */
const PREFIX = `ending${END}`;

/** Whether a row of the meta table records such a branch. */
export function isEndingKey(key: string): boolean {
  return key.startsWith(PREFIX);
}

/** @see messages.ts, NoteEnding */
export function noteEnding(turn: Turn, { branches }: NoteEnding): void {
  for (const branch of branches) turn.put(CommonTable.meta, PREFIX + branch, encodeJsonRow(true));
  const event: BranchesEnding = { type: 'BranchesEnding', branches };
  turn.emit(event);
}

/** @see messages.ts, ForgetEnding */
export function forgetEnding(turn: Turn, { branches }: ForgetEnding): void {
  for (const branch of branches) turn.remove(CommonTable.meta, PREFIX + branch);
}

/** @see messages.ts, ListEnding */
export function listEnding(reader: TableReader, { after }: ListEnding): readonly ActorId[] {
  const start = after === undefined ? PREFIX : `${PREFIX}${after}\0`;
  const branches: ActorId[] = [];
  for (const { key } of reader.range(CommonTable.meta, { start, end: `ending${AFTER_END}` })) {
    branches.push(key.slice(PREFIX.length));
    if (branches.length === ENDING_PAGE) break;
  }
  return branches;
}
