import type { GuardMutant } from './guard-mutant.ts';

const rules = ['test/runtime/rel/condition.test.ts'];
const methods = ['test/runtime/rel/methods.test.ts'];
const bound = ['test/runtime/rel/bound-condition.test.ts'];
const work = ['test/runtime/rel/condition-work.test.ts'];
const syntax = ['test/runtime/rel/parse-condition.test.ts'];

/** The safety guards of conditions: what must not grant access. */
export const conditionGuards: readonly GuardMutant[] = [
  {
    guard: 'a property does not hide a column',
    file: 'runtime/rel/evaluation/resolve.ts',
    from: 'return isColumn(name)',
    to: 'return false as boolean && isColumn(name)',
    tests: rules,
  },
  {
    guard: 'a column whose name is computed is not read as a property',
    file: 'runtime/rel/evaluation/compile-term.ts',
    from: 'return isColumn(key)',
    to: 'return false as boolean && isColumn(key)',
    tests: rules,
  },
  {
    guard: 'an unknown value of the caller is no null',
    file: 'runtime/rel/evaluation/resolve.ts',
    from: 'if (!isCallerField(name)) return unknownName(',
    to: 'if (!isCallerField(name)) return constant(null, at) ?? unknownName(',
    tests: rules,
  },
  {
    guard: 'keys are own keys',
    file: 'runtime/rel/evaluation/compile-term.ts',
    from: 'isObject(value) && Object.hasOwn(value, name) ? value[name]! : null',
    to: 'isObject(value) ? (value[name] ?? null) : null',
    tests: rules,
  },
  {
    guard: 'nothing is below the empty path',
    file: 'runtime/rel/values/path-methods.ts',
    from: 'if (form === NO_PATH || above === NO_PATH) return false;',
    to: '',
    tests: methods,
  },
  {
    guard: 'a path ends with a whole name',
    file: 'runtime/rel/values/path-methods.ts',
    from: 'form.charCodeAt(above.length) === SLASH && ',
    to: '',
    tests: methods,
  },
  {
    guard: 'a condition without relations fails',
    file: 'runtime/rel/evaluation/compile-term.ts',
    from: "if (evaluation.relations === undefined) return evaluation.fail('Relations cannot be read here');",
    to: 'if (evaluation.relations === undefined) return false;',
    tests: rules,
  },
  {
    guard: 'a search that was given up is no answer',
    file: 'runtime/rel/evaluation/compile-term.ts',
    from: 'evaluation.giveUp()\n    );',
    to: 'false\n    );',
    tests: rules,
  },
  {
    guard: 'what a node throws is not taken for false',
    file: 'runtime/rel/condition.ts',
    from: "if (!(thrown instanceof Fault)) throw thrown;\n      return thrown.kind === 'work' ? undefined : false;",
    to: 'return false;',
    tests: rules,
  },
  {
    guard: 'a bound condition does not change with its caller',
    file: 'runtime/rel/condition.ts',
    from: 'const caller = copyOf(asked);',
    to: 'const caller = asked;',
    tests: rules,
  },
  {
    guard: 'a part that may fail is not left out because another one is false',
    file: 'runtime/rel/evaluation/resolve.ts',
    from: "if (first.kind === 'constant') return constant(deciding, at);",
    to: "if (kept.at(-1)!.kind === 'constant') return constant(deciding, at);",
    tests: bound,
  },
  {
    guard: 'an alternative widens what a condition narrows to',
    file: 'runtime/rel/evaluation/narrowing.ts',
    from: 'return eitherOf(term.items.map(narrowingOf));',
    to: 'return term.items.map(narrowingOf).reduce(both);',
    tests: bound,
  },
  {
    guard: 'a list with null does not narrow a column that may be null',
    file: 'runtime/rel/evaluation/narrowing.ts',
    from: 'values.includes(null) || ',
    to: '',
    tests: bound,
  },
  {
    guard: 'the start of a name is no path',
    file: 'runtime/rel/evaluation/narrowing.ts',
    from: "ofTop(prefix.slice(0, prefix.lastIndexOf('/')))",
    to: 'ofTop(prefix)',
    tests: bound,
  },
  {
    guard: 'an evaluation ends when it takes too much work',
    file: 'runtime/rel/evaluation/evaluation.ts',
    from: 'is taken.\n    if (!(this.#work >= 0)) this.giveUp();',
    to: 'is taken.',
    tests: work,
  },
  {
    guard: 'a property that is too long is no missing one',
    file: 'runtime/rel/evaluation/compile-term.ts',
    from: 'if (stored === tooLong) return evaluation.giveUpBefore();',
    to: 'if (stored === tooLong) return null;',
    tests: work,
  },
  {
    guard: 'a condition nests within a bound',
    file: 'runtime/rel/syntax/parse-condition.ts',
    from: 'if (this.#nesting > NESTING_MAX)',
    to: 'if (false)',
    tests: syntax,
  },
  {
    guard: 'chains of operators have a bound',
    file: 'runtime/rel/syntax/parse-condition.ts',
    from: 'if (levels > LEVELS_MAX)',
    to: 'if (false)',
    tests: syntax,
  },
  {
    guard: 'comparisons do not chain',
    file: 'runtime/rel/syntax/parse-condition.ts',
    from: '    if (this.#isComparison())\n      throw',
    to: '    if (false)\n      throw',
    tests: syntax,
  },
];
