import type { SqlType } from '#runtime/sql-values/sql-type.ts';
import type { SqlValue } from '#runtime/sql-values/sql-value.ts';
import type { Execution } from '../../execution.ts';
import { ConstantSet } from '../../expressions/membership.ts';
import type { Operator, Row } from '../../operator.ts';
import type { TableLookup } from '../../ports.ts';
import { type Batches, GeneratedOperator } from '../generated-operator.ts';
import type { RowExpression } from '../row-expression.ts';
import { ROW_WORK } from '../row-memory.ts';

/** How a source finds its rows by keys, or reads them all. */
export interface LookupMeans {
  readonly lookup: Pick<TableLookup, 'isMeasured' | 'keyCost' | 'keyRows' | 'keysMax' | 'open'>;
  /** Opens a source of all rows, among which those of the keys are. */
  readonly scan: () => Operator;
  /** About how long all rows take, in nanoseconds. */
  readonly scanCost: number;
  /** The value of a row that is compared with the keys, and the type as which both have keys of a hash table. */
  readonly keyOf: RowExpression;
  readonly type: SqlType;
}

/** What look-ups did. */
export interface LookupCounts {
  /** Keys that were looked up. */
  lookups: number;
  /** How often all rows were read instead. */
  scans: number;
}

/**
 * Keys of the first batch where a key may have many rows. The work that it took tells what the others would take, so that no
 * more than this batch is lost when the index tells rows apart badly.
 */
const FIRST_KEYS = 8;

/** By so much batches grow. */
const GROWTH = 4;

/** Estimated bytes of a key in a list. */
const KEY_BYTES = 8;

/**
 * The rows that equal one of some keys, each once: they are looked up where that is cheaper, and otherwise read with all others.
 * Then there may be rows of other values among them, so who reads them compares them again.
 *
 * A row is never given twice: of those that are read after some keys were looked up, the rows of these keys are left out.
 */
export class LookupOperator extends GeneratedOperator {
  readonly #means: LookupMeans;
  readonly #keys: () => Generator<undefined, readonly SqlValue[] | undefined>;
  readonly #counts: LookupCounts;
  #source: Operator | undefined;

  /**
   * @param keys distinct values, none NULL; undefined: too many, or not known. It is called once, when the first row is wanted
   * @param counts is changed while rows are read
   */
  constructor(
    execution: Execution,
    means: LookupMeans,
    keys: () => Generator<undefined, readonly SqlValue[] | undefined>,
    counts: LookupCounts,
  ) {
    super(execution, []);
    this.#means = means;
    this.#keys = keys;
    this.#counts = counts;
  }

  override close(): void {
    this.#source?.close();
    this.#source = undefined;
    super.close();
  }

  protected *batches(): Batches {
    const keys = yield* this.#keys();
    const { lookup, scanCost } = this.#means;
    if (keys === undefined || keys.length * lookup.keyCost > scanCost) return yield* this.#scan([]);
    this.keep(KEY_BYTES * keys.length);
    const done = yield* this.#lookUp(keys);
    if (done < keys.length) yield* this.#scan(keys.slice(0, done));
  }

  /** @returns how many keys were looked up: all, unless it turned out that reading all rows is better for the rest */
  *#lookUp(keys: readonly SqlValue[]): Generator<readonly Row[] | undefined, number> {
    const { lookup, scanCost } = this.#means;
    let count = lookup.keyRows > 1 ? Math.min(FIRST_KEYS, lookup.keysMax) : lookup.keysMax;
    let done = 0;
    let spent = 0;
    while (done < keys.length) {
      const expected = done === 0 ? 0 : (spent / done) * (keys.length - done);
      if (lookup.isMeasured && expected > scanCost) return done;
      const before = this.execution.budget.work;
      const batch = keys.slice(done, done + count);
      const source = yield* lookup.open(batch, scanCost);
      spent += this.execution.budget.work - before;
      if (source === undefined) return done;
      this.#counts.lookups += batch.length;
      spent += yield* this.#read(source);
      done += batch.length;
      count = Math.min(count * GROWTH, lookup.keysMax);
    }
    return done;
  }

  /** Hands on all rows of a source. @returns the work that it took */
  *#read(source: Operator): Generator<readonly Row[] | undefined, number> {
    let spent = 0;
    this.#source = source;
    for (;;) {
      const before = this.execution.budget.work;
      const rows = yield* source.next();
      spent += this.execution.budget.work - before;
      if (rows === undefined) break;
      yield rows;
    }
    source.close();
    this.#source = undefined;
    return spent;
  }

  /** All rows but those of some keys. */
  *#scan(done: readonly SqlValue[]): Batches {
    this.#counts.scans += 1;
    const { keyOf, scan, type } = this.#means;
    if (done.length === 0) {
      yield* this.#read(scan());
      return;
    }
    const known = new ConstantSet(type, this.execution);
    for (const key of done) known.add(key);
    const source = scan();
    this.#source = source;
    for (;;) {
      const rows = yield* source.next();
      if (rows === undefined) break;
      const others: Row[] = [];
      for (const row of rows) {
        this.execution.spend(ROW_WORK);
        const key = keyOf(row);
        if (key !== null && !known.has(key)) others.push(row);
        if (this.execution.isDue) yield this.pause();
      }
      if (others.length > 0) yield others;
    }
    source.close();
    this.#source = undefined;
  }
}
