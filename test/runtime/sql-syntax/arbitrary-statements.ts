import fc from 'fast-check';
import type {
  Expression,
  FrameBound,
  Query,
  QueryBody,
  SelectItem,
  SortItem,
  Source,
  WindowClause,
} from '#runtime/sql-syntax/nodes/syntax-nodes.ts';
import type { Statement } from '#runtime/sql-syntax/nodes/statement-nodes.ts';
import { arbitraryAccessStatement } from './arbitrary-access-statements.ts';
import { arbitraryBranchStatement } from './arbitrary-branch-statements.ts';
import { arbitraryDataStatement } from './arbitrary-data-statements.ts';
import { arbitrarySchemaStatement } from './arbitrary-schema-statements.ts';
import { arbitraryTreeStatement } from './arbitrary-tree-statements.ts';

/** Trees as the parser makes them, of every kind of node, without meaningful places. */

const span = { start: 0, end: 0 };
const anyName = fc.constantFrom(
  'a',
  'b2',
  'Name',
  'select',
  'values',
  'first',
  'a b',
  'a"b',
  'ünder',
  '$x',
  '_',
  '1a',
  'current_date',
);
const bareName = fc.constantFrom('NodeTypes', 'things', 'T1');
const functionName = fc.constantFrom(
  'F',
  'LEFT',
  'COUNT',
  'EXTRACT',
  'TRIM',
  'SUBSTRING',
  'POSITION',
  'CURRENT_DATE',
  'EXISTS',
  'MY FUNCTION',
);
const text = fc.constantFrom('', 'x', "it's", '$$', '--', 'a\nb', ';', '/*', '"');

const leaf: fc.Arbitrary<Expression> = fc.oneof(
  fc.nat({ max: 2_147_483_647 }).map((value): Expression => ({ kind: 'literal', type: 'int', value, span })),
  fc
    .bigInt({ min: 2_147_483_648n, max: 9_223_372_036_854_775_807n })
    .map((value): Expression => ({ kind: 'literal', type: 'bigint', value, span })),
  fc
    .double({ min: 0, noNaN: true, noDefaultInfinity: true })
    .filter((value) => !Object.is(value, -0))
    .map((value): Expression => ({ kind: 'literal', type: 'double', value, span })),
  text.map((value): Expression => ({ kind: 'literal', type: 'text', value, span })),
  fc.boolean().map((value): Expression => ({ kind: 'literal', type: 'boolean', value, span })),
  fc.constantFrom<Expression>(
    { kind: 'literal', type: 'null', value: null, span },
    { kind: 'literal', type: 'bigint', value: -(2n ** 63n), span },
  ),
  text.map((value): Expression => ({ kind: 'interval', text: value, span })),
  fc.nat({ max: 20 }).map((index): Expression => ({ kind: 'parameter', index, span })),
  fc
    .tuple(fc.option(anyName, { nil: undefined }), anyName)
    .map(([table, name]): Expression => ({ kind: 'column', table, name, span })),
  fc
    .tuple(anyName, fc.array(fc.oneof(anyName, fc.nat({ max: 9 })), { maxLength: 3 }))
    .map(([first, rest]): Expression => ({ kind: 'property-path', steps: [first, ...rest], span })),
);

const binaryOperators = [
  'AND',
  'OR',
  '=',
  '<>',
  '<',
  '<=',
  '>',
  '>=',
  '+',
  '-',
  '*',
  '/',
  '%',
  '||',
  '->',
  '->>',
  '#>',
  '#>>',
  '@>',
  '<@',
  '?',
  '?|',
  '?&',
  '#-',
  '@?',
  '@@',
] as const;
const typeNames = ['int', 'double precision', 'timestamp with time zone', 'vector(3)', 'text'] as const;

/** One depth for all kinds of nodes, or trees would grow without an end. */
const bounded = { depthIdentifier: fc.createDepthIdentifier(), maxDepth: 4 };
const simplest: QueryBody = {
  kind: 'select',
  distinct: undefined,
  items: [{ kind: 'star', table: undefined, span }],
  from: [],
  where: undefined,
  groupBy: [],
  having: undefined,
  span,
};

