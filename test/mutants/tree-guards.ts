import type { GuardMutant } from './guard-mutant.ts';

const folder = 'test/actors/branch/sql/changes/tree';
const errorTests = [`${folder}/tree-errors.test.ts`];
const restoreTests = [`${folder}/restore-statement.test.ts`];
const translateTests = [`${folder}/translate-statement.test.ts`];
const restTests = ['test/protocols/rest/sql/tree-statements.test.ts'];

const tree = 'actors/branch/sql/changes/tree';

/** The safety guards of statements about the tree. */
export const treeGuards: readonly GuardMutant[] = [
  {
    guard: 'a statement runs on no other branch than it names',
    file: `${tree}/change-tree.ts`,
    from: 'if (name !== own) throw',
    to: 'if (name === own && name !== own) throw',
    tests: errorTests,
  },
  {
    guard: 'MOVE asks for the permission to delete the node where it is',
    file: `${tree}/new-parent.ts`,
    from: "done: 'moved', operation: 'delete'",
    to: "done: 'moved', operation: 'read'",
    tests: errorTests,
  },
  {
    guard: 'a new parent that may not be read is missing',
    file: `${tree}/new-parent.ts`,
    from: "'read', 'Target parent node')",
    to: "'create', 'Target parent node')",
    tests: errorTests,
  },
  {
    guard: 'ORDER asks for the permission to update the node',
    file: `${tree}/order-statement.ts`,
    from: "source, 'update', 'Source node'",
    to: "source, 'read', 'Source node'",
    tests: errorTests,
  },
  {
    guard: 'siblings have one parent',
    file: `${tree}/order-statement.ts`,
    from: 'if (sibling.header.parentId !== parentId) {',
    to: 'if (sibling.header.parentId === undefined) {',
    tests: [`${folder}/tree-examples.test.ts`],
  },
  {
    guard: 'RELATE asks for the permission to relate the source',
    file: `${tree}/relate-statement.ts`,
    from: "statement.source, 'relate')",
    to: "statement.source, 'read' as 'relate')",
    tests: errorTests,
  },
  {
    guard: 'UNRELATE asks for the permission to unrelate the source',
    file: `${tree}/relate-statement.ts`,
    from: "statement.source, 'unrelate')",
    to: "statement.source, 'read' as 'unrelate')",
    tests: errorTests,
  },
  {
    guard: 'a taken name at the root is a conflict',
    file: 'actors/branch/sql/changes/taken-path.ts',
    from: "cause.code === 'NODE_ALREADY_EXISTS' ? cause : error",
    to: "cause.code === 'NODE_ALREADY_EXISTS' ? error : error",
    tests: errorTests,
  },
  {
    guard: 'RESTORE asks for the permission to update the node',
    file: `${tree}/find-restored.ts`,
    from: "place, 'update', 'Node')",
    to: "place, 'read', 'Node')",
    tests: errorTests,
  },
  {
    guard: 'a node that may not be read does not make a name ambiguous',
    file: `${tree}/find-restored.ts`,
    from: 'if (record !== undefined && edit.access.mayRead(name, record)) found.push(name);',
    to: 'if (record !== undefined) found.push(name);',
    tests: restoreTests,
  },
  {
    guard: 'a state that the caller may not read is not restored',
    file: `${tree}/restore-statement.ts`,
    from: 'if (state !== undefined && moment.mayRead(workspace, state)) return state;',
    to: 'if (state !== undefined) return state;',
    tests: restoreTests,
  },
  {
    guard: 'RESTORE asks for the permission to update all properties',
    file: `${tree}/restore-statement.ts`,
    from: "  edit.access.authorizeAllFields('update', workspace, old);\n",
    to: '',
    tests: restTests,
  },
  {
    guard: 'RESTORE shows no property of the earlier state that is hidden there',
    file: `${tree}/restore-statement.ts`,
    from: '  if (!moment.showsWhole(workspace, state)) throw hiddenProperties(old);\n',
    to: '',
    tests: restoreTests,
  },
  {
    guard: 'a node of another branch is restored only if it may be read there',
    file: `${tree}/restored-moment.ts`,
    from: 'if (there !== undefined && access.mayRead(workspace, there)) return;',
    to: 'if (there !== undefined) return;',
    tests: restTests,
  },
  {
    guard: 'RESTORE of an immutable node is refused',
    file: `${tree}/restore-statement.ts`,
    from: '  edit.requireMutable(workspace, old);\n',
    to: '',
    tests: restoreTests,
  },
  {
    guard: 'RESTORE TREE asks for the permission to update every node',
    file: `${tree}/restore-tree.ts`,
    from: "edit.access.authorizeBelow('update', workspace, record, top.path),",
    to: 'record,',
    tests: restoreTests,
  },
  {
    guard: 'RESTORE TREE asks for the permission to update all properties of a node',
    file: `${tree}/restore-tree.ts`,
    from: "    edit.access.authorizeAllFields('update', workspace, record);\n",
    to: '',
    tests: restoreTests,
  },
  {
    guard: 'RESTORE TREE shows no property of an earlier state that is hidden there',
    file: `${tree}/restore-tree.ts`,
    from: '    if (!moment.showsWhole(workspace, state)) throw hiddenBelow(top);\n',
    to: '',
    tests: restoreTests,
  },
  {
    guard: 'RESTORE TREE of an immutable node is refused',
    file: `${tree}/restore-tree.ts`,
    from: '  edit.requireMutable(workspace, record);\n',
    to: '',
    tests: restoreTests,
  },
  {
    guard: 'RESTORE TREE takes no name of a node that was not there',
    file: `${tree}/restore-tree.ts`,
    from: 'if (taker === undefined || renames.of(workspace, taker) !== undefined) continue;',
    to: 'if (taker !== null) continue;',
    tests: restoreTests,
  },
  {
    guard: 'RESTORE TREE gives no published node another name',
    file: `${tree}/restore-tree.ts`,
    from: "    requireUnpublished(record, 'rename', top.path);\n",
    to: '',
    tests: restoreTests,
  },
  {
    guard: 'RESTORE TREE asks for the permission to update a node under its new name',
    file: `${tree}/restore-tree.ts`,
    from: "      access.authorizeThere('update', workspace, record, path);\n",
    to: '',
    tests: restoreTests,
  },
  {
    guard: 'RESTORE TREE shows no more of a node under its new name',
    file: `${tree}/restore-tree.ts`,
    from: '      access.authorizePath(workspace, record, path);\n',
    to: '',
    tests: restoreTests,
  },
  {
    guard: 'TRANSLATE asks for the permission to translate the node',
    file: `${tree}/translate-statement.ts`,
    from: "placeOf(change, node), 'translate', 'Node')",
    to: "placeOf(change, node), 'read', 'Node')",
    tests: errorTests,
  },
  {
    guard: 'TRANSLATE asks for the permission to set the values',
    file: 'actors/branch/nodes/translate-node.ts',
    from: "  edit.access.authorizeFields('translate', workspace, node, translatedNames({ [locale]: change }));\n",
    to: '',
    tests: translateTests,
  },
  {
    guard: 'values are not set where the node is hidden',
    file: 'runtime/content/translations/translation.ts',
    from: "  if (previous?.type === 'hidden') {\n    if (!isSetting) return previous;",
    to: "  if (previous?.type === 'hidden') {\n    if (!isSetting || isSetting) return previous;",
    tests: translateTests,
  },
  {
    guard: 'UNRELATE by an id finds no deleted node that the caller may not read',
    file: 'actors/branch/nodes/relations.ts',
    from: 'if (present !== undefined) return edit.access.mayRead(workspace, present) ? id : undefined;',
    to: 'if (present !== undefined) return id;',
    tests: errorTests,
  },
];
