import { type ExactNumber, compareNumbers, isNumber } from '#runtime/base/text/exact-number.ts';
import { compareTexts } from '#runtime/base/text/text-order.ts';
import { isJsonArray, isJsonObject, type JsonValue, ownValue } from '#runtime/content/values/json-value.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { placeAt } from '../key-path.ts';
import type {
  JsonPath,
  PathComparison,
  PathCondition,
  PathOperand,
  PathRange,
  PathStep,
  PathSteps,
} from './json-path-nodes.ts';

/**
 * Most values that one evaluation may look at. `$..*..*..*` has more results than any power of the number of steps
 * would bound, so they are counted. This many take about 5 ms.
 */
export const PATH_VISITS_MAX = 100_000;

/**
 * The values at a path. As in PostgreSQL's lax mode a key looks also into the items of an array, and a subscript takes
 * a value that is no array as an array of it alone.
 *
 * @returns those found; for a path that is a condition: true, false, or null when it is unknown
 * @throws {ServiceError} `REQUEST_TOO_EXPENSIVE` for more than {@link PATH_VISITS_MAX} visits
 */
export function valuesAtPath(root: JsonValue, path: JsonPath): readonly JsonValue[] {
  const evaluation = new Evaluation(root);
  if (path.kind === 'steps') return evaluation.values(path, root);
  return [evaluation.truth(path.condition, root) ?? null];
}

/** Whether a path finds a value; for a path that is a condition: whether it is true. As {@link valuesAtPath}. */
export function matchesPath(root: JsonValue, path: JsonPath): boolean {
  const values = valuesAtPath(root, path);
  return path.kind === 'steps' ? values.length > 0 : values[0] === true;
}

/** True, false, or unknown. */
type Truth = boolean | undefined;

class Evaluation {
  readonly #root: JsonValue;
  #left = PATH_VISITS_MAX;

  constructor(root: JsonValue) {
    this.#root = root;
  }

  #visit(count: number = 1): void {
    this.#left -= count;
    if (this.#left < 0)
      throw new ServiceError(
        'REQUEST_TOO_EXPENSIVE',
        `A JSONPath may look at ${PATH_VISITS_MAX} values of one JSON value at most`,
      );
  }

  values(path: PathSteps, current: JsonValue): readonly JsonValue[] {
    let values: readonly JsonValue[] = [path.isFromRoot ? this.#root : current];
    this.#visit();
    for (const step of path.steps) {
      const found: JsonValue[] = [];
      for (const value of values) this.#take(step, value, found);
      values = found;
    }
    return values;
  }

  #take(step: PathStep, value: JsonValue, found: JsonValue[]): void {
    this.#visit();
    switch (step.kind) {
      case 'key':
        for (const item of step.isExact ? [value] : this.#unwrapped(value)) {
          const member = isJsonObject(item) ? ownValue(item, step.key) : undefined;
          if (member !== undefined) found.push(member);
        }
        return;
      case 'every-key':
        for (const item of this.#unwrapped(value)) if (isJsonObject(item)) this.#takeMembers(item, found);
        return;
      case 'every-member':
        this.#takeMembers(value, found);
        return;
      case 'every-item':
        if (isJsonArray(value)) this.#takeMembers(value, found);
        else if (!step.isExact) found.push(value);
        return;
      case 'items':
        if (isJsonArray(value)) this.#takeItems(value, step.ranges, found);
        else if (!step.isExact) this.#takeItems([value], step.ranges, found);
        return;
      case 'descend':
        this.#descend(value, found);
        return;
      case 'filter':
        for (const item of step.isExact ? [value] : this.#unwrapped(value))
          if (this.truth(step.condition, item) === true) found.push(item);
        return;
    }
  }

  /** The items of an array, or a value that is none. */
  #unwrapped(value: JsonValue): readonly JsonValue[] {
    if (!isJsonArray(value)) return [value];
    this.#visit(value.length);
    return value;
  }

  #takeMembers(value: JsonValue, found: JsonValue[]): void {
    if (typeof value !== 'object' || value === null) return;
    const members = isJsonArray(value) ? value : Object.values(value);
    this.#visit(members.length);
    for (const member of members) found.push(member);
  }

