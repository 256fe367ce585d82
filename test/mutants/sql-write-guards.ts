import type { GuardMutant } from './guard-mutant.ts';

const folder = 'actors/branch/sql/changes';
const accessTests = ['test/actors/branch/sql/changes/data-access.test.ts'];
const statementTests = ['test/actors/branch/sql/changes/data-statements.test.ts'];
const pathTests = ['test/actors/branch/sql/changes/set-path.test.ts'];
const standIn = 'actors/branch/nodes/stand-in.ts';
const bulkTests = ['test/actors/branch/sql/changes/bulk-statements.test.ts'];
const recallTests = ['test/actors/branch/sql/changes/recall-changed.test.ts'];
const spaceTests = ['test/actors/branch/sql/frees-space.test.ts'];

/** The safety guards of statements of SQL that write rows. */
export const sqlWriteGuards: readonly GuardMutant[] = [
  {
    guard: 'a node is updated by who may update it',
    file: `${folder}/data/update-fields.ts`,
    from: "  if (!isOnlyMoved) edit.access.authorize('update', workspace, old);\n",
    to: '',
    tests: accessTests,
  },
  {
    guard: 'a node that is moved and written is written by who may update it',
    file: `${folder}/data/update-fields.ts`,
    from: 'if (!isOnlyMoved)',
    to: 'if (path === undefined)',
    tests: accessTests,
  },
  {
    guard: 'a node gets another path from who may take it away',
    file: `${folder}/data/update-fields.ts`,
    from: "  edit.access.authorize('delete', workspace, old);\n",
    to: '',
    tests: accessTests,
  },
  {
    guard: 'a node that gets another path leaves its children where they are',
    file: `${folder}/data/update-fields.ts`,
    from: 'planMove(edit, workspace, old, path, true)',
    to: 'planMove(edit, workspace, old, path)',
    tests: pathTests,
  },
  {
    guard: 'nodes have a parent when theirs has moved alone',
    file: standIn,
    from: 'if (!edit.head.hasChildren(workspace, id)) return undefined;',
    to: "if (id !== '') return undefined;",
    tests: pathTests,
  },
  {
    guard: 'a folder takes the place of a node where the caller sees the parent',
    file: standIn,
    from: 'const parent = yield* requireParent(edit, workspace, parentPath(path));',
    to: 'const above = yield* edit.head.byPathInSteps(workspace, parentPath(path)); const parent = above === undefined ? yield* requireParent(edit, workspace, parentPath(path)) : above.header;',
    tests: pathTests,
  },
  {
    guard: 'nodes that get a folder as their parent keep their version, time and author',
    file: standIn,
    from: '{ ...unmoved(child), parentId: folder.id }',
    to: '{ parentId: folder.id }',
    tests: pathTests,
  },
  {
    guard: 'a node that moves alone gives its position to the folder',
    file: 'actors/branch/nodes/move-node.ts',
    from: 'const isPlaced = parent.id !== parentId || standIn !== undefined;',
    to: 'const isPlaced = parent.id !== parentId;',
    tests: pathTests,
  },
  {
    guard: 'UPSERT keeps the type of a node',
    file: `${folder}/data/update-fields.ts`,
    from: 'if (fields.nodeType !== undefined && fields.nodeType !== old.nodeType)',
    to: "if (fields.nodeType === '')",
    tests: statementTests,
  },
  {
    guard: 'a node has a bounded number of values',
    file: `${folder}/data/update-fields.ts`,
    from: '  yield* requireFewValues(edit, old, changed);\n',
    to: '',
    tests: statementTests,
  },
  {
    guard: 'a node is removed by who may delete it',
    file: `${folder}/data/delete-nodes.ts`,
    from: "  edit.access.authorize('delete', workspace, record);\n",
    to: '',
    tests: accessTests,
  },
  {
    guard: 'a node that may not be read is missing for DELETE',
    file: `${folder}/data/delete-nodes.ts`,
    from: 'record !== undefined && edit.access.mayRead(workspace, record) ?',
    to: 'record !== undefined ?',
    tests: accessTests,
  },
  {
    guard: 'UPSERT does not tell of a node that may not be read',
    file: `${folder}/data/insert-rows.ts`,
    from: 'record !== undefined && edit.access.mayRead(workspace, record) ? record',
    to: 'record !== undefined ? record',
    tests: accessTests,
  },
  {
    guard: 'NULL is no id',
    file: `${folder}/data/data-change.ts`,
    from: 'if (value === null) return undefined;',
    to: "if (value === null) return { id: 'NULL' };",
    tests: statementTests,
  },
  {
    guard: 'a path in a statement is the path that is stored',
    file: `${folder}/data/written-fields.ts`,
    from: 'if (stored === name) return;',
    to: "if (stored !== '') return;",
    tests: statementTests,
  },
  {
    guard: 'many nodes are not changed outside a transaction',
    file: `${folder}/data/change-data.ts`,
    from: 'if (point === undefined && !isTransaction)',
    to: "if (point === undefined && source === '')",
    tests: statementTests,
  },
  {
    guard: 'a statement does not write another branch than it says',
    file: `${folder}/data/change-data.ts`,
    from: 'if (branch !== undefined)',
    to: "if (branch === '')",
    tests: statementTests,
  },
  {
    guard: 'unique values of a statement are compared',
    file: `${folder}/change-by-sql.ts`,
    from: 'if (clash !== undefined) throw writer.duplicateValue(clash);',
    to: '',
    tests: statementTests,
  },
  {
    guard: 'a dry run leaves nothing',
    file: `${folder}/change-by-sql.ts`,
    from: 'command.dryRun === true ? yield* undone(edit) :',
    to: '',
    tests: statementTests,
  },
  {
    guard: 'the rows of an answer are bounded',
    file: `${folder}/answer-text.ts`,
    from: 'if (bytes > ANSWER_BYTES_MAX) throw answerTooLong();',
    to: '',
    tests: statementTests,
  },
  {
    guard: 'rows that are answered again show what may be seen now',
    file: `${folder}/recall-changed.ts`,
    from: 'if (rows !== null && turn.caller.policy.unrestricted)',
    to: 'if (rows !== null)',
    tests: recallTests,
  },
  {
    guard: 'a part of a bulk statement compares unique values',
    file: `${folder}/bulk-statements.ts`,
    from: '    if (clash !== undefined) throw writer.duplicateValue(clash);\n',
    to: '',
    tests: bulkTests,
  },
  {
    guard: 'a part of a bulk statement is done once',
    file: `${folder}/bulk-statements.ts`,
    from: '  if (done !== undefined) return done;\n',
    to: '',
    tests: bulkTests,
  },
  {
    guard: 'only what a caller may not do is skipped',
    file: `${folder}/bulk-statements.ts`,
    from: "error instanceof ServiceError && error.code === 'PERMISSION_DENIED'",
    to: 'error instanceof ServiceError',
    tests: bulkTests,
  },
  {
    guard: 'only the engine reads how far a job is',
    file: `${folder}/bulk-statements.ts`,
    from: '  requireEngine(context);\n',
    to: '',
    tests: bulkTests,
  },
  {
    guard: 'only the engine forgets how far a job is',
    file: `${folder}/bulk-statements.ts`,
    from: '  requireEngine(turn);\n',
    to: '',
    tests: bulkTests,
  },
  {
    guard: 'a text frees space only if each of its statements does',
    file: 'actors/branch/sql/frees-space.ts',
    from: 'pieces.every(',
    to: 'pieces.some(',
    tests: spaceTests,
  },
];
