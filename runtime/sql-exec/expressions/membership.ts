import { assert } from '#runtime/base/assert.ts';
import type { BoundExpression } from '#runtime/sql-plan/bound/bound-statement.ts';
import { commonKeyType } from '#runtime/sql-values/ordering/common-key-type.ts';
import { rowKeyOf } from '#runtime/sql-values/ordering/hash-key.ts';
import type { ScalarFunction } from '#runtime/sql-values/scalar-function.ts';
import type { SqlType } from '#runtime/sql-values/sql-type.ts';
import type { SqlValue } from '#runtime/sql-values/sql-value.ts';
import type { Execution } from '../execution.ts';
import type { Evaluate } from './evaluate.ts';
import { keyWork } from './key-work.ts';

/** Estimated nanoseconds for each element that is compared, beside what its function takes. */
const ELEMENT_WORK = 50;

/** Constants to look a value up in: one look-up, however many there are. */
export class ConstantSet {
  readonly #key: (values: readonly SqlValue[]) => string;
  readonly #execution: Execution;
  readonly #keys = new Set<string>();
  #hasNull = false;

  constructor(type: SqlType, execution: Execution) {
    this.#key = rowKeyOf([type]);
    this.#execution = execution;
  }

  get size(): number {
    return this.#keys.size;
  }

  get hasNull(): boolean {
    return this.#hasNull;
  }

  /** @returns whether it was not there before */
  add(value: SqlValue): boolean {
    if (value === null) {
      const isNew = !this.#hasNull;
      this.#hasNull = true;
      return isNew;
    }
    const before = this.#keys.size;
    this.#keys.add(this.#keyOf(value));
    return this.#keys.size > before;
  }

  /** Whether a value that is not NULL equals one of them. */
  has(value: SqlValue): boolean {
    return this.#keys.has(this.#keyOf(value));
  }

  clear(): void {
    this.#keys.clear();
    this.#hasNull = false;
  }

  #keyOf(value: SqlValue): string {
    this.#execution.spendOnCall(keyWork(value));
    return this.#key([value]);
  }
}

/**
 * `x IN (a, b, …)`: TRUE if one equals it, else NULL if one is NULL, else FALSE. The constants are looked up before the other
 * items are evaluated.
 */
export function compileIn<R>(
  operand: Evaluate<R>,
  type: SqlType,
  items: readonly BoundExpression[],
  compile: (item: BoundExpression) => Evaluate<R>,
  execution: Execution,
): Evaluate<R> {
  if (items.length === 0) return () => false;
  const constants = new ConstantSet(type, execution);
  const others: Evaluate<R>[] = [];
  for (const item of items) {
    if (item.kind === 'constant') constants.add(item.value);
    else others.push(compile(item));
  }
  const keyOf = rowKeyOf([type]);
  return (row) => {
    const value = operand(row);
    if (value === null) return null;
    if (constants.size > 0 && constants.has(value)) return true;
    let hasNull = constants.hasNull;
    if (others.length === 0) return hasNull ? null : false;
    const key = keyOf([value]);
    for (const other of others) {
      const item = other(row);
      if (item === null) {
        hasNull = true;
        continue;
      }
      execution.spendOnCall(keyWork(item));
      if (keyOf([item]) === key) return true;
    }
    return hasNull ? null : false;
  };
}

/**
 * Compares a value with all of a list: `ANY` is the OR of the comparisons, `ALL` their AND.
 *
 * @throws {ServiceError} `REQUEST_TOO_EXPENSIVE` for a list that is too long to be compared in one row
 */
export function compareWithAll(
  compared: ScalarFunction,
  quantifier: 'any' | 'all',
  left: SqlValue,
  list: readonly SqlValue[],
  execution: Execution,
): SqlValue {
  const decisive = quantifier === 'any';
  let result: SqlValue = !decisive;
  for (const element of list) {
    const isNull = compared.isStrict && (left === null || element === null);
    execution.spendOnCall(ELEMENT_WORK + (isNull ? 0 : (compared.work?.([left, element]) ?? 0)));
    const value = isNull ? null : compared.evaluate(left, element);
    if (value === decisive) return decisive;
    if (value === null) result = null;
  }
  return result;
}

/** `x op ANY(array)` and `x op ALL(array)`. */
export function compileQuantified<R>(
  compared: ScalarFunction,
  quantifier: 'any' | 'all',
  left: Evaluate<R>,
  array: Evaluate<R>,
  execution: Execution,
): Evaluate<R> {
  return (row) => {
    const value = left(row);
    const list = array(row);
    if (list === null) return null;
    return compareWithAll(compared, quantifier, value, elementsOf(list), execution);
  };
}

/**
 * `x = ANY(array)` and `x <> ALL(array)` for a constant array: one look-up, however long it is.
 *
 * @returns undefined: it is another comparison
 */
export function compileLookup<R>(
  compared: ScalarFunction,
  quantifier: 'any' | 'all',
  left: Evaluate<R>,
  array: SqlValue,
  execution: Execution,
): Evaluate<R> | undefined {
  const isEquality = compared.name === '=' && quantifier === 'any';
  if (!isEquality && !(compared.name === '<>' && quantifier === 'all')) return undefined;
  const [leftType, elementType] = compared.parameters;
  if (leftType === undefined || elementType === undefined || !compared.isStrict) return undefined;
  const type = commonKeyType(leftType, elementType);
  if (type === undefined || array === null) return undefined;
  const elements = elementsOf(array);
  if (elements.length === 0) return () => !isEquality;
  const constants = new ConstantSet(type, execution);
  for (const element of elements) constants.add(element);
  return (row) => {
    const value = left(row);
    if (value === null) return null;
    if (constants.has(value)) return isEquality;
    return constants.hasNull ? null : !isEquality;
  };
}

function elementsOf(list: SqlValue): readonly SqlValue[] {
  assert(Array.isArray(list), 'a quantified comparison has a value that is no array');
  return list as readonly SqlValue[];
}
