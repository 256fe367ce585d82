import type { QueryBody, SetOperationNode } from '#runtime/sql-syntax/nodes/syntax-nodes.ts';
import type { BoundQuery, OutputColumn, RelationColumn } from '../../bound/bound-statement.ts';
import type { QueryContext } from './query-context.ts';

/**
 * Binds a set operation. Its columns have the names of its first arm and the common types of both.
 *
 * @param bindArm binds an arm; chains that lean to the left are taken apart here, because they may be long
 */
export function bindSetOperation(
  node: SetOperationNode,
  context: QueryContext,
  bindArm: (arm: QueryBody) => BoundQuery,
): BoundQuery {
  const chain: SetOperationNode[] = [];
  let first: QueryBody = node;
  while (first.kind === 'set-operation') {
    chain.push(first);
    first = first.left;
  }
  let bound = bindArm(first);
  for (let link = chain.pop(); link !== undefined; link = chain.pop())
    bound = combined(link, bound, bindArm(link.right), context);
  return bound;
}

function combined(
  { operator, isAll, span }: SetOperationNode,
  left: BoundQuery,
  right: BoundQuery,
  context: QueryContext,
): BoundQuery {
  const { binding } = context;
  const arms = alignedArms(operator.toUpperCase(), left, right, span, context);
  const relation = binding.newRelation();
  return {
    plan: { kind: 'set-operation', relation, columns: arms.columns, operator, isAll, ...arms.queries },
    output: arms.columns.map(({ name, type }, column) => ({
      name,
      expression: { kind: 'column', type, relation, column },
    })),
  };
}

/** Two queries brought to the same types of columns. @throws {ServiceError} `VALIDATION_FAILED` when they do not fit */
export function alignedArms(
  name: string,
  left: BoundQuery,
  right: BoundQuery,
  span: SetOperationNode['span'],
  { binding, typing }: QueryContext,
): {
  readonly columns: readonly RelationColumn[];
  readonly queries: { readonly left: BoundQuery; readonly right: BoundQuery };
} {
  const [count, other] = [left.output.length, right.output.length];
  if (count !== other)
    throw binding.error(
      `Each side of ${name} must have the same number of columns, got ${count} and ${other}`,
      span,
    );
  const columns: RelationColumn[] = [];
  const leftOutput: OutputColumn[] = [];
  const rightOutput: OutputColumn[] = [];
  for (const [index, column] of left.output.entries()) {
    const values = [column.expression, right.output[index]!.expression];
    const { type, expressions } = typing.common(values, span);
    columns.push({ name: column.name, type });
    leftOutput.push({ name: column.name, expression: expressions[0]! });
    rightOutput.push({ name: column.name, expression: expressions[1]! });
  }
  return {
    columns,
    queries: {
      left: { plan: left.plan, output: leftOutput },
      right: { plan: right.plan, output: rightOutput },
    },
  };
}
