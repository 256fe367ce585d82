import type { Timer } from '#runtime/base/time/clock.ts';
import type { QueryContext } from '#runtime/commit/behaviour.ts';
import { compareRevisions, type Revision } from '#runtime/content/revision.ts';
import type { MovingReader } from '#runtime/scan/moment.ts';
import type { StoredRow, StoredValue } from '#runtime/shard/large-value.ts';
import { peekedValue, storedRows, storedValue } from '#runtime/shard/value-in-steps.ts';
import { hasRow } from '#runtime/shard/has-row.ts';
import type { Range, Row, RowVisitor, ShardSnapshot, TableReader } from '#runtime/shard/shard.ts';
import { visitRows } from '#runtime/shard/visit-rows.ts';
import { readBranchHead } from '#runtime/tree/revision-store.ts';

/** How long a moving read keeps a snapshot before it goes over to a later one, in milliseconds. */
export const SNAPSHOT_MS_MAX = 2_000;

/** Whether a read shows one state also when it goes over to another snapshot, see {@link AnswerReader}. */
export type Movement = 'pinned' | 'moving';

/**
 * The reader of an answer: the view of the turn that began it, and from the first wait on a pinned snapshot of the same
 * state.
 *
 * A `moving` read keeps no snapshot for long. Where it is at rest, it releases the snapshot before it waits for its client,
 * and after {@link SNAPSHOT_MS_MAX} before it waits for its turn, and goes over to a later one when it goes on. It is at
 * rest when nothing that it read is used after the wait but what is the same in each snapshot: whole records and keys,
 * not large values that are still to be read. A read says so by {@link rest}, which holds until it reads again.
 */
export class AnswerReader implements MovingReader {
  begunAt: Revision | undefined;
  moves = 0;
  readonly #context: QueryContext;
  readonly #isMoving: boolean;
  #reader: TableReader;
  #snapshot: ShardSnapshot | undefined;
  /** The head of the last snapshot, after that was released. */
  #left: Revision | undefined;
  #timer: Timer | undefined;
  /** Whether the snapshot is so old that it is to be left. */
  #isDue = false;
  #isAtRest = false;
  #isWaiting = false;

  constructor(context: QueryContext, movement: Movement) {
    this.#context = context;
    this.#isMoving = movement === 'moving';
    this.#reader = context.view;
  }

  get(table: number, key: string): Uint8Array | undefined {
    this.#isAtRest = false;
    return this.#reader.get(table, key);
  }

  peek(table: number, key: string): StoredValue | undefined {
    this.#isAtRest = false;
    return peekedValue(this.#reader, table, key);
  }

  stored(table: number, key: string): StoredValue | undefined {
    this.#isAtRest = false;
    return storedValue(this.#reader, table, key);
  }

  piece(key: string): Uint8Array | undefined {
    this.#isAtRest = false;
    return this.#reader.piece?.(key);
  }

  has(table: number, key: string): boolean {
    this.#isAtRest = false;
    return hasRow(this.#reader, table, key);
  }

  range(table: number, range: Range): Iterable<Row> {
    this.#isAtRest = false;
    return this.#reader.range(table, range);
  }

  storedRange(table: number, range: Range): Iterable<StoredRow> {
    this.#isAtRest = false;
    return storedRows(this.#reader, table, range);
  }

  visit(table: number, range: Range, visitor: RowVisitor): void {
    this.#isAtRest = false;
    visitRows(this.#reader, table, range, visitor);
  }

  rest(): void {
    this.#isAtRest = this.#isMoving;
  }

  /**
   * Pins the state of the view, in the turn in which that was read.
   *
   * @throws {ServiceError} when all readers of the shard are taken
   */
  pin(): void {
    this.#snapshot = this.#context.pin();
    this.#reader = this.#snapshot;
    if (!this.#isMoving) return;
    this.#isDue = false;
    this.#timer = this.#context.clock.after(SNAPSHOT_MS_MAX, () => {
      this.#isDue = true;
      if (this.#isWaiting && this.#isAtRest) this.#leave();
    });
  }

  /** To be called after each step of a read that has pinned: leaves an old snapshot where the read is at rest. */
  refresh(): void {
    if (!this.#isDue || !this.#isAtRest) return;
    this.#leave();
    this.#return();
  }

  /** Waits for the turn of the read. The snapshot may be another one then. */
  async wait(wait: Promise<void>): Promise<void> {
    this.#isWaiting = true;
    try {
      await wait;
    } finally {
      this.#isWaiting = false;
    }
    this.#return();
  }

  /** Before a wait for the client, which may be long: releases the snapshot if the read is at rest. */
  suspend(): void {
    if (this.#isAtRest) this.#leave();
  }

  /** After {@link suspend}. */
  resume(): void {
    this.#return();
  }

  /** Ends the read. */
  close(): void {
    this.#timer?.cancel();
    this.#snapshot?.close();
    this.#snapshot = undefined;
  }

  #leave(): void {
    if (this.#snapshot === undefined) return;
    this.#left = readBranchHead(this.#snapshot).head;
    this.close();
  }

  /** Goes over to a state in which the branch may have another head. */
  #return(): void {
    const left = this.#left;
    if (left === undefined) return;
    this.#left = undefined;
    this.pin();
    this.moves += 1;
    if (compareRevisions(readBranchHead(this.#reader).head, left) !== 0) this.begunAt ??= left;
  }
}
