import type { ConditionNode } from '../ports.ts';
import { tooLong } from '../ports.ts';
import { calculate, negate } from '../values/arithmetic.ts';
import { contentValue } from '../values/content-value.ts';
import { compare, isEqual } from '../values/equality.ts';
import { integerOf, isList, isObject, isTruthy, kindOf, type RelValue } from '../values/rel-value.ts';
import { type Evaluation, RELATES_WORK, STEP_WORK } from './evaluation.ts';
import { callerReaders, columnReaders, isCallerField, isColumn } from './roots.ts';
import type {
  CallTerm,
  ComparisonTerm,
  DynamicTerm,
  IndexTerm,
  JunctionTerm,
  MemberTerm,
  PropertyTerm,
  RelatesTerm,
  Term,
} from './term.ts';

/** Computes the value of a term. @throws {Fault} */
export type Evaluator = (evaluation: Evaluation) => RelValue;

/** Computes whether a term holds. @throws {Fault} */
export type Test = (evaluation: Evaluation) => boolean;

/** Compiles a term into a closure that computes its value. */
export function compileTerm(term: Term): Evaluator {
  const { at } = term;
  switch (term.kind) {
    case 'constant': {
      const { value } = term;
      return () => value;
    }
    case 'fault': {
      const { fault } = term;
      return () => {
        throw fault;
      };
    }
    case 'column': {
      const read = columnReaders[term.column];
      return (evaluation) => read(evaluation.node!);
    }
    case 'property':
      return compileProperty(term);
    case 'caller': {
      const read = callerReaders[term.field];
      return (evaluation) => read(evaluation.caller!);
    }
    case 'dynamic':
      return compileDynamic(term);
    case 'member':
      return compileMember(term);
    case 'index':
      return compileIndex(term);
    case 'call':
      return compileCall(term);
    case 'negate': {
      const of = compileTerm(term.of);
      return (evaluation) => {
        const value = of(evaluation);
        evaluation.at = at;
        return negate(evaluation, value);
      };
    }
    case 'arithmetic': {
      const { operator } = term;
      const left = compileTerm(term.left);
      const right = compileTerm(term.right);
      return (evaluation) => {
        const x = left(evaluation);
        const y = right(evaluation);
        evaluation.at = at;
        return calculate(evaluation, operator, x, y);
      };
    }
    case 'not':
    case 'comparison':
    case 'all':
    case 'any':
    case 'relates':
      return compileTest(term);
  }
}

/** Compiles a term into a closure that computes whether it holds. */
export function compileTest(term: Term): Test {
  switch (term.kind) {
    case 'not': {
      const of = compileTest(term.of);
      return (evaluation) => !of(evaluation);
    }
    case 'comparison':
      return compileComparison(term);
    case 'all':
    case 'any':
      return compileJunction(term);
    case 'relates':
      return compileRelates(term);
    default: {
      const value = compileTerm(term);
      return (evaluation) => isTruthy(value(evaluation));
    }
  }
}

function compileProperty({ name, isRequired, at }: PropertyTerm): Evaluator {
  return (evaluation) => {
    evaluation.at = at;
    return propertyOf(evaluation, evaluation.node!, name, isRequired);
  };
}

function propertyOf(
  evaluation: Evaluation,
  node: ConditionNode,
  name: string,
  isRequired: boolean,
): RelValue {
  evaluation.spend(STEP_WORK);
  const { reads, workLeft } = evaluation;
  const known = reads?.get(name);
  if (known !== undefined) {
    evaluation.spendAlone(known.work);
    return known.value;
  }
  const stored = node.property(name, workLeft);
  if (stored === tooLong) return evaluation.giveUpBefore();
  if (stored === undefined) return isRequired ? missingKey(evaluation, name) : null;
  const value = contentValue(evaluation, stored);
  reads?.set(name, { value, work: workLeft - evaluation.workLeft });
  return value;
}

function missingKey(evaluation: Evaluation, key: string): never {
  return evaluation.fail(`Nothing has the key '${key.slice(0, 40).toWellFormed()}' here`);
}

function compileDynamic({ root, index: term, at }: DynamicTerm): Evaluator {
  const index = compileTerm(term);
  return (evaluation) => {
    const key = index(evaluation);
    evaluation.at = at;
    if (typeof key !== 'string') return evaluation.fail(`Expected a name, not ${kindOf(key)}`);
    if (root === 'auth') {
      if (!isCallerField(key)) return missingKey(evaluation, key);
      return callerReaders[key](evaluation.caller!);
    }
    return isColumn(key)
      ? columnReaders[key](evaluation.node!)
      : propertyOf(evaluation, evaluation.node!, key, true);
  };
}

