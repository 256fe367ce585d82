import type { Turn } from '#runtime/commit/behaviour.ts';
import { readConsumer } from '#runtime/feed/consumer-store.ts';
import { AFTER_END, END } from '#runtime/shard/binary-key.ts';
import { BranchTable } from '#runtime/shard/key-layout.ts';
import { rowsInBatches } from '#runtime/shard/rows-in-batches.ts';
import { decodeProjectionValue, encodeProjectionValue } from './projection-value.ts';
import type { Range, Row, TableReader } from '#runtime/shard/shard.ts';

/** Rows removed between two yields. */
const ROWS_PER_REST = 64;

const everything: Range = { start: '', end: '\u00ff' };

/** The rows of one projection. Their keys are binary strings without the name of the projection. */
export class ProjectionRows {
  readonly #reader: TableReader;
  readonly #prefix: string;

  constructor(reader: TableReader, name: string) {
    this.#reader = reader;
    this.#prefix = name + END;
  }

  /** The value of a key. @throws {ServiceError} `DATA_CORRUPTED` */
  get(key: string): Uint8Array | undefined {
    const whole = this.#prefix + key;
    const stored = this.#reader.get(BranchTable.projections, whole);
    return stored === undefined ? undefined : decodeProjectionValue(whole, stored);
  }

  /** Rows of a range, in order; throws `DATA_CORRUPTED`. No range is open between batches of them, so the caller may be suspended at any row. */
  *range({ end, start }: Range): Generator<Row, void> {
    const range = { start: this.#prefix + start, end: this.#prefix + end };
    for (const { key, value } of rowsInBatches(this.#reader, BranchTable.projections, range))
      yield { key: key.slice(this.#prefix.length), value: decodeProjectionValue(key, value) };
  }

  /** Stores the value of a key; undefined removes it. @param turn the turn that these rows are read with */
  set(turn: Turn, key: string, value: Uint8Array | undefined): void {
    const whole = this.#prefix + key;
    if (value === undefined) turn.remove(BranchTable.projections, whole);
    else turn.put(BranchTable.projections, whole, encodeProjectionValue(whole, value));
  }
}

/** Removes rows of a projection. @param most the most rows @returns their number; fewer than `most`: no more are left */
export function* removeProjectionRows(turn: Turn, name: string, most: number): Generator<undefined, number> {
  const range = { start: name + END, end: name + AFTER_END };
  let removed = 0;
  for (const { key } of rowsInBatches(turn, BranchTable.projections, range, most)) {
    turn.remove(BranchTable.projections, key);
    removed += 1;
    if (removed % ROWS_PER_REST === 0) yield;
  }
  return removed;
}

/**
 * Removes rows of projections that the branch does not have, as after a fork: its copy has those of its source.
 *
 * @param most the most rows
 * @returns their number; fewer than `most`: no more are left
 */
export function* removeStrayRows(turn: Turn, most: number): Generator<undefined, number> {
  let removed = 0;
  for (let start = everything.start; removed < most; ) {
    const name = nameFrom(turn, start);
    if (name === undefined) break;
    if (readConsumer(turn, name) === undefined)
      removed += yield* removeProjectionRows(turn, name, most - removed);
    start = name + AFTER_END;
  }
  return removed;
}

/** The name of the first projection with rows behind a key. */
function nameFrom(reader: TableReader, start: string): string | undefined {
  for (const { key } of reader.range(BranchTable.projections, { ...everything, start }))
    return key.slice(0, key.indexOf(END));
  return undefined;
}
