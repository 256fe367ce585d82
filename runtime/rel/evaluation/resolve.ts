import type { Caller } from '../ports.ts';
import type { Call, Expression, Index, Member } from '../syntax/expression.ts';
import { methodNames, methods } from '../values/methods.ts';
import { isTruthy, kindOf, type RelValue } from '../values/rel-value.ts';
import { compileTerm } from './compile-term.ts';
import { Evaluation, Fault, WORK_MAX } from './evaluation.ts';
import { callerFields, callerReaders, type ConditionColumn, isCallerField, isColumn } from './roots.ts';
import { operandsOf, type ConstantTerm, type FaultTerm, type Term } from './term.ts';

/**
 * Resolves the names of a condition and computes what is known.
 *
 * The term has the value of the condition for every node, and fails where the condition fails. Its message may be that of
 * another part that fails as well.
 *
 * @param caller whose values are known, and do not change; undefined: nobody's
 * @param workspace of all nodes that are asked about; undefined: of any
 */
export function resolve(expression: Expression, caller: Caller | undefined, workspace?: string): Term {
  return new Resolver(caller, workspace).term(expression);
}

class Resolver {
  readonly #caller: Caller | undefined;
  readonly #workspace: string | undefined;
  /** For constants. Those that take too much work are left to the evaluations, where they fail. */
  readonly #evaluation: Evaluation;

  constructor(caller: Caller | undefined, workspace: string | undefined) {
    this.#caller = caller;
    this.#workspace = workspace;
    this.#evaluation = new Evaluation(undefined, undefined, undefined, WORK_MAX);
  }

  term(expression: Expression): Term {
    const { at } = expression;
    switch (expression.kind) {
      case 'literal':
        return constant(expression.value, at);
      case 'root':
        return unusableRoot(expression.name, at);
      case 'member':
        return this.#member(expression);
      case 'index':
        return this.#index(expression);
      case 'call':
        return this.#call(expression);
      case 'not':
      case 'negate':
        return this.#computed({ kind: expression.kind, of: this.term(expression.of), at });
      case 'arithmetic':
      case 'comparison':
        return this.#computed({
          ...expression,
          left: this.term(expression.left),
          right: this.term(expression.right),
        } as Term);
      case 'all':
      case 'any':
        return junction(
          expression.kind,
          expression.items.map((item) => this.term(item)),
          at,
        );
      case 'relates': {
        const term = { ...expression, from: this.term(expression.from), to: this.term(expression.to) };
        return faultOf(term) ?? wrongId(term.from, at) ?? wrongId(term.to, at) ?? term;
      }
    }
  }

  #member({ of, name, at }: Member): Term {
    if (of.kind !== 'root') return this.#computed({ kind: 'member', of: this.term(of), name, at });
    switch (of.name) {
      case 'node':
        return isColumn(name) ? this.#column(name, at) : { kind: 'property', name, isRequired: false, at };
      case 'auth':
        return this.#callerValue(name, at);
      default:
        return unusableRoot(of.name, of.at);
    }
  }

  /** A value of the caller. There are no others, so a wrong name is a fault and not null. */
  #callerValue(name: string, at: number): Term {
    if (!isCallerField(name)) return unknownName(`Undefined variable: auth.${name}`, name, callerFields, at);
    if (this.#caller === undefined) return { kind: 'caller', field: name, at };
    return constant(callerReaders[name](this.#caller), at);
  }

  #index(expression: Index): Term {
    const { of, at } = expression;
    const index = this.term(expression.index);
    if (of.kind !== 'root') return this.#computed({ kind: 'index', of: this.term(of), index, at });
    if (of.name !== 'node' && of.name !== 'auth') return unusableRoot(of.name, of.at);
    if (index.kind === 'fault') return index;
    if (index.kind !== 'constant') return { kind: 'dynamic', root: of.name, index, at };
    const { value } = index;
    if (typeof value !== 'string') return fault(`Expected a name, not ${kindOf(value)}`, at);
    if (of.name === 'auth') return this.#callerValue(value, at);
    return isColumn(value)
      ? this.#column(value, at)
      : { kind: 'property', name: value, isRequired: true, at };
  }

  #column(column: ConditionColumn, at: number): Term {
    const isKnown = column === 'workspace' && this.#workspace !== undefined;
    return isKnown ? constant(this.#workspace as string, at) : { kind: 'column', column, at };
  }

  #call({ of, method: name, arguments: given, at }: Call): Term {
    const method = methods.get(name);
    if (method === undefined) return unknownName(`Unknown method: ${name}`, name, methodNames, at);
    const { argumentsMin, argumentsMax } = method;
    if (given.length < argumentsMin || given.length > argumentsMax)
      return fault(`${name}() takes ${countText(argumentsMin, argumentsMax)}, not ${given.length}`, at);
    return this.#computed({
      kind: 'call',
      of: this.term(of),
      method,
      arguments: given.map((argument) => this.term(argument)),
      at,
    });
  }

  /** A term all of whose operands are evaluated: it fails when one of them does, and is known when all of them are. */
  #computed(term: Term): Term {
    const failed = faultOf(term);
    if (failed !== undefined) return failed;
    if (!operandsOf(term).every(({ kind }) => kind === 'constant')) return term;
    try {
      return constant(compileTerm(term)(this.#evaluation), term.at);
    } catch (thrown) {
      if (!(thrown instanceof Fault)) throw thrown;
      return thrown.kind === 'work' ? term : faultTerm(thrown);
    }
  }
}

function constant(value: RelValue, at: number): ConstantTerm {
  return { kind: 'constant', value, at };
}

function fault(message: string, at: number): FaultTerm {
  return faultTerm(new Fault('evaluation', message, at));
}

function faultTerm(of: Fault): FaultTerm {
  return { kind: 'fault', fault: of, at: of.at };
}

function faultOf(term: Term): FaultTerm | undefined {
  return operandsOf(term).find((operand) => operand.kind === 'fault');
}

/** An operand of `RELATES` that is known to be no id. */
function wrongId(term: Term, at: number): FaultTerm | undefined {
  if (term.kind !== 'constant' || typeof term.value === 'string') return undefined;
  return fault(`RELATES takes two ids, not ${kindOf(term.value)}`, at);
}

/**
 * Items that are always evaluated before the others decide, and those after a decision are left out. What remains has the
 * same value, and fails in the same cases.
 */
function junction(kind: 'all' | 'any', items: readonly Term[], at: number): Term {
  const deciding = kind === 'any';
  const kept: Term[] = [];
  for (const item of items) {
    if (item.kind === 'constant' && isTruthy(item.value) !== deciding) continue;
    kept.push(item);
    if (item.kind === 'constant' || item.kind === 'fault') break;
  }
  const [first] = kept;
  if (first === undefined) return constant(!deciding, at);
  if (first.kind === 'constant') return constant(deciding, at);
  if (first.kind === 'fault') return first;
  return { kind, items: kept, at };
}

/** A root without a name after it, or one that means nothing. */
function unusableRoot(name: string, at: number): FaultTerm {
  if (name === 'node' || name === 'auth') return fault(`'${name}' is no value; write ${name}.<name>`, at);
  return unknownName(`Undefined variable: ${name}`, name, ['node', 'auth'], at);
}

function unknownName(message: string, name: string, known: readonly string[], at: number): FaultTerm {
  return faultTerm(new Fault('evaluation', message, at, { name, known }));
}

function countText(min: number, max: number): string {
  if (max === 0) return 'no argument';
  const count = min === max ? `${min}` : `${min} to ${max}`;
  return `${count} argument${count === '1' ? '' : 's'}`;
}
