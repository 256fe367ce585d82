import { nearestName } from '#runtime/base/text/nearest-name.ts';
import { compileTerm, compileTest, type Test } from './evaluation/compile-term.ts';
import { Evaluation, Fault, type SharedWork, type UnknownName, WORK_MAX } from './evaluation/evaluation.ts';
import { type Narrowing, narrowingOf, noNarrowing } from './evaluation/narrowing.ts';
import { type ConditionNeeds, needsOf } from './evaluation/needs.ts';
import { resolve } from './evaluation/resolve.ts';
import { faultsOf, type Term } from './evaluation/term.ts';
import type { Caller, ConditionNode, Relations } from './ports.ts';
import type { Expression } from './syntax/expression.ts';
import { parseCondition } from './syntax/parse-condition.ts';
import type { SyntaxFault } from './syntax/tokens.ts';
import { isTruthy } from './values/rel-value.ts';
import { printValue } from './values/print-value.ts';

/** Most parts of a condition that are reported to fail always. */
export const FAULTS_MAX = 10;

/** Why a condition has no value, for the person who wrote it. */
export interface ConditionError {
  /** `syntax`: for every node. `work`: the bound of work was reached; with a larger one there may be a value. */
  readonly kind: 'syntax' | 'evaluation' | 'work';
  /** What was expected and what was found, without the place. */
  readonly message: string;
  /** The place in the text, both from 1; columns are counted in characters. */
  readonly line: number;
  readonly column: number;
}

/** The outcome of an evaluation. */
export interface Explanation {
  readonly holds: boolean;
  /** The value, as a literal of the language, cut when it is long; absent with an error. */
  readonly value?: string;
  /** Why there is no value. The condition does not hold then. */
  readonly error?: ConditionError;
}

/**
 * A condition of a permission, compiled. It is immutable and may be shared.
 *
 * Without `relations` a condition fails where it asks for them.
 *
 * @see docs/interface/condition-language.md
 */
export interface Condition {
  readonly text: string;
  /** What is wrong with the text. Then the condition never holds. */
  readonly error: ConditionError | undefined;
  /**
   * Parts that fail for every caller and node, as an unknown method does: mistakes, though the condition may hold. At most
   * {@link FAULTS_MAX}.
   */
  readonly faults: readonly ConditionError[];
  /** What {@link holds} may read. */
  readonly needs: ConditionNeeds;
  /** Whether it holds. Where it fails it does not hold. */
  holds(caller: Caller, node: ConditionNode, relations?: Relations): boolean;
  /** As {@link holds}, with the value or the reason why there is none. */
  explain(caller: Caller, node: ConditionNode, relations?: Relations): Explanation;
  /**
   * The condition for one caller, in which everything is computed that does not depend on the node.
   *
   * @param workspace of all nodes that are asked about; absent: of any
   */
  bind(caller: Caller, workspace?: string): BoundCondition;
}

/** A condition for one caller. It holds for the same nodes, unless the bound of work decides: it has less work. */
export interface BoundCondition {
  readonly text: string;
  /** Whether it holds for every node or for none; undefined when that depends on the node. */
  readonly decided: boolean | undefined;
  /** What {@link holds} may read; nothing when it is decided. */
  readonly needs: ConditionNeeds;
  /** What is true of every node for which it holds. */
  readonly narrowing: Narrowing;
  holds(node: ConditionNode, relations?: Relations): boolean;
  /**
   * As {@link holds}, with less work, for scans that look at many rows without a pause.
   *
   * @param workMax work in units, at most {@link WORK_MAX}
   * @param shared has to be enough as well
   * @returns undefined when that is too little: then {@link holds} tells
   */
  holdsWithin(
    workMax: number,
    node: ConditionNode,
    relations?: Relations,
    shared?: SharedWork,
  ): boolean | undefined;
  explain(node: ConditionNode, relations?: Relations): Explanation;
}

/**
 * Compiles a condition, once for many evaluations. It does not fail: a text that is no condition becomes one that never
 * holds, with the reason in `error`.
 *
 * @see docs/interface/condition-language.md
 */
export function compileCondition(text: string): Condition {
  const parsed = parseCondition(text);
  return 'fault' in parsed ? unreadable(text, parsed.fault) : new ReadCondition(text, parsed.expression);
}

class ReadCondition implements Condition {
  readonly text: string;
  readonly error = undefined;
  readonly needs: ConditionNeeds;
  readonly #expression: Expression;
  readonly #term: Term;
  readonly #program: Program;

  constructor(text: string, expression: Expression) {
    const term = resolve(expression, undefined);
    this.text = text;
    this.needs = needsOf(term);
    this.#expression = expression;
    this.#term = term;
    this.#program = new Program(text, term);
    Object.freeze(this);
  }

