import type { GuardMutant } from './guard-mutant.ts';

const changeTests = ['test/runtime/sql-plan/bind-changes.test.ts'];
const cacheTests = ['test/runtime/sql-syntax/text-cache.test.ts'];
const pageTests = [
  'test/actors/branch/sql/keyset-paging.test.ts',
  'test/actors/branch/sql/access-paths.test.ts',
];

/** The guards of what a statement may write, and of how it is read and explained. */
export const sqlChangeGuards: readonly GuardMutant[] = [
  {
    guard: 'UPDATE and DELETE need a condition that chooses nodes',
    file: 'runtime/sql-plan/bind/data/chosen-nodes.ts',
    from: 'if (conjuncts.length === 0) {',
    to: 'if (conjuncts.length < 0) {',
    tests: changeTests,
  },
  {
    guard: 'a condition on the branch that names none to write to is refused',
    file: 'runtime/sql-plan/bind/data/chosen-nodes.ts',
    from: "node.name !== '__branch' ||",
    to: 'node.name.length > 0 ||',
    tests: changeTests,
  },
  {
    guard: 'the tables of the schema are not written',
    file: 'runtime/sql-plan/bind/data/changed-table.ts',
    from: 'if (isSchemaTable(name)) {',
    to: 'if (isSchemaTable(name) && isBare && name.length < 0) {',
    tests: changeTests,
  },
  {
    guard: 'a subquery in UPDATE, DELETE and RETURNING is refused',
    file: 'runtime/sql-plan/bind/data/chosen-nodes.ts',
    from: 'bindQuery: (query) => refuse(query.span)',
    to: 'bindQuery: (query, inner) => (query.span.start < 0 ? refuse(query.span) : context.bindQuery(query, inner))',
    tests: changeTests,
  },
  {
    guard: 'an UPDATE is not told another moment',
    file: 'runtime/sql-plan/bind/data/chosen-nodes.ts',
    from: '  __revision:\n',
    to: '  __branch:\n',
    tests: changeTests,
  },
  {
    guard: 'an UPDATE is not told another language',
    file: 'runtime/sql-plan/bind/data/chosen-nodes.ts',
    from: '  locale:\n',
    to: '  __branch:\n',
    tests: changeTests,
  },
  {
    guard: 'the condition is evaluated again for the nodes of a part',
    file: 'runtime/sql-plan/bind/data/chosen-nodes.ts',
    from: '[...first, ...this.#conditions]',
    to: 'first.length > 0 ? first : this.#conditions',
    tests: changeTests,
  },
  {
    guard: 'a node keeps its id',
    file: 'runtime/sql-plan/bind/data/written-columns.ts',
    from: 'if (isOneOf(updatedColumns, name)) return name;',
    to: `if (isOneOf(updatedColumns, name) || name === 'id') return name as UpdatedColumn;`,
    tests: changeTests,
  },
  {
    guard: 'a node keeps its type',
    file: 'runtime/sql-plan/bind/data/written-columns.ts',
    from: 'if (isOneOf(updatedColumns, name)) return name;',
    to: `if (isOneOf(updatedColumns, name) || name === 'node_type') return name as UpdatedColumn;`,
    tests: changeTests,
  },
  {
    guard: 'an INSERT does not set what the server sets',
    file: 'runtime/sql-plan/bind/data/written-columns.ts',
    from: 'if (isOneOf(insertedColumns, name)) return name;',
    to: 'if (insertedColumns.length > 0) return name as InsertedColumn;',
    tests: changeTests,
  },
  {
    guard: 'an INSERT has a path and a type',
    file: 'runtime/sql-plan/bind/data/written-columns.ts',
    from: 'if (missing === undefined) return columns;',
    to: 'if (missing !== null) return columns;',
    tests: changeTests,
  },
  {
    guard: 'a column is written once',
    file: 'runtime/sql-plan/bind/data/written-columns.ts',
    from: 'if (columns.indexOf(column) === index) continue;',
    to: 'if (index >= 0) continue;',
    tests: changeTests,
  },
  {
    guard: 'an INSERT gives a value for each column',
    file: 'runtime/sql-plan/bind/data/insert-binder.ts',
    from: 'if (count === wanted) return;',
    to: 'if (count >= 0) return;',
    tests: changeTests,
  },
  {
    guard: 'properties are an object',
    file: 'runtime/sql-plan/bind/data/written-values.ts',
    from: '!isJsonObject(json.value.value)',
    to: 'json.value.value === undefined',
    tests: changeTests,
  },
  {
    guard: 'a statement names one node only where nothing else is asked',
    file: 'runtime/sql-plan/bind/data/point.ts',
    from: ` || another !== undefined) return undefined;`,
    to: `) return undefined;\n  void another;`,
    tests: changeTests,
  },
  {
    guard: 'the rows of an UPDATE have no stamps',
    file: 'runtime/sql-plan/bind/data/returning-binder.ts',
    from: `statement.kind === 'update' ? beforeStamps`,
    to: `statement.kind === 'insert' ? beforeStamps`,
    tests: changeTests,
  },
  {
    guard: 'aggregates are refused in RETURNING',
    file: 'runtime/sql-plan/bind/data/returning-binder.ts',
    from: 'if (isAggregate(node.name))',
    to: 'if (isAggregate(node.name) && node.span.start < 0)',
    tests: changeTests,
  },
  {
    guard: 'texts that were read are bounded',
    file: 'runtime/sql-syntax/text-cache.ts',
    from: 'this.#length <= this.#bounds.lengthMax && ',
    to: '',
    tests: cacheTests,
  },
  {
    guard: 'a long text is not kept',
    file: 'runtime/sql-syntax/text-cache.ts',
    from: 'if (this.#weak.length > this.#bounds.weakMax) this.#weak.shift();',
    to: '',
    tests: cacheTests,
  },
  {
    guard: 'a long text is found by itself alone',
    file: 'runtime/sql-syntax/text-cache.ts',
    from: 'value !== undefined && this.#textOf(value) === text',
    to: 'value !== undefined',
    tests: cacheTests,
  },
  {
    guard: 'only the id of a node is a place among ids',
    file: 'actors/branch/sql/tables/row-order.ts',
    from: `typeof after === 'string' && isNodeId(after)`,
    to: `typeof after === 'string'`,
    tests: pageTests,
  },
];