/** Null for null, for other values without members, and for an object without the key. */
function compileMember({ of: term, name }: MemberTerm): Evaluator {
  const of = compileTerm(term);
  return (evaluation) => {
    const value = of(evaluation);
    return isObject(value) && Object.hasOwn(value, name) ? value[name]! : null;
  };
}

function compileIndex({ of: ofTerm, index: indexTerm, at }: IndexTerm): Evaluator {
  const of = compileTerm(ofTerm);
  const index = compileTerm(indexTerm);
  return (evaluation) => {
    const value = of(evaluation);
    const key = index(evaluation);
    if (value === null) return null;
    evaluation.at = at;
    if (isList(value)) return itemOf(evaluation, value, key);
    if (!isObject(value)) return evaluation.fail(`${kindOf(value)} has no items`);
    if (typeof key !== 'string') return evaluation.fail(`Expected a key, not ${kindOf(key)}`);
    return Object.hasOwn(value, key) ? value[key]! : missingKey(evaluation, key);
  };
}

function itemOf(evaluation: Evaluation, list: readonly RelValue[], index: RelValue): RelValue {
  const place = integerOf(index);
  if (place === undefined) return evaluation.fail(`Expected an index, not ${kindOf(index)}`);
  if (place < 0n || place >= BigInt(list.length))
    return evaluation.fail(`The list has ${list.length} items, and none at ${place}`);
  return list[Number(place)]!;
}

/** Receiver and arguments are always evaluated; a method of null is null. */
function compileCall({ of: term, method, arguments: terms, at }: CallTerm): Evaluator {
  const of = compileTerm(term);
  const { apply } = method;
  const [first, second] = terms.map(compileTerm);
  return (evaluation) => {
    const value = of(evaluation);
    const a = first?.(evaluation);
    const b = second?.(evaluation);
    if (value === null) return null;
    evaluation.at = at;
    evaluation.spend(STEP_WORK);
    return apply(evaluation, value, a, b);
  };
}

function compileComparison({ operator, left: leftTerm, right: rightTerm, at }: ComparisonTerm): Test {
  const left = compileTerm(leftTerm);
  const right = compileTerm(rightTerm);
  if (operator === '==' || operator === '!=') {
    const isWanted = operator === '==';
    return (evaluation) => {
      const x = left(evaluation);
      const y = right(evaluation);
      evaluation.at = at;
      return isEqual(evaluation, x, y) === isWanted;
    };
  }
  const isOrdered = orders[operator];
  return (evaluation) => {
    const x = left(evaluation);
    const y = right(evaluation);
    evaluation.at = at;
    return isOrdered(compare(evaluation, x, y));
  };
}

const orders: Readonly<Record<'<' | '>' | '<=' | '>=', (order: number) => boolean>> = {
  '<': (order) => order < 0,
  '>': (order) => order > 0,
  '<=': (order) => order <= 0,
  '>=': (order) => order >= 0,
};

function compileJunction({ kind, items }: JunctionTerm): Test {
  const tests = items.map(compileTest);
  if (kind === 'all') {
    return (evaluation) => {
      for (const test of tests) if (!test(evaluation)) return false;
      return true;
    };
  }
  return (evaluation) => {
    for (const test of tests) if (test(evaluation)) return true;
    return false;
  };
}

function compileRelates(term: RelatesTerm): Test {
  const { types, depthMin, depthMax, direction, at } = term;
  const from = compileTerm(term.from);
  const to = compileTerm(term.to);
  return (evaluation) => {
    const source = from(evaluation);
    const target = to(evaluation);
    evaluation.at = at;
    if (typeof source !== 'string') return wrongId(evaluation, source);
    if (typeof target !== 'string') return wrongId(evaluation, target);
    if (evaluation.relations === undefined) return evaluation.fail('Relations cannot be read here');
    // Those who answer count what they do themselves.
    evaluation.spendAlone(RELATES_WORK);
    return (
      evaluation.relations.related(source, target, types, depthMin, depthMax, direction) ??
      evaluation.giveUp()
    );
  };
}

function wrongId(evaluation: Evaluation, value: RelValue): never {
  return evaluation.fail(`RELATES takes two ids, not ${kindOf(value)}`);
}
