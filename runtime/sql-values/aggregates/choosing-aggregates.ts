import { invalid } from '#runtime/errors/service-error.ts';
import { comparatorOf } from '../ordering/comparator.ts';
import { valueBytes } from '../ordering/value-bytes.ts';
import type { Accumulator } from '../scalar-function.ts';
import type { SqlType } from '../sql-type.ts';
import type { SqlValue } from '../sql-value.ts';
import { booleanType, textType } from '../types/basic-types.ts';
import { typeText } from '../types/type-names.ts';
import type { AggregateDefinition } from './aggregate-definition.ts';

class Extreme implements Accumulator {
  readonly #sign: number;
  readonly #compare: (a: SqlValue, b: SqlValue) => number;
  #best: SqlValue = null;
  /** Of the largest value so far: what was kept once is counted until the end. */
  #bytes = 0;

  constructor(sign: number, type: SqlType) {
    this.#sign = sign;
    this.#compare = comparatorOf(type);
  }

  add([value]: readonly SqlValue[]): number {
    const best = this.#best;
    if (best !== null && this.#sign * this.#compare(value!, best) <= 0) return 0;
    this.#best = value!;
    const grown = Math.max(0, valueBytes(value!) - this.#bytes);
    this.#bytes += grown;
    return grown;
  }

  result(): SqlValue {
    return this.#best;
  }
}

/** @param sign 1: the largest, -1: the smallest */
function extreme(name: string, sign: number): AggregateDefinition {
  return {
    name,
    least: 1,
    most: 1,
    resolve: ([argument]) => {
      const type = argument!.name === 'unknown' ? textType : argument!;
      return {
        name,
        parameters: [type],
        result: type,
        skipsNulls: true,
        start: () => new Extreme(sign, type),
      };
    },
  };
}

/** @param deciding the value that decides the result; without it the result is the other one */
function logical(name: string, deciding: boolean): AggregateDefinition {
  return {
    name,
    least: 1,
    most: 1,
    resolve: ([argument]) => {
      if (argument!.name !== 'boolean' && argument!.name !== 'unknown')
        throw invalid(`${name}() requires boolean argument, got ${typeText(argument!)}`);
      return {
        name,
        parameters: [booleanType],
        result: booleanType,
        skipsNulls: true,
        start: () => {
          let result: boolean | null = null;
          return {
            add: ([value]) => {
              if (result !== deciding) result = value as boolean;
              return 0;
            },
            result: () => result,
          };
        },
      };
    },
  };
}

/** Aggregates that choose one of the values. */
export const choosingAggregates: readonly AggregateDefinition[] = [
  extreme('MIN', -1),
  extreme('MAX', 1),
  logical('BOOL_AND', false),
  logical('EVERY', false),
  logical('BOOL_OR', true),
];