  get faults(): readonly ConditionError[] {
    const first = faultsOf(this.#term).slice(0, FAULTS_MAX);
    return Object.freeze(first.map(({ fault }) => errorOf(this.text, fault)));
  }

  holds(caller: Caller, node: ConditionNode, relations?: Relations): boolean {
    return this.#program.holds(new Evaluation(caller, node, relations, WORK_MAX)) ?? false;
  }

  explain(caller: Caller, node: ConditionNode, relations?: Relations): Explanation {
    return this.#program.explain(new Evaluation(caller, node, relations, WORK_MAX));
  }

  bind(asked: Caller, workspace?: string): BoundCondition {
    const caller = copyOf(asked);
    const term = resolve(this.#expression, caller, workspace);
    const narrowing = narrowingOf(term);
    const program = new Program(this.text, term);
    const decided = narrowing === 'never' ? false : term.kind === 'constant' ? true : undefined;
    const within: BoundCondition['holdsWithin'] = (workMax, node, relations, shared) =>
      decided ?? program.holds(new Evaluation(caller, node, relations, Math.min(workMax, WORK_MAX), shared));
    return Object.freeze({
      text: this.text,
      decided,
      needs: decided === undefined ? needsOf(term) : noNeeds,
      narrowing: narrowing === 'never' ? noNarrowing : narrowing,
      holds: (node: ConditionNode, relations?: Relations) => within(WORK_MAX, node, relations) ?? false,
      holdsWithin: within,
      explain: (node: ConditionNode, relations?: Relations) =>
        program.explain(new Evaluation(caller, node, relations, WORK_MAX)),
    });
  }
}

/** A caller that does not change. */
function copyOf(caller: Caller): Caller {
  return Object.freeze({
    userId: caller.userId,
    localUserId: caller.localUserId,
    email: caller.email,
    home: caller.home,
    roles: Object.freeze([...caller.roles]),
    groups: Object.freeze([...caller.groups]),
    isAnonymous: caller.isAnonymous,
    isSystem: caller.isSystem,
    actingAsWard: caller.actingAsWard,
    activeStewardshipSource: caller.activeStewardshipSource,
  });
}

const noNeeds: ConditionNeeds = needsOf({ kind: 'constant', value: null, at: 0 });

/** A condition that could not be parsed. */
function unreadable(text: string, fault: SyntaxFault): Condition {
  const error = errorOf(text, { kind: 'syntax', message: fault.message, at: fault.at });
  const explanation = Object.freeze({ holds: false, error });
  const bound: BoundCondition = Object.freeze({
    text,
    decided: false,
    needs: noNeeds,
    narrowing: noNarrowing,
    holds: () => false,
    holdsWithin: () => false,
    explain: () => explanation,
  });
  return Object.freeze({
    text,
    error,
    faults: Object.freeze([]),
    needs: noNeeds,
    holds: () => false,
    explain: () => explanation,
    bind: () => bound,
  });
}

/** The closures of a term. */
class Program {
  readonly #text: string;
  readonly #term: Term;
  readonly #test: Test;

  constructor(text: string, term: Term) {
    this.#text = text;
    this.#term = term;
    this.#test = compileTest(term);
  }

  /** @returns undefined when the work is too much; false when the condition fails otherwise */
  holds(evaluation: Evaluation): boolean | undefined {
    try {
      return this.#test(evaluation);
    } catch (thrown) {
      // What a node or the relations throw is no fault of the condition.
      if (!(thrown instanceof Fault)) throw thrown;
      return thrown.kind === 'work' ? undefined : false;
    }
  }

  explain(evaluation: Evaluation): Explanation {
    try {
      const value = compileTerm(this.#term)(evaluation);
      return { holds: isTruthy(value), value: printValue(value) };
    } catch (thrown) {
      if (!(thrown instanceof Fault)) throw thrown;
      return { holds: false, error: errorOf(this.#text, thrown) };
    }
  }
}

/** Longest unknown name for which a known one is looked for; the known ones are shorter. */
const MISTYPED_LENGTH_MAX = 32;

/** What went wrong, and where. */
interface Cause {
  readonly kind: ConditionError['kind'];
  readonly message: string;
  readonly at: number;
  readonly unknown?: UnknownName | undefined;
}

function errorOf(text: string, { kind, message, at, unknown }: Cause): ConditionError {
  const before = text.slice(0, at);
  const lineAt = before.lastIndexOf('\n') + 1;
  const nearest =
    unknown && unknown.name.length <= MISTYPED_LENGTH_MAX
      ? nearestName(unknown.name, unknown.known)
      : undefined;
  return Object.freeze({
    kind,
    message: nearest === undefined ? message : `${message}; did you mean ${nearest}?`,
    line: before.split('\n').length,
    column: [...before.slice(lineAt)].length + 1,
  });
}
