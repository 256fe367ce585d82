import type { GuardMutant } from './guard-mutant.ts';

const watchTests = ['test/actors/branch/sql/slow-statements.test.ts'];
const textTests = ['test/runtime/sql-syntax/hide-literals.test.ts'];

/** The guards of the log of slow statements: it shows no values, and no statement twice. */
export const slowStatementGuards: readonly GuardMutant[] = [
  {
    guard: 'a logged plan shows no constants',
    file: 'runtime/sql-exec/explain/print-expression.ts',
    from: "this.#names.showsValues ? constant(expression) : '?'",
    to: 'constant(expression)',
    tests: watchTests,
  },
  {
    guard: 'a logged plan does not show what is looked for in a table',
    file: 'runtime/sql-exec/lowering/lower-table.ts',
    from: 'names.showsValues ? access.description : access.shape',
    to: 'access.description',
    tests: watchTests,
  },
  {
    guard: 'a logged plan does not show the numbers of LIMIT',
    file: 'runtime/sql-exec/explain/names.ts',
    from: "this.showsValues ? String(value) : '?'",
    to: 'String(value)',
    tests: watchTests,
  },
  {
    guard: 'a logged statement shows no condition of a grant',
    file: 'runtime/sql-syntax/hide-literals.ts',
    from: '{ ...grant, condition: HIDDEN_TEXT }',
    to: 'grant',
    tests: textTests,
  },
  {
    guard: 'a logged statement shows no intervals',
    file: 'runtime/sql-syntax/hide-literals.ts',
    from: "    case 'interval':\n",
    to: '',
    tests: textTests,
  },
  {
    guard: 'only slow statements are reported',
    file: 'actors/branch/sql/statement-watch.ts',
    from: 'if (durationMs < slowStatements.thresholdMs) return;',
    to: '',
    tests: watchTests,
  },
  {
    guard: 'a statement that begins twice is reported once',
    file: 'actors/branch/sql/statement-watch.ts',
    from: ' || this.#isReported',
    to: '',
    tests: watchTests,
  },
  {
    guard: 'an attempt that is given up is not reported',
    file: 'actors/branch/sql/statement-watch.ts',
    from: '(isAttempt ? undefined : cancelled)',
    to: 'cancelled',
    tests: watchTests,
  },
];
