import type { GuardMutant } from './guard-mutant.ts';

const schemaTests = ['test/actors/branch/sql/changes/schema/change-schema.test.ts'];
const syntaxTests = ['test/runtime/sql-syntax/schema-statements.test.ts'];
const accessTests = ['test/runtime/sql-syntax/access-statements.test.ts'];

/** The guards of statements about the schema, and of the grammar of grants. */
export const sqlSchemaGuards: readonly GuardMutant[] = [
  {
    guard: 'nothing of the schema is told to callers who may not change it',
    file: 'actors/branch/sql/changes/schema/change-schema.ts',
    from: '  requireAdministrator(edit.turn.caller.policy, edit.turn.caller.principal);\n',
    to: '',
    tests: schemaTests,
  },
  {
    guard: 'statements of the schema count as work',
    file: 'actors/branch/sql/changes/schema/change-schema.ts',
    from: '  edit.turn.budget.spend(DEFINITION_WORK);\n',
    to: '',
    tests: schemaTests,
    only: 'counts its statements',
  },
  {
    guard: 'CREATE does not replace',
    file: 'actors/branch/sql/changes/schema/change-schema.ts',
    from: '  requireNewName(edit.turn, statement.target, name);\n',
    to: '',
    tests: schemaTests,
    only: 'does not replace',
  },
  {
    guard: 'a node type is not altered as a mixin',
    file: 'actors/branch/sql/changes/schema/definition-targets.ts',
    from: 'if (isOfKind(kind, stored)) return stored',
    to: 'if (kind.length > 0) return stored',
    tests: schemaTests,
    only: 'refuse a node type as mixin',
  },
  {
    guard: 'a path of a property is short',
    file: 'actors/branch/sql/changes/schema/member-list.ts',
    from: 'if (path.length <= PROPERTY_SCHEMA_DEPTH_MAX) return;',
    to: 'if (path.length >= 0) return;',
    tests: schemaTests,
    only: 'bounds paths and names',
  },
  {
    guard: 'a property is not added over another one',
    file: 'actors/branch/sql/changes/schema/member-list.ts',
    from: "        if (known !== undefined) throw this.#error(node.path, 'exists already', node.span);\n",
    to: '',
    tests: schemaTests,
    only: 'refuses',
  },
  {
    guard: 'a revision lists a definition once',
    file: 'actors/branch/edit-scope.ts',
    from: "if (operation === 'modified') return before === 'added' ? 'added' : 'modified';",
    to: '',
    tests: schemaTests,
    only: 'a transaction',
  },
  {
    guard: 'the job of an index is listed when the statement is answered',
    file: 'protocols/rest/sql/rest-surface.ts',
    from: '    if (mayIndex.test(command.sql)) await this.#context.jobs.indexBuildListed(found.actor);\n',
    to: '',
    tests: ['test/scenarios/listed-index-build.test.ts'],
    only: 'a statement of SQL',
  },
  {
    guard: 'braces nest as deep as parentheses',
    file: 'runtime/sql-syntax/tokenize.ts',
    from: 'new Set([leftParenthesis, leftBracket, leftBrace, keywords.CASE])',
    to: 'new Set([leftParenthesis, leftBracket, keywords.CASE])',
    tests: syntaxTests,
    only: 'nest too deeply',
  },
  {
    guard: 'the types of properties count into the depth of the tree',
    file: 'runtime/sql-syntax/rebuild-schema.ts',
    from: "'array-type': (node, map) => ({ ...node, of: map(node.of) }),",
    to: "'array-type': (node) => node,",
    tests: syntaxTests,
    only: 'nest too deeply',
  },
  {
    guard: 'a clause stands once',
    file: 'runtime/sql-syntax/schema-grammar.ts',
    from: 'if (written.has(word)) throw this.clauseTwice(word, token.startOffset);',
    to: '',
    tests: syntaxTests,
    only: 'what is refused',
  },
  {
    guard: 'a comma in a string or in brackets belongs to the condition of a grant',
    file: 'runtime/sql-syntax/grant-condition.ts',
    from: 'if (opening.has(image)) depth += 1;',
    to: 'if (opening.has(image)) depth += 0;',
    tests: accessTests,
  },
  {
    guard: 'the signs of conditions stand in conditions only',
    file: 'runtime/sql-syntax/grant-condition.ts',
    from: '  if (!grants(tokens)) return tokens;\n',
    to: '',
    tests: ['test/runtime/sql-syntax/queries.test.ts', 'test/runtime/sql-syntax/change-statements.test.ts'],
  },
  {
    guard: 'a permission names what it is for',
    file: 'runtime/sql-syntax/grant-grammar.ts',
    from: 'if (path === undefined) {',
    to: 'if (operations.length === 0) {',
    tests: accessTests,
    only: 'what is refused',
  },
];
