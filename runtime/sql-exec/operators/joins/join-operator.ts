import type { SqlValue } from '#runtime/sql-values/sql-value.ts';
import type { Execution } from '../../execution.ts';
import type { Operator, Row } from '../../operator.ts';
import { BATCH_ROWS } from '../generated-operator.ts';
import { ROW_WORK } from '../row-memory.ts';
import { JoinSide } from './join-side.ts';

/** Two rows that may belong together. There is one object for all pairs of a join, because most pairs are no rows. */
export interface JoinPair {
  left: Row;
  right: Row;
}

/** What the kinds of joins have in common. */
export interface JoinShape {
  readonly left: Operator;
  readonly right: Operator;
  /** Slots of a row of the left side. */
  readonly leftWidth: number;
  readonly rightWidth: number;
  /** Whether the left side is kept in memory, and the right one is read row by row; otherwise the other way round. */
  readonly keepsLeft: boolean;
  /** Whether rows of the left side without a partner come out, with NULLs for the right side. */
  readonly preservesLeft: boolean;
  readonly preservesRight: boolean;
  /** Conditions on a pair; all must be TRUE. */
  readonly on: readonly ((pair: JoinPair) => SqlValue)[];
}

/** Estimated nanoseconds for a pair that is looked at. */
export const PAIR_WORK = 40;
/** Estimated nanoseconds of making a row of two. */
export const JOINED_WORK = 500;
/** The same for each of its slots. */
export const SLOT_WORK = 5;

/**
 * A join that keeps one side in memory, and looks for the partners of each row of the other side in it. A row that comes out
 * has the slots of the left side, then those of the right one.
 *
 * Which side is kept is independent of the side that is preserved: the kept rows have marks.
 */
export abstract class JoinOperator implements Operator {
  protected readonly execution: Execution;
  protected readonly kept: JoinSide;
  protected readonly shape: JoinShape;
  readonly #read: Operator;
  readonly #pair: JoinPair = { left: [], right: [] };
  readonly #noLeft: Row;
  readonly #noRight: Row;
  #phase: 'start' | 'pairs' | 'unmatched' | 'end' = 'start';
  #batch: readonly Row[] = [];
  #position = 0;
  /** Where to go on with the candidates of the current row. */
  #candidates: readonly number[] | undefined;
  #candidate = 0;
  #isMatched = false;

  constructor(execution: Execution, shape: JoinShape) {
    this.execution = execution;
    this.shape = shape;
    this.kept = new JoinSide(execution, shape.keepsLeft ? shape.left : shape.right);
    this.#read = shape.keepsLeft ? shape.right : shape.left;
    this.#noLeft = new Array<null>(shape.leftWidth).fill(null);
    this.#noRight = new Array<null>(shape.rightWidth).fill(null);
  }

  *next(): Generator<undefined, readonly Row[] | undefined> {
    const { shape } = this;
    if (this.#phase === 'start') {
      yield* this.keep();
      const needsPartner = !(shape.keepsLeft ? shape.preservesRight : shape.preservesLeft);
      this.#phase = this.kept.rows.length === 0 && needsPartner ? 'end' : 'pairs';
    }
    if (this.#phase === 'pairs') {
      const rows = yield* this.#pairs();
      if (rows !== undefined) return rows;
      this.#read.close();
      this.#position = 0;
      this.#phase = (shape.keepsLeft ? shape.preservesLeft : shape.preservesRight) ? 'unmatched' : 'end';
    }
    if (this.#phase === 'unmatched') {
      const rows = yield* this.#unmatched();
      if (rows !== undefined) return rows;
    }
    this.close();
    return undefined;
  }

  close(): void {
    this.#phase = 'end';
    this.#batch = [];
    this.#candidates = undefined;
    this.kept.close();
    this.#read.close();
  }

  /** Reads the side that is kept. */
  protected abstract keep(): Generator<undefined, void>;

  /** Positions of the kept rows that may be partners of a row of the other side. */
  protected abstract candidates(row: Row): readonly number[];

  *#pairs(): Generator<undefined, readonly Row[] | undefined> {
    const made: Row[] = [];
    for (;;) {
      if (this.#position >= this.#batch.length) {
        // what is there is handed on before the next wait for the input
        if (made.length > 0) return made;
        const batch = yield* this.#read.next();
        if (batch === undefined) return undefined;
        this.#batch = batch;
        this.#position = 0;
      }
      const row = this.#batch[this.#position]!;
      if (yield* this.#partnersOf(row, made)) this.#position += 1;
      if (made.length >= BATCH_ROWS) return made;
    }
  }

  /** @returns whether all partners of the row were found; otherwise the batch is full */
  *#partnersOf(row: Row, made: Row[]): Generator<undefined, boolean> {
    const { shape } = this;
    if (this.#candidates === undefined) {
      this.execution.spend(ROW_WORK);
      this.#candidates = this.candidates(row);
      this.#candidate = 0;
      this.#isMatched = false;
    }
    while (this.#candidate < this.#candidates.length) {
      const position = this.#candidates[this.#candidate]!;
      this.#candidate += 1;
      this.execution.spend(PAIR_WORK);
      if (this.#isPair(row, position)) {
        made.push(this.#joined(row, this.kept.rows[position]!));
        this.kept.mark(position);
        this.#isMatched = true;
      }
      if (this.execution.isDue) {
        this.execution.pausing();
        yield undefined;
      }
      if (made.length >= BATCH_ROWS) return false;
    }
    this.#candidates = undefined;
    const isPreserved = shape.keepsLeft ? shape.preservesRight : shape.preservesLeft;
    if (isPreserved && !this.#isMatched) {
      made.push(this.#joined(row, shape.keepsLeft ? this.#noLeft : this.#noRight));
    }
    if (this.execution.isDue) {
      this.execution.pausing();
      yield undefined;
    }
    return true;
  }

  *#unmatched(): Generator<undefined, readonly Row[] | undefined> {
    const { rows } = this.kept;
    const none = this.shape.keepsLeft ? this.#noRight : this.#noLeft;
    const made: Row[] = [];
    while (this.#position < rows.length && made.length < BATCH_ROWS) {
      this.execution.spend(ROW_WORK);
      if (!this.kept.isMarked(this.#position)) made.push(this.#joined(none, rows[this.#position]!));
      this.#position += 1;
      if (!this.execution.isDue) continue;
      this.execution.pausing();
      yield undefined;
    }
    return made.length === 0 ? undefined : made;
  }

  #isPair(row: Row, position: number): boolean {
    const pair = this.#pair;
    const kept = this.kept.rows[position]!;
    pair.left = this.shape.keepsLeft ? kept : row;
    pair.right = this.shape.keepsLeft ? row : kept;
    for (const condition of this.shape.on) {
      if (condition(pair) !== true) return false;
    }
    return true;
  }

  #joined(read: Row, kept: Row): Row {
    const [left, right] = this.shape.keepsLeft ? [kept, read] : [read, kept];
    this.execution.spend(JOINED_WORK + SLOT_WORK * (left.length + right.length));
    // twice as fast as spreading both into a new array
    return left.concat(right);
  }
}