const { expression, query } = fc.letrec<{
  expression: Expression;
  query: Query;
  body: QueryBody;
  source: Source;
}>((tie) => {
  const child = tie('expression');
  const isNegated = fc.boolean();
  const some = fc.oneof(
    bounded,
    leaf.map((node) => [node]),
    fc.array(child, { minLength: 1, maxLength: 3 }),
  );
  const optional = fc.oneof(bounded, fc.constant(undefined), child);
  const sort: fc.Arbitrary<SortItem[]> = fc.array(
    fc.record({
      expression: child,
      isDescending: fc.boolean(),
      nullsFirst: fc.option(fc.boolean(), { nil: undefined }),
    }),
    { maxLength: 2 },
  );
  const bound: fc.Arbitrary<FrameBound> = fc.oneof(
    fc.record({ kind: fc.constantFrom('unbounded-preceding', 'unbounded-following', 'current-row') }),
    fc.record({ kind: fc.constantFrom('preceding', 'following'), distance: child }),
  );
  const window: fc.Arbitrary<WindowClause> = fc.record({
    partitionBy: fc.array(child, { maxLength: 2 }),
    orderBy: sort,
    frame: fc.option(fc.record({ unit: fc.constantFrom('rows', 'range'), start: bound, end: bound }), {
      nil: undefined,
    }),
    span: fc.constant(span),
  });
  const of = <Kind extends Expression['kind']>(
    kind: Kind,
    parts: {
      [Key in keyof Omit<Extract<Expression, { kind: Kind }>, 'kind' | 'span'>]: fc.Arbitrary<
        Extract<Expression, { kind: Kind }>[Key]
      >;
    },
  ): fc.Arbitrary<Expression> =>
    fc.record({
      kind: fc.constant(kind),
      span: fc.constant(span),
      ...parts,
    }) as unknown as fc.Arbitrary<Expression>;
  const branch = fc.tuple(child, child).map(([when, then]) => ({ when, then }));
  /** A list of one query in parentheses is read as the query. */
  const listItems = some.filter((items) => items.length > 1 || items[0]?.kind !== 'subquery');
  const rightOfQuantifier = fc.oneof(
    child.filter((node) => node.kind !== 'subquery'),
    tie('query'),
  );
  const plainCall = of('call', {
    name: functionName,
    args: fc.array(child, { maxLength: 3 }),
    isStar: fc.constant(false),
    isDistinct: fc.constant(false),
    orderBy: fc.constant([]),
    filter: fc.constant(undefined),
    over: fc.constant(undefined),
  });
  const fullCall = of('call', {
    name: functionName,
    args: some,
    isStar: fc.constant(false),
    isDistinct: fc.boolean(),
    orderBy: sort,
    filter: optional,
    over: fc.option(window, { nil: undefined }),
  });
  const body: fc.Arbitrary<QueryBody> = fc.oneof(
    bounded,
    fc.constant(simplest),
    fc.record({
      kind: fc.constant('select' as const),
      distinct: fc.oneof(fc.constant(undefined), fc.constant('all' as const), some),
      items: fc.array(
        fc.oneof<fc.Arbitrary<SelectItem>[]>(
          fc.record({
            kind: fc.constant('star' as const),
            table: fc.option(anyName, { nil: undefined }),
            span: fc.constant(span),
          }),
          fc.record({
            kind: fc.constant('item' as const),
            expression: child,
            alias: fc.option(anyName, { nil: undefined }),
          }),
        ),
        { minLength: 1, maxLength: 3 },
      ),
      from: fc.oneof(bounded, fc.constant([]), fc.array(tie('source'), { maxLength: 2 })),
      where: optional,
      groupBy: fc.array(child, { maxLength: 2 }),
      having: optional,
      span: fc.constant(span),
    }),
    fc.record({
      kind: fc.constant('values' as const),
      rows: fc.array(some, { minLength: 1, maxLength: 2 }),
      span: fc.constant(span),
    }),
    fc.record({
      kind: fc.constant('set-operation' as const),
      operator: fc.constantFrom('union', 'intersect', 'except'),
      isAll: fc.boolean(),
      left: tie('body'),
      right: tie('body'),
      span: fc.constant(span),
    }),
    // A query in parentheses that is nothing else is read as what stands in it.
    tie('query').filter((inner) => inner.orderBy.length > 0 || inner.limit !== undefined),
  );
  const names = fc.array(anyName, { maxLength: 2 });
  /** Names of columns stand behind an alias only. */
  const alias = fc
    .tuple(fc.option(anyName, { nil: undefined }), names)
    .map(([name, columns]) => ({ alias: name, columnAliases: name === undefined ? [] : columns }));
  const source: fc.Arbitrary<Source> = fc.oneof(
    bounded,
    fc.tuple(fc.boolean(), bareName, anyName, alias).map(
      ([isBare, bare, other, rest]): Source => ({
        kind: 'table',
        name: isBare ? bare : other,
        isBare,
        ...rest,
        span,
      }),
    ),
    fc.tuple(tie('query'), fc.boolean(), alias).map(
      ([inner, isLateral, rest]): Source => ({
        kind: 'derived-table',
        query: inner,
        isLateral,
        ...rest,
        span,
      }),
    ),
    fc.tuple(functionName, fc.array(child, { maxLength: 2 }), fc.boolean(), alias).map(
      ([name, args, isLateral, rest]): Source => ({
        kind: 'function-table',
        name,
        args,
        isLateral,
        ...rest,
        span,
      }),
    ),
    fc
      .tuple(
        fc.constantFrom('inner', 'left', 'right', 'full', 'cross' as const),
        tie('source'),
        tie('source'),
        child,
      )
      .map(
        ([type, left, right, on]): Source => ({
          kind: 'join',
          type,
          left,
          right,
          on: type === 'cross' ? undefined : on,
          span,
        }),
      ),
  );
  return {
    expression: fc.oneof(
      { ...bounded, withCrossShrink: true },
      leaf,
      of('unary', { operator: fc.constantFrom('-', '+', 'NOT'), operand: child }),
      of('binary', { operator: fc.constantFrom(...binaryOperators), left: child, right: child }),
      of('like', { operand: child, pattern: child, ignoresCase: fc.boolean(), isNegated }),
      of('between', { operand: child, low: child, high: child, isNegated }),
      of('in-list', { operand: child, items: listItems, isNegated }),
      of('in-query', { operand: child, query: tie('query'), isNegated }),
      of('quantified', {
        operator: fc.constantFrom('=', '<>', '<', '<=', '>', '>='),
        quantifier: fc.constantFrom('any', 'all'),
        left: child,
        right: rightOfQuantifier,
      }),
      of('is', { operand: child, test: fc.constantFrom('null', 'true', 'false', 'unknown'), isNegated }),
      of('distinct-from', { left: child, right: child, isNegated }),
      of('cast', {
        operand: child,
        type: fc.record({
          name: fc.constantFrom(...typeNames),
          isArray: fc.boolean(),
          span: fc.constant(span),
        }),
      }),
      of('case', {
        operand: optional,
        branches: fc.array(branch, { minLength: 1, maxLength: 2 }),
        otherwise: optional,
      }),
      of('array', { items: fc.array(child, { maxLength: 2 }) }),
      of('subscript', { operand: child, index: child }),
      plainCall,
      fullCall,
      of('row', { items: fc.array(child, { minLength: 2, maxLength: 3 }) }),
      of('subquery', { query: tie('query') }),
      of('exists', { query: tie('query') }),
    ),
    body,
    source,
    query: fc
      .tuple(
        fc.oneof(
          bounded,
          fc.constant([]),
          fc.tuple(anyName, names, tie('query')).map((table) => [table]),
        ),
        fc.boolean(),
        tie('body'),
        sort,
        optional,
        optional,
      )
      .map(
        ([tables, isRecursive, inner, orderBy, limit, offset]): Query => ({
          kind: 'query',
          isRecursive: isRecursive && tables.length > 0,
          commonTables: tables.map(([name, columns, tableQuery]) => ({
            name,
            columns,
            query: tableQuery,
            span,
          })),
          body: inner,
          orderBy,
          limit,
          offset,
          span,
        }),
      ),
  };
});

