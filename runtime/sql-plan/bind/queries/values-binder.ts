import type { ValuesNode } from '#runtime/sql-syntax/nodes/syntax-nodes.ts';
import type { BoundExpression, BoundQuery, RelationColumn } from '../../bound/bound-statement.ts';
import { OUTPUT_COLUMNS_MAX, VALUES_FIELDS_MAX } from '../limits.ts';
import { NameScope } from '../scopes/name-scope.ts';
import { expressionContext, type QueryContext } from './query-context.ts';

/** Binds `VALUES (…), (…)`. Its columns are `column1`, `column2` and so on, each of the common type of its values. */
export function bindValues(node: ValuesNode, context: QueryContext): BoundQuery {
  const { binding, typing } = context;
  binding.countSelect(node.span);
  const width = node.rows[0]?.length ?? 0;
  if (width > OUTPUT_COLUMNS_MAX)
    throw binding.error(`VALUES may have at most ${OUTPUT_COLUMNS_MAX} columns`, node.span);
  if (width * node.rows.length > VALUES_FIELDS_MAX)
    throw binding.error(`VALUES may have at most ${VALUES_FIELDS_MAX} fields`, node.span);
  const scope = new NameScope([], context.outer);
  const expressions = expressionContext(context, scope, 'VALUES');
  const rows = node.rows.map((row) => {
    if (row.length !== width)
      throw binding.error(
        'All rows of VALUES must have the same number of columns',
        row[0]?.span ?? node.span,
      );
    return row.map((field) => expressions.bind(field, expressions));
  });
  const columns: RelationColumn[] = [];
  const typed: BoundExpression[][] = rows.map(() => []);
  for (let index = 0; index < width; index += 1) {
    const { type, expressions: values } = typing.common(
      rows.map((row) => row[index]!),
      node.rows[0]![index]!.span,
    );
    columns.push({ name: `column${index + 1}`, type });
    for (const [row, value] of values.entries()) typed[row]!.push(value);
  }
  const relation = binding.newRelation();
  return {
    plan: { kind: 'values', relation, columns, rows: typed },
    output: columns.map(({ name, type }, column) => ({
      name,
      expression: { kind: 'column', type, relation, column },
    })),
  };
}
