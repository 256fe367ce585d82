import { invalid } from '#runtime/errors/service-error.ts';
import type { BoundQuantifiedQuery } from '#runtime/sql-plan/bound/bound-statement.ts';
import { commonKeyType } from '#runtime/sql-values/ordering/common-key-type.ts';
import { type Comparator, comparatorOf } from '#runtime/sql-values/ordering/comparator.ts';
import { valueBytes } from '#runtime/sql-values/ordering/value-bytes.ts';
import type { SqlValue } from '#runtime/sql-values/sql-value.ts';
import type { Execution } from '../execution.ts';
import { compareWithAll, ConstantSet } from '../expressions/membership.ts';
import type { Row } from '../operator.ts';

/** What is kept of the rows of a subquery. */
export interface SubqueryResult {
  /**
   * Takes in a row.
   *
   * @returns bytes that it has kept; undefined: no more rows are wanted
   */
  take(row: Row): number | undefined;
  /** The value of the expression. @param left what the rows are compared with; NULL if there is none */
  value(left: SqlValue): SqlValue;
  /** The distinct values of its rows without NULL; undefined: they were not kept, or there are too many. */
  values(): readonly SqlValue[] | undefined;
}

/** The value of the only column of the only row; NULL without a row. */
export class ScalarResult implements SubqueryResult {
  #rows = 0;
  #value: SqlValue = null;

  take(row: Row): number | undefined {
    this.#rows += 1;
    if (this.#rows > 1) throw invalid('more than one row returned by a subquery used as an expression');
    this.#value = row[0]!;
    return valueBytes(this.#value);
  }

  value(): SqlValue {
    return this.#value;
  }

  values(): readonly SqlValue[] {
    return this.#value === null ? [] : [this.#value];
  }
}

/** Whether there is a row. */
export class ExistsResult implements SubqueryResult {
  #exists = false;

  take(): undefined {
    this.#exists = true;
    return undefined;
  }

  value(): SqlValue {
    return this.#exists;
  }

  values(): undefined {
    return undefined;
  }
}

/** Estimated bytes of an entry of a set. */
const ENTRY_BYTES = 80;

/** How a comparison with all values of a column is decided without looking at each. */
type Shortcut = 'equality' | 'order' | 'none';

/** `x op ANY (query)`, `x op ALL (query)`. Equality is a look-up, and for an order the smallest or largest value decides. */
export class QuantifiedResult implements SubqueryResult {
  readonly #expression: BoundQuantifiedQuery;
  readonly #execution: Execution;
  readonly #set: ConstantSet;
  readonly #compare: Comparator;
  readonly #shortcut: Shortcut;
  readonly #values: SqlValue[] = [];
  readonly #valuesMax: number;
  #hasNull = false;
  #isEmpty = true;

  /** @param valuesMax of an equality: up to how many distinct values are kept, to look rows up by them */
  constructor(expression: BoundQuantifiedQuery, execution: Execution, valuesMax = 0) {
    this.#valuesMax = valuesMax;
    const [left = expression.left.type, right = left] = expression.function.parameters;
    const type = commonKeyType(left, right) ?? right;
    this.#expression = expression;
    this.#execution = execution;
    this.#set = new ConstantSet(type, execution);
    this.#compare = comparatorOf(type);
    this.#shortcut = shortcutOf(expression);
  }

  take([value]: Row): number | undefined {
    this.#isEmpty = false;
    if (value === undefined || value === null) {
      this.#hasNull = true;
      return 0;
    }
    if (this.#shortcut === 'order') {
      this.#takeExtreme(value);
      return 0;
    }
    if (!this.#set.add(value)) return 0;
    // One more tells that there are too many.
    const isKept =
      this.#shortcut === 'none' || (this.#valuesMax > 0 && this.#values.length <= this.#valuesMax);
    if (isKept) this.#values.push(value);
    return ENTRY_BYTES + valueBytes(value);
  }

  value(left: SqlValue): SqlValue {
    const { quantifier } = this.#expression;
    const otherwise = quantifier === 'all';
    if (this.#isEmpty) return otherwise;
    if (left === null) return null;
    const decisive = !otherwise;
    if (this.#shortcut === 'equality') {
      if (this.#set.has(left)) return true;
    } else {
      const compared = compareWithAll(
        this.#expression.function,
        quantifier,
        left,
        this.#values,
        this.#execution,
      );
      if (compared === decisive || compared === null) return compared;
    }
    return this.#hasNull ? null : otherwise;
  }

  values(): readonly SqlValue[] | undefined {
    const isKnown = this.#shortcut === 'equality' && this.#valuesMax > 0;
    return isKnown && this.#values.length <= this.#valuesMax ? this.#values : undefined;
  }

  /** Keeps the value that decides: `x < ANY` holds if x is below the largest one. */
  #takeExtreme(value: SqlValue): void {
    const { quantifier, function: compared } = this.#expression;
    const [kept] = this.#values;
    const wantsLargest = compared.name.startsWith('<') === (quantifier === 'any');
    if (kept === undefined || (wantsLargest ? 1 : -1) * this.#compare(value, kept!) > 0) {
      this.#values[0] = value;
    }
  }
}

function shortcutOf({ function: compared, quantifier }: BoundQuantifiedQuery): Shortcut {
  const [left, right] = compared.parameters;
  if (left === undefined || right === undefined || !compared.isStrict) return 'none';
  if (commonKeyType(left, right) === undefined) return 'none';
  if (compared.name === '=' && quantifier === 'any') return 'equality';
  return ['<', '<=', '>', '>='].includes(compared.name) ? 'order' : 'none';
}