/** Any expression. */
export const arbitraryExpression: fc.Arbitrary<Expression> = expression;

/** Any query or change that may be explained. */
const explained = fc.oneof(
  query.map((inner) => ({ isAnalyzable: true, inner })),
  arbitraryDataStatement(expression, query).map((inner) => ({ isAnalyzable: false, inner })),
);

/** Any statement. */
export const arbitraryStatement: fc.Arbitrary<Statement> = fc.oneof(
  {
    weight: 3,
    arbitrary: query.map((inner): Statement => ({ kind: 'query-statement', query: inner, span })),
  },
  {
    weight: 1,
    arbitrary: fc.tuple(explained, fc.boolean(), fc.boolean()).map(
      ([{ isAnalyzable, inner }, isAnalyze, isVerbose]): Statement => ({
        kind: 'explain',
        isAnalyze: isAnalyze && isAnalyzable,
        isVerbose,
        statement: inner,
        span,
      }),
    ),
  },
  { weight: 3, arbitrary: arbitraryDataStatement(expression, query) },
  { weight: 3, arbitrary: arbitraryTreeStatement },
  { weight: 3, arbitrary: arbitraryBranchStatement },
  { weight: 3, arbitrary: arbitrarySchemaStatement(expression) },
  { weight: 3, arbitrary: arbitraryAccessStatement },
);