  #takeItems(items: readonly JsonValue[], ranges: readonly PathRange[], found: JsonValue[]): void {
    for (const { from, to } of ranges) {
      if (from === to) {
        const place = placeAt(from, items.length);
        if (place !== undefined) found.push(items[place]!);
        continue;
      }
      const first = Math.max(0, from < 0 ? items.length + from : from);
      const last = Math.min(items.length - 1, to < 0 ? items.length + to : to);
      this.#visit(Math.max(0, last - first + 1));
      for (let place = first; place <= last; place += 1) found.push(items[place]!);
    }
  }

  #descend(value: JsonValue, found: JsonValue[]): void {
    this.#visit();
    found.push(value);
    if (typeof value !== 'object' || value === null) return;
    for (const member of isJsonArray(value) ? value : Object.values(value)) this.#descend(member, found);
  }

  truth(condition: PathCondition, current: JsonValue): Truth {
    this.#visit();
    switch (condition.kind) {
      case 'and':
        return this.#logic(condition.operands, current, false);
      case 'or':
        return this.#logic(condition.operands, current, true);
      case 'not': {
        const truth = this.truth(condition.operand, current);
        return truth === undefined ? undefined : !truth;
      }
      case 'exists':
        return this.values(condition.path, current).length > 0;
      case 'compare':
        return this.#anyPair(condition.left, condition.right, current, (left, right) =>
          compare(condition.comparison, left, right),
        );
      case 'starts-with':
        return this.#any(this.#operand(condition.operand, current), (value) =>
          typeof value === 'string' ? value.startsWith(condition.prefix) : undefined,
        );
    }
  }

  /** The operand that decides, else unknown when an operand is. */
  #logic(operands: readonly PathCondition[], current: JsonValue, deciding: boolean): Truth {
    let result: Truth = !deciding;
    for (const operand of operands) {
      const truth = this.truth(operand, current);
      if (truth === deciding) return deciding;
      if (truth === undefined) result = undefined;
    }
    return result;
  }

  #operand(operand: PathOperand, current: JsonValue): readonly JsonValue[] {
    if (operand.kind === 'literal') return [operand.value];
    return this.values(operand, current).flatMap((value) => this.#unwrapped(value));
  }

  #anyPair(
    left: PathOperand,
    right: PathOperand,
    current: JsonValue,
    test: (left: JsonValue, right: JsonValue) => Truth,
  ): Truth {
    const others = this.#operand(right, current);
    return this.#any(this.#operand(left, current), (value) =>
      this.#any(others, (other) => test(value, other)),
    );
  }

  /** Whether a test is true for a value; unknown when it is for none, but unknown for one. */
  #any(values: readonly JsonValue[], test: (value: JsonValue) => Truth): Truth {
    let result: Truth = false;
    for (const value of values) {
      this.#visit();
      const truth = test(value);
      if (truth === true) return true;
      if (truth === undefined) result = undefined;
    }
    return result;
  }
}

function compare(comparison: PathComparison, left: JsonValue, right: JsonValue): Truth {
  const order = orderOf(left, right);
  if (order === undefined) {
    // Null compares with anything, but equals only itself.
    if (left !== null && right !== null) return undefined;
    return comparison === '!=' ? left !== right : false;
  }
  switch (comparison) {
    case '==':
      return order === 0;
    case '!=':
      return order !== 0;
    case '<':
      return order < 0;
    case '<=':
      return order <= 0;
    case '>':
      return order > 0;
    case '>=':
      return order >= 0;
  }
}

/** @returns undefined for values of different types, arrays and objects */
function orderOf(left: JsonValue, right: JsonValue): number | undefined {
  if (left === null && right === null) return 0;
  if (isNumber(left) && isNumber(right)) return compareNumbers(left as ExactNumber, right as ExactNumber);
  if (typeof left === 'string' && typeof right === 'string') return compareTexts(left, right);
  if (typeof left === 'boolean' && typeof right === 'boolean') return Number(left) - Number(right);
  return undefined;
}
