import type { Expression, SortItem } from '#runtime/sql-syntax/nodes/syntax-nodes.ts';
import type { BoundExpression, BoundQuery } from '../../bound/bound-statement.ts';
import { KEYS_MAX } from '../limits.ts';
import { sortKey } from '../sort-key.ts';
import type { StatementBinding } from '../statement-binding.ts';
import type { QueryContext } from './query-context.ts';

/** A query in an order that is given by its columns alone: of a set operation, of VALUES, of a query in parentheses. */
export function sortedByOutput(
  query: BoundQuery,
  orderBy: readonly SortItem[],
  { binding, typing }: QueryContext,
): BoundQuery {
  if (orderBy.length === 0) return query;
  requireFewKeys('ORDER BY', orderBy, binding);
  const names = positionsByName(query.output);
  const keys = orderBy.map((item) => {
    const node = item.expression;
    const position =
      positionOf(node, 'ORDER BY', query.output.length, binding) ??
      positionNamed(node, names, () => false, binding);
    if (position === undefined) {
      const text = 'ORDER BY can only use names and numbers of columns of the answer here';
      throw binding.error(text, node.span);
    }
    const expression: BoundExpression = query.output[position]!.expression;
    return sortKey(item, typing.settled(expression, node.span));
  });
  return { ...query, plan: { kind: 'sort', input: query.plan, keys } };
}

/** The position that a whole number names; undefined: the expression is none. @throws {ServiceError} out of range */
export function positionOf(
  node: Expression,
  clause: string,
  count: number,
  binding: StatementBinding,
): number | undefined {
  const isNumber = node.kind === 'literal' && (node.type === 'int' || node.type === 'bigint');
  if (!isNumber) return undefined;
  const position = Number(node.value);
  if (position >= 1 && position <= count) return position - 1;
  throw binding.error(`${clause} position ${position} is not in the select list`, node.span);
}

/** The positions of the columns of each name. */
export function positionsByName(
  columns: readonly { readonly name: string }[],
): ReadonlyMap<string, readonly number[]> {
  const positions = new Map<string, number[]>();
  for (const [position, { name }] of columns.entries()) {
    const known = positions.get(name);
    if (known === undefined) positions.set(name, [position]);
    else known.push(position);
  }
  return positions;
}

/**
 * The position of the column of the answer with the name that an expression is; undefined: there is none.
 *
 * @param isSame whether two columns have the same value, so that their name is not ambiguous
 * @throws {ServiceError} `VALIDATION_FAILED` when there are several
 */
export function positionNamed(
  node: Expression,
  names: ReadonlyMap<string, readonly number[]>,
  isSame: (a: number, b: number) => boolean,
  binding: StatementBinding,
): number | undefined {
  if (node.kind !== 'column' || node.table !== undefined) return undefined;
  const [first, ...others] = names.get(node.name) ?? [];
  if (first === undefined) return undefined;
  if (others.some((other) => !isSame(first, other)))
    throw binding.error(`Ambiguous column reference: ${node.name}`, node.span);
  return first;
}

/** @throws {ServiceError} `VALIDATION_FAILED` for too many expressions of a clause */
export function requireFewKeys(
  clause: string,
  keys: readonly (Expression | SortItem)[],
  binding: StatementBinding,
): void {
  const extra = keys[KEYS_MAX];
  if (extra === undefined) return;
  const { span } = 'expression' in extra ? extra.expression : extra;
  throw binding.error(`${clause} may have at most ${KEYS_MAX} expressions`, span);
}
