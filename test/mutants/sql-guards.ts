import type { GuardMutant } from './guard-mutant.ts';
import { sqlJoinGuards } from './sql-join-guards.ts';
import { sqlKeptGuards } from './sql-kept-guards.ts';

const readerTests = ['test/protocols/rest/sql/readers.test.ts'];
const statementTests = ['test/protocols/rest/sql/statements.test.ts'];
const runTests = ['test/actors/branch/sql/run-sql.test.ts'];
const rowTests = ['test/actors/branch/sql/row-text.test.ts'];
const inPlaceTests = ['test/actors/branch/sql/rows-in-place.test.ts'];
const orderingTests = ['test/runtime/sql-values/ordering.test.ts'];
const resolveTests = ['test/protocols/rest/sql/resolve.test.ts'];
const pointTests = ['test/actors/branch/sql/points/point-read.test.ts'];
const poolTests = ['test/runtime/actor/reads/read-memory.test.ts'];
const hiddenTests = ['test/actors/branch/sql/hidden-rows.test.ts'];
const schemaTests = ['test/actors/branch/sql/row-columns.test.ts'];
const branchTests = ['test/actors/branch/sql/open-branches.test.ts'];
const joinTests = ['test/runtime/sql-exec/operators/joins/join-operator.test.ts'];
const expressionTests = ['test/runtime/sql-exec/expressions/compile-expression.test.ts'];
const planTests = ['test/runtime/sql-exec/statements.test.ts'];
const boundTests = ['test/runtime/sql-plan/bind-bounds.test.ts'];
const typeTests = ['test/runtime/sql-plan/bind-types.test.ts'];
const syntaxTests = ['test/runtime/sql-syntax/syntax-limits.test.ts'];
const functionTests = ['test/runtime/sql-values/functions/functions.test.ts'];

