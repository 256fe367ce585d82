import { comparatorOf } from '#runtime/sql-values/ordering/comparator.ts';
import type { SqlType } from '#runtime/sql-values/sql-type.ts';
import type { SqlValue } from '#runtime/sql-values/sql-value.ts';
import type { CompiledAggregate } from '../compiled-aggregate.ts';

/** An aggregate that takes rows in at the end, and out at the start, of a frame that moves. */
export interface SlidingAggregate {
  /** Takes in a row behind all others. @param place of the row in its partition */
  add(place: number, args: readonly SqlValue[]): void;
  /** Takes out the first row. */
  remove(place: number, args: readonly SqlValue[]): void;
  /** The result for the rows that are in. */
  result(): SqlValue;
}

/**
 * An aggregate in the form that takes rows out again.
 *
 * @returns undefined: it has none. Sums of doubles have none either: what is added and taken away again leaves rounding errors
 */
export function slidingAggregate({
  argTypes,
  function: taken,
}: CompiledAggregate): SlidingAggregate | undefined {
  const [type] = argTypes;
  switch (taken.name) {
    case 'COUNT':
      return new SlidingCount();
    case 'MIN':
    case 'MAX':
      return type === undefined ? undefined : new SlidingExtreme(type, taken.name === 'MIN');
    case 'SUM':
    case 'AVG':
      return type?.name === 'int' || type?.name === 'bigint' ? new SlidingSum(taken) : undefined;
    default:
      return undefined;
  }
}

class SlidingCount implements SlidingAggregate {
  #count = 0;

  add(): void {
    this.#count += 1;
  }

  remove(): void {
    this.#count -= 1;
  }

  result(): SqlValue {
    return BigInt(this.#count);
  }
}

/** Sums and averages of integers. */
class SlidingSum implements SlidingAggregate {
  readonly #function: CompiledAggregate['function'];
  #count = 0;
  #sum = 0n;

  constructor(sum: CompiledAggregate['function']) {
    this.#function = sum;
  }

  add(_place: number, [value]: readonly SqlValue[]): void {
    this.#count += 1;
    this.#sum += BigInt(value as number | bigint);
  }

  remove(_place: number, [value]: readonly SqlValue[]): void {
    this.#count -= 1;
    this.#sum -= BigInt(value as number | bigint);
  }

  /** The aggregate itself says what the sum of no rows is, and refuses one that is out of range. */
  result(): SqlValue {
    if (this.#function.name === 'AVG') return this.#count === 0 ? null : Number(this.#sum) / this.#count;
    const sum = this.#function.start();
    if (this.#count > 0) sum.add([this.#sum]);
    return sum.result();
  }
}

/** The least or greatest value: keeps only rows that no later one makes irrelevant, so the first of them has it. */
class SlidingExtreme implements SlidingAggregate {
  readonly #isBetter: (a: SqlValue, b: SqlValue) => boolean;
  #places: number[] = [];
  #values: SqlValue[] = [];
  /** Position of the first one that is still in. */
  #first = 0;

  constructor(type: SqlType, isLeast: boolean) {
    const compare = comparatorOf(type);
    this.#isBetter = isLeast ? (a, b) => compare(a, b) < 0 : (a, b) => compare(a, b) > 0;
  }

  add(place: number, [value]: readonly SqlValue[]): void {
    while (
      this.#values.length > this.#first &&
      this.#isBetter(value as SqlValue, this.#values.at(-1) as SqlValue)
    ) {
      this.#values.pop();
      this.#places.pop();
    }
    this.#values.push(value as SqlValue);
    this.#places.push(place);
  }

  remove(place: number): void {
    if (this.#places[this.#first] !== place) return;
    this.#first += 1;
    if (this.#first < 64 || this.#first * 2 < this.#places.length) return;
    this.#places = this.#places.slice(this.#first);
    this.#values = this.#values.slice(this.#first);
    this.#first = 0;
  }

  result(): SqlValue {
    return this.#first < this.#values.length ? (this.#values[this.#first] as SqlValue) : null;
  }
}
