import type { GuardMutant } from './guard-mutant.ts';

const readerTests = ['test/protocols/rest/sql/readers.test.ts'];
const statementTests = ['test/protocols/rest/sql/statements.test.ts'];
const runTests = ['test/actors/branch/sql/run-sql.test.ts'];
const rowTests = ['test/actors/branch/sql/row-text.test.ts'];

/** The safety guards of statements of SQL. */
export const sqlGuards: readonly GuardMutant[] = [
  {
    guard: 'only the engine is lent a branch',
    file: 'actors/branch/branch-actor.ts',
    from: '    requireEngine(context);\n    return { state: this.#state, context,',
    to: '    return { state: this.#state, context,',
    tests: runTests,
  },
  {
    guard: 'another branch is read with the permissions on it',
    file: 'actors/branch/sql/branch-tables.ts',
    from: 'const decided = policy ??',
    to: 'const decided = caller.policy ?? policy ??',
    tests: readerTests,
  },
  {
    guard: 'a tag in a condition shows nothing later than its revision',
    file: 'actors/branch/sql/branch-tables.ts',
    from: 'moment: found.taggedAt === undefined ? undefined : parseRevision(found.taggedAt),',
    to: 'moment: found.taggedAt === null ? parseRevision(found.taggedAt) : undefined,',
    tests: statementTests,
  },
  {
    guard: 'a statement through a tag finds no later revision',
    file: 'actors/branch/sql/node-tables.ts',
    from: 'readableRevision(reader, parseRevision(revision), moment)',
    to: 'readableRevision(reader, parseRevision(revision))',
    tests: statementTests,
  },
  {
    guard: 'columns of one name have keys of their own',
    file: 'actors/branch/sql/row-text.ts',
    from: ')) number += 1;',
    to: ')) break;',
    tests: rowTests,
  },
  {
    guard: 'the text of rows counts as work',
    file: 'actors/branch/sql/row-text.ts',
    from: 'text.length * CHARACTER_WORK',
    to: '0 * CHARACTER_WORK',
    tests: rowTests,
  },
  {
    guard: 'an anonymous caller without access gets one answer to all statements',
    file: 'protocols/rest/access/hidden-branch.ts',
    from: "    case 'RunSql':\n      return",
    to: "    case 'RunSql':\n      throw nodeNotFound({ path: query.sql });\n      return",
    tests: readerTests,
  },
];
