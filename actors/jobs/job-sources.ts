import { CommonTable, type Turn } from '#runtime/commit/behaviour.ts';
import { AFTER_END, END, textBytes } from '#runtime/shard/binary-key.ts';
import { decodeJsonRow, encodeJsonRow } from '#runtime/shard/json-row.ts';
import type { TableReader } from '#runtime/shard/shard.ts';

/** Rows of the actors that may enqueue jobs, in the meta table of a jobs actor. */
const PREFIX = `source${END}`;

/** Keeps that an actor may enqueue jobs. */
export function noteSource(turn: Turn, actor: string): void {
  turn.put(CommonTable.meta, PREFIX + textBytes(actor), encodeJsonRow(actor));
}

/** Removes an actor that enqueues no more. */
export function forgetSource(turn: Turn, actor: string): void {
  turn.remove(CommonTable.meta, PREFIX + textBytes(actor));
}

/** The actors that may enqueue jobs: at most as many as the repository has branches. */
export function readSources(reader: TableReader): readonly string[] {
  const rows = [...reader.range(CommonTable.meta, { start: PREFIX, end: `source${AFTER_END}` })];
  return rows.map(({ value }) => decodeJsonRow(value) as string);
}
