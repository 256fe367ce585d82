import { invalid } from '#runtime/errors/service-error.ts';
import type { Accumulator } from '../scalar-function.ts';
import type { SqlType } from '../sql-type.ts';
import { bigintType, doubleType } from '../types/basic-types.ts';
import { requireBigint } from '../types/number-ranges.ts';
import { typeText } from '../types/type-names.ts';
import type { AggregateDefinition } from './aggregate-definition.ts';

const numeric: ReadonlySet<SqlType['name']> = new Set(['int', 'bigint', 'double']);

/** The type of a numeric argument. @throws {ServiceError} `VALIDATION_FAILED` for any other */
function numericType(name: string, type: SqlType): SqlType {
  if (type.name === 'unknown') return doubleType;
  if (!numeric.has(type.name)) throw invalid(`${name}() requires numeric argument, got ${typeText(type)}`);
  return type;
}

/** An aggregate of one numeric argument; rows where it is NULL do not count. */
function ofNumber(
  name: string,
  resultOf: (type: SqlType) => SqlType,
  start: (type: SqlType) => Accumulator,
): AggregateDefinition {
  return {
    name,
    least: 1,
    most: 1,
    resolve: ([argument]) => {
      const type = numericType(name, argument!);
      return {
        name,
        parameters: [type],
        result: resultOf(type),
        skipsNulls: true,
        start: () => start(type),
      };
    },
  };
}

/** A whole sum is in the range of BIGINT when it is read; on the way it may be beyond, as the order is not defined. */
class WholeSum implements Accumulator {
  #sum = 0n;
  /** What was added since, while it is exact: adding doubles is much cheaper. */
  #small = 0;
  #count = 0;

  add([value]: readonly unknown[]): number {
    this.#count += 1;
    if (typeof value === 'bigint') {
      this.#sum += value;
      return 0;
    }
    this.#small += value as number;
    if (Math.abs(this.#small) > 2 ** 50) this.#settle();
    return 0;
  }

  #settle(): void {
    this.#sum += BigInt(this.#small);
    this.#small = 0;
  }

  get count(): number {
    return this.#count;
  }

  get sum(): bigint {
    this.#settle();
    return this.#sum;
  }

  result(): bigint | null {
    return this.#count === 0 ? null : requireBigint(this.sum);
  }
}

class DoubleSum implements Accumulator {
  #sum = 0;
  #count = 0;

  add(args: readonly unknown[]): number {
    this.#sum += args[0] as number;
    this.#count += 1;
    return 0;
  }

  get count(): number {
    return this.#count;
  }

  get sum(): number {
    return this.#sum;
  }

  result(): number | null {
    return this.#count === 0 ? null : this.#sum;
  }
}

class Average implements Accumulator {
  readonly #sum: WholeSum | DoubleSum;

  constructor(type: SqlType) {
    this.#sum = type.name === 'double' ? new DoubleSum() : new WholeSum();
  }

  add(args: readonly unknown[]): number {
    return this.#sum.add(args);
  }

  result(): number | null {
    const { sum, count } = this.#sum;
    return count === 0 ? null : Number(sum) / count;
  }
}

/** The algorithm of Youngs and Cramer: sums of squares of large numbers would leave nothing of a small variance. */
class Spread implements Accumulator {
  readonly #isSample: boolean;
  readonly #isRoot: boolean;
  #count = 0;
  #sum = 0;
  #squares = 0;

  constructor(isSample: boolean, isRoot: boolean) {
    this.#isSample = isSample;
    this.#isRoot = isRoot;
  }

  add(args: readonly unknown[]): number {
    const value = Number(args[0]);
    this.#count += 1;
    this.#sum += value;
    if (this.#count > 1) {
      const deviation = value * this.#count - this.#sum;
      this.#squares += (deviation * deviation) / (this.#count * (this.#count - 1));
    } else if (!Number.isFinite(value)) {
      this.#squares = Number.NaN;
    }
    return 0;
  }

  result(): number | null {
    const divisor = this.#isSample ? this.#count - 1 : this.#count;
    if (divisor <= 0) return null;
    const variance = this.#squares / divisor;
    return this.#isRoot ? Math.sqrt(variance) : variance;
  }
}

function spread(name: string, isSample: boolean, isRoot: boolean): AggregateDefinition {
  return ofNumber(
    name,
    () => doubleType,
    () => new Spread(isSample, isRoot),
  );
}

/** Aggregates of numbers. */
export const numberAggregates: readonly AggregateDefinition[] = [
  ofNumber(
    'SUM',
    (type) => (type.name === 'double' ? doubleType : bigintType),
    (type) => (type.name === 'double' ? new DoubleSum() : new WholeSum()),
  ),
  ofNumber(
    'AVG',
    () => doubleType,
    (type) => new Average(type),
  ),
  spread('STDDEV', true, true),
  spread('STDDEV_SAMP', true, true),
  spread('STDDEV_POP', false, true),
  spread('VARIANCE', true, false),
  spread('VAR_SAMP', true, false),
  spread('VAR_POP', false, false),
];

/** The number of rows, or of those where an argument is not NULL. */
export const countAggregate: AggregateDefinition = {
  name: 'COUNT',
  least: 0,
  most: 1,
  resolve: (types) => ({
    name: 'COUNT',
    parameters: types,
    result: bigintType,
    skipsNulls: types.length > 0,
    start: () => {
      let count = 0;
      return {
        add: () => {
          count += 1;
          return 0;
        },
        result: () => BigInt(count),
      };
    },
  }),
};
