import type { Expression, Query } from '#runtime/sql-syntax/nodes/syntax-nodes.ts';
import type { SqlValue } from '#runtime/sql-values/sql-value.ts';
import type { LimitPlan } from '../../bound/bound-statement.ts';
import type { StatementBinding } from '../statement-binding.ts';
import type { QueryContext } from './query-context.ts';

/**
 * LIMIT and OFFSET of a query: literals or parameters that are whole numbers and not negative; NULL is none.
 *
 * @returns undefined when there are none
 * @throws {ServiceError} `VALIDATION_FAILED`: `Invalid LIMIT value: …`
 */
export function bindLimits(
  { limit, offset }: Query,
  { binding }: QueryContext,
): Pick<LimitPlan, 'kind' | 'limit' | 'offset'> | undefined {
  if (limit === undefined && offset === undefined) return undefined;
  return {
    kind: 'limit',
    limit: limit === undefined ? undefined : rowCount('LIMIT', limit, binding),
    offset: (offset === undefined ? undefined : rowCount('OFFSET', offset, binding)) ?? 0,
  };
}

function rowCount(
  clause: 'LIMIT' | 'OFFSET',
  node: Expression,
  binding: StatementBinding,
): number | undefined {
  if (node.kind === 'literal' || node.kind === 'parameter') {
    const value = node.kind === 'literal' ? node.value : binding.parameter(node.index, node.span).value;
    if (value === null) return undefined;
    // The text of a literal is refused; that of a parameter is how some clients send every value.
    const count = wholeNumber(value, node.kind === 'parameter');
    if (count !== undefined) return count;
  }
  const shown =
    node.kind === 'parameter'
      ? String(binding.parameter(node.index, node.span).value)
      : binding.textOf(node.span);
  throw binding.error(`Invalid ${clause} value: ${shown}`, node.span);
}

function wholeNumber(value: SqlValue, isTextAllowed: boolean): number | undefined {
  if (typeof value === 'string' && isTextAllowed && /^\d{1,19}$/.test(value))
    return wholeNumber(BigInt(value), false);
  if (typeof value === 'bigint' && value >= 0n)
    return value > BigInt(Number.MAX_SAFE_INTEGER) ? Number.MAX_SAFE_INTEGER : Number(value);
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}
