import type { Comparator } from '#runtime/sql-values/ordering/comparator.ts';
import type { Execution } from '../../execution.ts';
import type { Operator, Row } from '../../operator.ts';
import { type Batches, BATCH_ROWS, GeneratedOperator } from '../generated-operator.ts';
import type { RowExpression } from '../row-expression.ts';
import { ROW_WORK, rowBytes } from '../row-memory.ts';
import { JOINED_WORK, type JoinPair, type JoinShape, PAIR_WORK, SLOT_WORK } from './join-operator.ts';

/** What the rows of both sides are in the ascending order of. */
export interface MergeKeys {
  readonly left: RowExpression;
  readonly right: RowExpression;
  /** Of the values of both; 0 exactly where they are equal. */
  readonly compare: Comparator;
}

/** A row of the right side with the key of the present group, and whether it has found a partner. */
interface GroupRow {
  readonly row: Row;
  isMatched: boolean;
}

/**
 * A join on equality of two sides that come in the order of their keys. Only the rows of the right side that have the present key
 * are kept. No key is NULL.
 */
export class MergeJoinOperator extends GeneratedOperator {
  readonly #shape: Omit<JoinShape, 'keepsLeft'>;
  readonly #keys: MergeKeys;
  readonly #left: Cursor;
  readonly #right: Cursor;
  readonly #pair: JoinPair = { left: [], right: [] };
  readonly #noLeft: Row;
  readonly #noRight: Row;
  #made: Row[] = [];

  constructor(execution: Execution, shape: Omit<JoinShape, 'keepsLeft'>, keys: MergeKeys) {
    super(execution, [shape.left, shape.right]);
    this.#shape = shape;
    this.#keys = keys;
    this.#left = new Cursor(shape.left);
    this.#right = new Cursor(shape.right);
    this.#noLeft = new Array<null>(shape.leftWidth).fill(null);
    this.#noRight = new Array<null>(shape.rightWidth).fill(null);
  }

  override close(): void {
    this.#made = [];
    super.close();
  }

  protected *batches(): Batches {
    const { preservesLeft, preservesRight } = this.#shape;
    for (;;) {
      const left = yield* this.#left.peek();
      const right = yield* this.#right.peek();
      if (left === undefined && (right === undefined || !preservesRight)) break;
      if (right === undefined && !preservesLeft) break;
      const order = this.#order(left, right);
      if (order === 0) {
        yield* this.#group(right as Row);
        continue;
      }
      this.execution.spend(ROW_WORK);
      if (order < 0) {
        this.#left.skip();
        if (preservesLeft) this.#make(left as Row, this.#noRight);
      } else {
        this.#right.skip();
        if (preservesRight) this.#make(this.#noLeft, right as Row);
      }
      yield* this.#rest();
    }
    if (this.#made.length > 0) yield this.#made;
  }

  /** Whether the next row is one of the left side (below 0), one of the right side (above 0), or a pair. A side that has ended is last. */
  #order(left: Row | undefined, right: Row | undefined): number {
    if (left === undefined) return 1;
    if (right === undefined) return -1;
    return this.#keys.compare(this.#keys.left(left)!, this.#keys.right(right)!);
  }

  /** All rows of both sides that have the key of a row of the right side. */
  *#group(first: Row): Batches {
    const key = this.#keys.right(first)!;
    const group: GroupRow[] = [];
    let bytes = 0;
    for (let row: Row | undefined = first; row !== undefined; row = yield* this.#right.peek()) {
      if (group.length > 0 && this.#keys.compare(key, this.#keys.right(row)!) !== 0) break;
      this.execution.spend(ROW_WORK);
      const kept = rowBytes(row);
      this.keep(kept);
      bytes += kept;
      group.push({ row, isMatched: false });
      this.#right.skip();
      yield* this.#rest();
    }
    for (let row = yield* this.#left.peek(); row !== undefined; row = yield* this.#left.peek()) {
      if (this.#keys.compare(this.#keys.left(row)!, key) !== 0) break;
      this.execution.spend(ROW_WORK);
      this.#left.skip();
      yield* this.#partners(row, group);
    }
    if (this.#shape.preservesRight) {
      for (const { isMatched, row } of group) {
        if (!isMatched) this.#make(this.#noLeft, row);
        yield* this.#rest();
      }
    }
    this.keep(-bytes);
  }

  *#partners(row: Row, group: readonly GroupRow[]): Batches {
    let isMatched = false;
    for (const partner of group) {
      this.execution.spend(PAIR_WORK);
      if (this.#isPair(row, partner.row)) {
        isMatched = true;
        partner.isMatched = true;
        this.#make(row, partner.row);
      }
      yield* this.#rest();
    }
    if (!isMatched && this.#shape.preservesLeft) this.#make(row, this.#noRight);
    yield* this.#rest();
  }

  #isPair(left: Row, right: Row): boolean {
    const pair = this.#pair;
    pair.left = left;
    pair.right = right;
    for (const condition of this.#shape.on) {
      if (condition(pair) !== true) return false;
    }
    return true;
  }

  #make(left: Row, right: Row): void {
    this.execution.spend(JOINED_WORK + SLOT_WORK * (left.length + right.length));
    this.#made.push(left.concat(right));
  }

  /** A full batch, and a pause where one is due. */
  *#rest(): Batches {
    if (this.#made.length >= BATCH_ROWS) {
      const made = this.#made;
      this.#made = [];
      yield made;
    }
    if (this.execution.isDue) yield this.pause();
  }
}

/** The next row of an input. */
class Cursor {
  readonly #input: Operator;
  #batch: readonly Row[] | undefined = [];
  #position = 0;

  constructor(input: Operator) {
    this.#input = input;
  }

  /** The row at which the cursor is; undefined at the end. */
  *peek(): Generator<undefined, Row | undefined> {
    while (this.#batch !== undefined && this.#position >= this.#batch.length) {
      this.#batch = yield* this.#input.next();
      this.#position = 0;
    }
    return this.#batch?.[this.#position];
  }

  /** Goes on to the next row. */
  skip(): void {
    this.#position += 1;
  }
}
