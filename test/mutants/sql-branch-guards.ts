import type { GuardMutant } from './guard-mutant.ts';

const statementTests = ['test/protocols/rest/sql/branch-statements.test.ts'];
const formTests = ['test/runtime/sql-syntax/change-statements.test.ts'];

/** The safety guards of statements about branches, and of the grammar of statements that write. */
export const sqlBranchGuards: readonly GuardMutant[] = [
  {
    guard: 'nothing is merged into a protected branch',
    file: 'protocols/rest/versioning/branch-lookup.ts',
    from: '  if (entry.protected) throw',
    to: '  if (false) throw',
    tests: statementTests,
  },
  {
    guard: 'a tag is no source of a merge',
    file: 'protocols/rest/versioning/branch-lookup.ts',
    from: '  if (source.taggedAt !== undefined) {',
    to: '  if (false) {',
    tests: statementTests,
  },
  {
    guard: 'a merge that stopped at conflicts is an error',
    file: 'protocols/rest/sql/branches/merge-branch.ts',
    from: '  if (!result.success) throw',
    to: '  if (false) throw',
    tests: statementTests,
  },
  {
    guard: 'the lock of a request guards a merge',
    file: 'protocols/rest/sql/branches/merge-branch.ts',
    from: '...(lock === undefined ? {} : { lock }),',
    to: '',
    tests: statementTests,
  },
  {
    guard: 'IF EXISTS hides no refusal but that of a missing branch',
    file: 'protocols/rest/sql/branches/change-branch.ts',
    from: 'if (!isMissing || !ifExists) throw error;',
    to: 'if (!ifExists) throw error;',
    tests: statementTests,
  },
  {
    guard: 'only a JSON object becomes the properties of a node',
    file: 'protocols/rest/sql/branches/merge-branch.ts',
    from: 'if (!isJsonObject(value)) throw',
    to: 'if (false) throw',
    tests: statementTests,
  },
  {
    guard: 'decisions are not dropped beside a fast-forward',
    file: 'protocols/rest/sql/branches/merge-branch.ts',
    from: "if (strategy === 'fast-forward') {",
    to: 'if (false) {',
    tests: statementTests,
  },
  {
    guard: 'a condition of a translation names one node or type only once',
    file: 'runtime/sql-syntax/tree-grammar.ts',
    from: 'if (isFree !== undefined || !this.isAhead(1, equal)) {',
    to: 'if (!this.isAhead(1, equal)) {',
    tests: formTests,
  },
  {
    guard: 'an explained change is never run',
    file: 'runtime/sql-syntax/statement-grammar.ts',
    from: "if (analyze !== undefined && statement.kind !== 'query') {",
    to: 'if (false) {',
    tests: formTests,
  },
];