/** The safety guards of statements of SQL. */
export const sqlGuards: readonly GuardMutant[] = [
  ...sqlJoinGuards,
  ...sqlKeptGuards,
  {
    guard: 'a number that is read from stored bytes is not that of a hidden property',
    file: 'actors/branch/sql/tables/stored-values.ts',
    from: 'this.#shown.has(name) ? this.#view.propertyNumber(wanted)',
    to: 'true ? this.#view.propertyNumber(wanted)',
    tests: resolveTests,
    only: 'numbers that are read from stored bytes',
  },
  {
    guard: 'stored JSON that is kept counts as what it takes once it is read',
    file: 'runtime/sql-values/ordering/value-bytes.ts',
    from: 'value.storedMemory ?? jsonMemory(value)',
    to: 'value.storedText?.length ?? jsonMemory(value)',
    tests: orderingTests,
    only: 'of stored JSON are the same before and after it is read',
  },
  {
    guard: 'parsing stored JSON is counted as work',
    file: 'runtime/sql-values/sql-value.ts',
    from: 'this.#budget.spend(this.text.length * PARSED_CHARACTER_WORK);',
    to: '',
    tests: orderingTests,
    only: 'is parsed once, when its value is read, and the work is counted',
  },
  {
    guard: 'RESOLVE decodes few bytes',
    file: 'actors/branch/sql/reference-resolver.ts',
    from: 'left.bytes -= bytes;',
    to: '',
    tests: resolveTests,
    only: 'puts at most',
  },
  {
    guard: 'a node that is hidden in its locale is not found by its path',
    file: 'actors/branch/sql/points/point-read.ts',
    from: 'record.hasTranslations && isHidden(record, locale.chain)',
    to: 'record.hasTranslations && false',
    tests: pointTests,
  },
  {
    guard: 'a property that a parameter names is not a property of a kept plan',
    file: 'actors/branch/sql/points/point-plan.ts',
    from: 'return isOpen ? undefined : propertyOf(expression, relation);',
    to: 'return propertyOf(expression, relation);',
    tests: pointTests,
  },
  {
    guard: 'rows in place are those of one locale',
    file: 'actors/branch/sql/tables/node-scan.ts',
    from: 'only === undefined || second !== undefined',
    to: 'only === undefined',
    tests: inPlaceTests,
  },
  {
    guard: 'reads hold no more memory together than the pool has',
    file: 'runtime/budget/byte-budget.ts',
    from: 'if (this.#used + bytes > this.#bytesMax) return false;',
    to: '',
    tests: poolTests,
  },
  {
    guard: 'a stream counts in the pool while it is read',
    file: 'runtime/actor/reads/query-scope.ts',
    from: 'if (this.#isAnswered && this.#stays === 0)',
    to: 'if (this.#isAnswered)',
    tests: poolTests,
  },
  {
    guard: 'a stream that is read after the answer counts in the pool again',
    file: 'runtime/actor/reads/query-scope.ts',
    from: 'this.#budget?.reopen();',
    to: '',
    tests: poolTests,
  },
  {
    guard: 'long keys of a join are not looked up',
    file: 'runtime/sql-exec/operators/joins/lookup-join-operator.ts',
    from: 'if (isLong(value)) return undefined;',
    to: '',
    tests: ['test/actors/branch/sql/join-plans.test.ts'],
    only: 'scans for keys that are so long',
  },
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
    file: 'actors/branch/sql/read-moment.ts',
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
  {
    guard: 'a node that is looked up must be readable',
    file: 'actors/branch/sql/tables/node-finder.ts',
    from: 'if (record !== undefined && access.mayRead(workspace, record))',
    to: 'if (record !== undefined)',
    tests: hiddenTests,
  },
  {
    guard: 'conditions do not look at a row before it is known to be readable',
    file: 'actors/branch/sql/tables/node-finder.ts',
    from: 'if (this.#isOpen || !this.#decides(',
    to: 'if (!this.#decides(',
    tests: hiddenTests,
  },
  {
    guard: 'a row that does not tell in place is asked about again',
    file: 'actors/branch/sql/tables/node-finder.ts',
    from: "if (!this.#hasOpen || access.allows('read', workspace, record)) yield",
    to: 'yield',
    tests: hiddenTests,
  },
  {
    guard: 'conditions in place do not see hidden properties',
    file: 'actors/branch/sql/tables/node-finder.ts',
    from: 'if (fields === undefined || !isHiding) return allFields;',
    to: 'if (fields !== undefined) return allFields;',
    tests: hiddenTests,
  },
  {
    guard: 'a row that does not tell in place is not made in place',
    file: 'actors/branch/sql/tables/node-finder.ts',
    from: 'this.#isSettled ?',
    to: 'true ?',
    tests: hiddenTests,
  },
  {
    guard: 'a row in place does not show hidden properties',
    file: 'actors/branch/sql/tables/node-scan.ts',
    from: '    isHiding:\n      scope.fields !== undefined &&',
    to: '    isHiding:\n      false &&',
    tests: hiddenTests,
  },
  {
    guard: 'a node that is hidden in a locale is not a row in place',
    file: 'actors/branch/sql/tables/node-scan.ts',
    from: 'areTranslated: only.chain.length > 0 ||',
    to: 'areTranslated: false ||',
    tests: inPlaceTests,
  },
  {
    guard: 'rows in place do not overtake nodes that are read by themselves',
    file: 'actors/branch/sql/tables/node-finder.ts',
    from: '        this.#isWaiting = true;\n',
    to: '',
    tests: inPlaceTests,
  },
  {
    guard: 'a row in place shows all properties only where none is hidden',
    file: 'actors/branch/sql/tables/node-finder.ts',
    from: 'return inPlace.isWhole && shown?.isAll === false ? undefined : shown;',
    to: 'return shown;',
    tests: ['test/actors/branch/sql/first-by-id.test.ts'],
  },
  {
    guard: 'the rest of a part is left out only where that is in the order',
    file: 'actors/branch/sql/tables/node-finder.ts',
    from: 'if (this.#isInOrder) this.#isOver = true;',
    to: 'this.#isOver = true;',
    tests: ['test/actors/branch/sql/first-by-id.test.ts'],
  },
  {
    guard: 'a row that may be answered has the right checksum',
    file: 'actors/branch/sql/tables/node-finder.ts',
    from: 'if (inPlace.isVerified) view.verify();',
    to: '',
    tests: inPlaceTests,
  },
  {
    guard: 'the keys of the best rows count as memory',
    file: 'actors/branch/sql/tables/best-keys.ts',
    from: 'this.#budget.keep(bytes);',
    to: '',
    tests: inPlaceTests,
  },
  {
    guard: 'a hidden property of a row is absent',
    file: 'actors/branch/sql/tables/node-row.ts',
    from: 'return this.#shown.has(name) ? this.#record.property(name) : undefined;',
    to: 'return this.#record.property(name);',
    tests: hiddenTests,
  },
  {
    guard: 'a hidden property does not refer to anything',
    file: 'actors/branch/sql/tables/node-row.ts',
    from: 'eachReference(yield* this.#storedProperties())',
    to: 'eachReference(yield* this.#record.decode())',
    tests: hiddenTests,
  },
  {
    guard: 'REFERENCES finds nothing for a target that the caller may not read',
    file: 'actors/branch/sql/tables/node-table.ts',
    from: 'const isSeen = record !== undefined && this.access.mayRead(workspace, record);',
    to: 'const isSeen = record !== undefined;',
    tests: hiddenTests,
  },
  {
    guard: 'estimates are not told to a caller who may not read all',
    file: 'actors/branch/sql/tables/choose-path.ts',
    from: 'if (!table.seesAll) {',
    to: 'if (false) {',
    tests: hiddenTests,
  },
  {
    guard: 'an index of hidden values is not used',
    file: 'actors/branch/sql/tables/index-paths.ts',
    from: 'hidesSome: scope.fields !== undefined',
    to: 'hidesSome: false',
    tests: hiddenTests,
  },
  {
    guard: 'which types hidden nodes have does not choose an index',
    file: 'actors/branch/sql/tables/index-paths.ts',
    from: 'this.#table.seesAll ? this.#presentFields() : this.#declaredFields();',
    to: 'this.#presentFields();',
    tests: hiddenTests,
  },
  {
    guard: 'only an administrator reads the table of workspaces',
    file: 'actors/branch/sql/tables/schema-table.ts',
    from: "if (plan.table === 'Workspaces') requireAdministrator(caller.policy, caller.principal);",
    to: '',
    tests: schemaTests,
  },
  {
    guard: 'the reader of another branch is closed',
    file: 'actors/branch/sql/branch-tables.ts',
    from: 'this.#closings.push(() => snapshot.close());',
    to: '',
    tests: branchTests,
  },
  {
    guard: 'NULL equals nothing in a join',
    file: 'runtime/sql-exec/operators/joins/hash-join-operator.ts',
    from: 'if (value === null) return undefined;',
    to: '',
    tests: joinTests,
  },
  {
    guard: 'an outer join keeps the rows whose key is NULL',
    file: 'runtime/sql-exec/operators/joins/hash-join-operator.ts',
    from: 'return keepsAll ? 0 : undefined',
    to: 'return undefined',
    tests: joinTests,
  },
  {
    guard: 'the memory of a join is counted',
    file: 'runtime/sql-exec/operators/joins/join-side.ts',
    from: 'this.#execution.budget.keep(bytes);',
    to: '',
    tests: joinTests,
  },
  {
    guard: 'a condition does not leave out the partners of rows that an outer join keeps',
    file: 'runtime/sql-exec/lowering/push-down.ts',
    from: "else if (!preservesLeft && areAmong(relations, rightRelations)) to.right.push(condition);\n    else if (type === 'inner')",
    to: "else if (areAmong(relations, rightRelations)) to.right.push(condition);\n    else if (type === 'inner')",
    tests: planTests,
    only: 'joins',
  },
  {
    guard: 'IN with NULL in its list is unknown, not false',
    file: 'runtime/sql-exec/expressions/membership.ts',
    from: 'if (others.length === 0) return hasNull ? null : false;',
    to: 'if (others.length === 0) return false;',
    tests: expressionTests,
  },
  {
    guard: 'the functions of one row have a bound of work',
    file: 'runtime/sql-exec/execution.ts',
    from: 'if (this.budget.work - this.#pausedAt <= ROW_WORK_MAX + SLICE_WORK) return;',
    to: 'return;',
    tests: expressionTests,
  },
  {
    guard: 'calls that take long are not made while planning',
    file: 'runtime/sql-plan/bind/limits.ts',
    from: 'FOLDED_WORK_MAX = 10_000',
    to: 'FOLDED_WORK_MAX = Number.POSITIVE_INFINITY',
    tests: typeTests,
  },
  {
    guard: 'operands in several places do not grow without end',
    file: 'runtime/sql-plan/bind/statement-binding.ts',
    from: 'if (this.#copies > COPIED_EXPRESSIONS_MAX)',
    to: 'if (false)',
    tests: boundTests,
  },
  {
    guard: 'a statement has a bound of tokens',
    file: 'runtime/sql-syntax/tokenize.ts',
    from: 'if (count > STATEMENT_TOKENS_MAX || uncut > UNCUT_TOKENS_MAX) {',
    to: 'if (uncut > UNCUT_TOKENS_MAX) {',
    tests: syntaxTests,
  },
  {
    guard: 'rules read a bounded part of a statement, because they cannot pause',
    file: 'runtime/sql-syntax/grammar-base.ts',
    from: 'if (this.#ruleTokens > RULE_TOKENS_MAX) {',
    to: 'if (false) {',
    tests: syntaxTests,
  },
  {
    guard: 'the constants of lists of a statement are bounded',
    file: 'runtime/sql-syntax/grammar-base.ts',
    from: 'if (this.#listTokens > LIST_TOKENS_MAX)',
    to: 'if (false)',
    tests: syntaxTests,
  },
  {
    guard: 'a text is cut for the lexer where no list is',
    file: 'runtime/sql-syntax/tokenize.ts',
    from: 'if (uncut >= STEP_TOKENS && hasToken && isCut(source, at)) {',
    to: 'if (false) {',
    tests: syntaxTests,
  },
  {
    guard: 'a tree has a bound of depth',
    file: 'runtime/sql-syntax/tree-depth.ts',
    from: 'if (depth > TREE_DEPTH_MAX && first !== undefined) {',
    to: 'if (false) {',
    tests: syntaxTests,
  },
  {
    guard: 'a text that an expression makes has a bound of length',
    file: 'runtime/sql-values/functions/padding-functions.ts',
    from: "requireTextLength(text.length * times, 'REPEAT result');",
    to: '',
    tests: functionTests,
  },
];
