import type { RequestBudget } from '#runtime/budget/request-budget.ts';
import { isJsonArray, type JsonValue, jsonEquals } from '#runtime/content/values/json-value.ts';
import { includesInSlices } from '#runtime/content/values/text-search.ts';
import type { Condition, Term } from './dsl-filter.ts';
import { type DslRow, holds, termHolds } from './dsl-row.ts';

/**
 * Up to this product of node bytes and filter weight, a match runs without a pause; at worst it takes a millisecond.
 */
const SMALL_PRODUCT = 1_000_000;

/**
 * Nanoseconds up to which a filter is matched with a row where it is stored, and what one comparison takes at worst: that of
 * a nested property. More than a hundred rows follow each other without a pause.
 */
const QUICK_IN_PLACE = 30_000;
const TERM_IN_PLACE = 3_000;

/** Estimated nanoseconds to read a node, and to read each byte of it. */
const NODE_WORK = 5_000;
const BYTE_WORK = 2;

/** Estimated nanoseconds to find the value of one comparison and to compare it. */
const TERM_WORK = 200;

/** Estimated nanoseconds to compare two values, without their content. */
const COMPARISON_WORK = 10;

/** Items of an array compared between two pauses. */
const ITEMS_PER_SLICE = 8_192;

/** The worst-case cost of a filter for one node. */
export interface FilterWeight {
  /** Its comparisons and combinations. */
  readonly terms: number;
  /**
   * For each byte of the node, in comparisons: texts of `like` and `contains` are compared at every character, arrays and
   * objects of `in` with the whole value.
   */
  readonly perByte: number;
}

/** Weighs a filter. */
export function filterWeight(condition: Condition): FilterWeight {
  if (condition.kind === 'not') return filterWeight(condition.part);
  if (condition.kind === 'term') return { terms: 1, perByte: 1 + comparedWhole(condition) };
  let terms = 1;
  let perByte = 1;
  for (const part of condition.parts) {
    const weight = filterWeight(part);
    terms += weight.terms;
    perByte += weight.perByte;
  }
  return { terms, perByte };
}

function comparedWhole(term: Term): number {
  if (term.operator === 'in') return term.others.length;
  return term.operator === 'like' || term.operator === 'contains' ? searchedLength(term.value) : 0;
}

function searchedLength(value: JsonValue): number {
  return typeof value === 'string' ? value.length : 0;
}

/**
 * Whether a filter is matched with the row of a node of so many bytes among many others without a pause: at worst in some ten
 * microseconds.
 */
export function isQuickInPlace({ perByte, terms }: FilterWeight, length: number): boolean {
  return terms * TERM_IN_PLACE + length * perByte <= QUICK_IN_PLACE;
}

/** Whether a filter is matched with a node of so many bytes without a pause. */
export function isQuick({ perByte }: FilterWeight, length: number): boolean {
  return length * perByte <= SMALL_PRODUCT;
}

/** Estimated nanoseconds to match a filter with a node of so many bytes. */
export function rowWork({ perByte, terms }: FilterWeight, length: number): number {
  const comparisons = Math.min(perByte, length);
  return NODE_WORK + length * BYTE_WORK + terms * TERM_WORK + comparisons * COMPARISON_WORK;
}

/**
 * Whether a filter holds for a node of any size.
 *
 * @param weight of the filter, see {@link filterWeight}
 * @param length of the node in bytes
 * @returns the answer; yields undefined where the work may pause
 * @throws {ServiceError} `REQUEST_TOO_EXPENSIVE`
 */
export function* matchesInSlices(
  filter: Condition,
  weight: FilterWeight,
  row: DslRow,
  length: number,
  budget: RequestBudget,
): Generator<undefined, boolean> {
  budget.spend(rowWork(weight, length));
  if (isQuick(weight, length)) return holds(filter, row);
  yield undefined;
  return yield* holdsInSlices(filter, row, length, budget);
}

function* holdsInSlices(
  condition: Condition,
  row: DslRow,
  length: number,
  budget: RequestBudget,
): Generator<undefined, boolean> {
  switch (condition.kind) {
    case 'and':
      for (const part of condition.parts)
        if (!(yield* holdsInSlices(part, row, length, budget))) return false;
      return true;
    case 'or':
      for (const part of condition.parts) if (yield* holdsInSlices(part, row, length, budget)) return true;
      return false;
    case 'not':
      return !(yield* holdsInSlices(condition.part, row, length, budget));
    case 'term': {
      // A property is decoded by the first comparison that uses it.
      const value = row.value(condition.field);
      yield undefined;
      return yield* termHoldsInSlices(condition, value, length, budget);
    }
  }
}

function* termHoldsInSlices(
  term: Term,
  value: JsonValue | undefined,
  length: number,
  budget: RequestBudget,
): Generator<undefined, boolean> {
  const { operator } = term;
  if (typeof value === 'string') {
    if (operator === 'like') return yield* includesInSlices(value, term.value, budget);
    if (operator === 'contains') {
      return typeof term.value === 'string' && (yield* includesInSlices(value, term.value, budget));
    }
  }
  if (operator === 'contains' && isJsonArray(value)) return yield* hasItem(value, term.value, budget);
  if (operator !== 'in') {
    if (typeof value === 'object') budget.spend(length);
    return termHolds(term, value);
  }
  if (typeof value !== 'object' || value === null) return termHolds(term, value);
  for (const item of term.others) {
    budget.spend(length);
    if (jsonEquals(value, item)) return true;
    yield undefined;
  }
  return false;
}

function* hasItem(
  list: readonly JsonValue[],
  wanted: JsonValue,
  budget: RequestBudget,
): Generator<undefined, boolean> {
  for (let from = 0; from < list.length; from += ITEMS_PER_SLICE) {
    const to = Math.min(from + ITEMS_PER_SLICE, list.length);
    budget.spend((to - from) * COMPARISON_WORK);
    for (let index = from; index < to; index += 1) if (jsonEquals(list[index]!, wanted)) return true;
    yield undefined;
  }
  return false;
}
