import type { Comparison } from '#runtime/index/key-range.ts';
import type { BoundExpression } from '#runtime/sql-plan/bound/bound-statement.ts';
import { CREATED_AT_INDEX, UPDATED_AT_INDEX } from '#runtime/tree/index-name.ts';
import { comparedColumn, comparisonOf } from './known-conditions.ts';

/** A time of nodes that indexes have. */
export type TimeColumn = 'created_at' | 'updated_at';

/** A condition on a time of nodes. */
export interface TimeCondition {
  readonly condition: BoundExpression;
  readonly column: TimeColumn;
  /** Hold for every text of a time for which the condition holds. */
  readonly where: readonly Comparison[];
}

/** Times whose texts have four digits for the year, in milliseconds: their order is that of texts. */
const MS_MIN = Date.parse('0001-01-01T00:00:00Z');
const MS_MAX = Date.parse('9999-12-31T23:59:59Z');

/** What a condition says about a time. @returns undefined for any other condition */
export function timeCondition(condition: BoundExpression, relation: number): TimeCondition | undefined {
  const known = comparisonOf(condition);
  if (known === undefined) return undefined;
  const column = comparedColumn(known.operand, relation);
  if (column !== 'created_at' && column !== 'updated_at') return undefined;
  const [micros, ...others] = known.values;
  if (typeof micros !== 'bigint' || others.length > 0) return undefined;
  const ms = Number(micros / 1_000n);
  if (ms < MS_MIN || ms > MS_MAX) return undefined;
  const where: Comparison[] = [];
  const { operator } = known;
  // Nodes have milliseconds: one more on each side takes in what is between two of them.
  if (operator !== '<' && operator !== '<=') where.push({ operator: 'gte', value: timeText(ms - 1) });
  if (operator !== '>' && operator !== '>=') where.push({ operator: 'lte', value: timeText(ms + 1) });
  return { condition, column, where };
}

function timeText(ms: number): string {
  return new Date(ms).toISOString();
}

/** The time that an index has. */
export function timeOfIndex(index: string): TimeColumn | undefined {
  if (index === CREATED_AT_INDEX) return 'created_at';
  return index === UPDATED_AT_INDEX ? 'updated_at' : undefined;
}

/** The time that a column of a compound index has. */
export function timeOfColumn(property: string): TimeColumn | undefined {
  if (property === '__created_at') return 'created_at';
  return property === '__updated_at' ? 'updated_at' : undefined;
}
