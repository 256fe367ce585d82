import type { Execution } from '#runtime/sql-exec/execution.ts';
import type { Evaluate } from '#runtime/sql-exec/expressions/evaluate.ts';
import type { Row } from '#runtime/sql-exec/operator.ts';
import type { BestKeys } from './best-keys.ts';
import type { RowsInPlace } from './node-finder.ts';
import type { StoredValues } from './stored-values.ts';

/** Estimated nanoseconds to make a row where its node is stored, besides what its slots take. */
const ROW_WORK = 150;

/** Estimated nanoseconds for a byte whose checksum is verified. */
const VERIFIED_BYTE_WORK = 0.5;

/** A row without slots: of a statement that counts rows. */
const emptyRow: Row = Object.freeze([]);

/** What rows in place show, and which of them are made. */
export interface InPlaceSetup
  extends Pick<RowsInPlace, 'areTranslated' | 'areRelated' | 'isHiding' | 'isWhole' | 'isVerified'> {
  readonly slots: readonly Evaluate<StoredValues>[];
  /** Whether the slots of a row can be read; undefined: those of every row. */
  readonly isReady: ((values: StoredValues) => boolean) | undefined;
  /** Leaves out rows that cannot be among the first of an order; undefined: all are made. */
  readonly best: BestKeys | undefined;
}

/** Makes rows of nodes where they are stored, and collects them. */
export class CollectedRows implements RowsInPlace {
  readonly areTranslated: boolean;
  readonly areRelated: boolean;
  readonly isHiding: boolean;
  readonly isWhole: boolean;
  readonly isVerified: boolean;
  /** The rows that were made; whoever collects them replaces the array. */
  rows: Row[] = [];
  /** Bytes of the records that the rows were made of. */
  bytes = 0;
  /** Number of rows with which the scan yields. */
  most = Number.POSITIVE_INFINITY;
  readonly #execution: Execution;
  readonly #isReady: InPlaceSetup['isReady'];
  readonly #best: BestKeys | undefined;
  readonly #make: (values: StoredValues) => Row;

  constructor(execution: Execution, setup: InPlaceSetup) {
    this.#execution = execution;
    this.areTranslated = setup.areTranslated;
    this.areRelated = setup.areRelated;
    this.isHiding = setup.isHiding;
    this.isWhole = setup.isWhole;
    this.isVerified = setup.isVerified;
    this.#isReady = setup.isReady;
    this.#best = setup.best;
    this.#make = rowMaker(setup.slots);
  }

  get isFull(): boolean {
    return this.rows.length >= this.most;
  }

  wants(values: StoredValues): boolean {
    return this.#best === undefined || this.#best.offer(values);
  }

  canTake(values: StoredValues): boolean {
    return this.#isReady === undefined || this.#isReady(values);
  }

  take(values: StoredValues, bytes: number): void {
    this.#execution.spend(ROW_WORK + (this.isVerified ? bytes * VERIFIED_BYTE_WORK : 0));
    this.rows.push(this.#make(values));
    this.bytes += bytes;
  }

  /** Frees what it keeps. */
  close(): void {
    this.#best?.close();
  }
}

/** Makes a row of slots. The usual numbers of slots need no loop. */
function rowMaker(slots: readonly Evaluate<StoredValues>[]): (values: StoredValues) => Row {
  const [first, second, third] = slots;
  if (first === undefined) return () => emptyRow;
  if (second === undefined) return (values) => [first(values)];
  if (third === undefined) return (values) => [first(values), second(values)];
  if (slots.length === 3) return (values) => [first(values), second(values), third(values)];
  return (values) => slots.map((slot) => slot(values));
}
