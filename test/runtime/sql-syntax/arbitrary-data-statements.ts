import fc from 'fast-check';
import type {
  Assignment,
  DataStatement,
  ReturningClause,
  WrittenColumn,
} from '#runtime/sql-syntax/nodes/data-nodes.ts';
import type { Expression, Query, SelectItem } from '#runtime/sql-syntax/nodes/syntax-nodes.ts';
import { arbitraryName, arbitraryWorkspace, perhaps } from './arbitrary-given.ts';

const span = { start: 0, end: 0 };

/** Any statement that writes rows, over expressions and queries. */
export function arbitraryDataStatement(
  expression: fc.Arbitrary<Expression>,
  query: fc.Arbitrary<Query>,
): fc.Arbitrary<DataStatement> {
  const column: fc.Arbitrary<WrittenColumn> = arbitraryName.map((name) => ({ name, span }));
  const item: fc.Arbitrary<SelectItem> = fc.oneof<fc.Arbitrary<SelectItem>[]>(
    perhaps(arbitraryName).map((table) => ({ kind: 'star', table, span })),
    fc
      .tuple(expression, perhaps(arbitraryName))
      .map(([inner, alias]) => ({ kind: 'item', expression: inner, alias })),
  );
  const returning: fc.Arbitrary<ReturningClause | undefined> = perhaps(
    fc.array(item, { minLength: 1, maxLength: 2 }).map((items) => ({ items, span })),
  );
  const assignment: fc.Arbitrary<Assignment> = fc.record({ column, value: expression });
  return fc.oneof<fc.Arbitrary<DataStatement>[]>(
    fc.record({
      kind: fc.constant('insert' as const),
      isUpsert: fc.boolean(),
      table: arbitraryWorkspace,
      columns: fc.array(column, { minLength: 1, maxLength: 3 }),
      source: query,
      returning,
      span: fc.constant(span),
    }),
    fc.record({
      kind: fc.constant('update' as const),
      table: arbitraryWorkspace,
      assignments: fc.array(assignment, { minLength: 1, maxLength: 2 }),
      where: perhaps(expression),
      returning,
      span: fc.constant(span),
    }),
    fc.record({
      kind: fc.constant('delete' as const),
      table: arbitraryWorkspace,
      where: perhaps(expression),
      returning,
      span: fc.constant(span),
    }),
  );
}
