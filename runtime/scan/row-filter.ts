import { DecisionWork } from '#runtime/access/decision-work.ts';
import type { ReadableNode, ReadScope } from '#runtime/access/policy.ts';
import type { RequestBudget } from '#runtime/budget/request-budget.ts';
import type { JsonValue } from '#runtime/content/values/json-value.ts';
import { tooLong } from '#runtime/rel/ports.ts';
import { wantedProperty } from '#runtime/tree/record/property-table.ts';
import { Column } from '#runtime/tree/record/record-layout.ts';
import type { RecordView } from '#runtime/tree/record/record-view.ts';
import { WantedText } from '#runtime/tree/record/wanted-text.ts';

/** A condition on a stored row. It looks at the stored bytes, and must read nothing else. */
export type RowPredicate = (row: RecordView) => boolean;

/** Estimated nanoseconds of a question about a row in place, besides what its permissions take. */
const CONDITION_WORK = 2_000;

/** Up to this many types, their texts are compared with the stored bytes; of more the stored text is decoded. */
const COMPARED_TYPES = 8;

/**
 * The condition that a row is in a scope and that a predicate holds for it.
 *
 * @returns undefined where that is so for every row
 */
export function rowFilter(
  scope: ReadScope,
  predicate: RowPredicate | undefined,
  budget?: RequestBudget,
): RowPredicate | undefined {
  const inScope = scopeFilter(scope, budget);
  if (inScope === undefined || predicate === undefined) return inScope ?? predicate;
  return (row) => inScope(row) && predicate(row);
}

/**
 * As {@link isInScope}, for stored rows; undefined where everything is in the scope. It holds where a row in place does not
 * tell: the node has to be asked about again.
 *
 * @param budget counts the work of conditions
 */
export function scopeFilter(
  { allows, isAll, isNone, nodeTypes, tops }: ReadScope,
  budget?: RequestBudget,
): RowPredicate | undefined {
  if (isAll) return undefined;
  if (isNone) return () => false;
  const hasType = nodeTypes && typeFilter(nodeTypes);
  const isBelow = tops && topsFilter(tops);
  const work = new DecisionWork((nanoseconds) => budget?.spend(nanoseconds));
  const holds = (row: RecordView): boolean => {
    if (allows === undefined) return true;
    budget?.spend(CONDITION_WORK);
    return allows(new ReadableRow(row, work)) !== false;
  };
  return (row) => hasType?.(row) !== false && isBelow?.(row) !== false && holds(row);
}

function typeFilter(nodeTypes: ReadonlySet<string>): RowPredicate {
  if (nodeTypes.size > COMPARED_TYPES) return (row) => nodeTypes.has(row.column(Column.nodeType) as string);
  const wanted = Array.from(nodeTypes, (name) => new WantedText(name));
  return (row) => wanted.some((name) => row.columnEquals(Column.nodeType, name));
}

function topsFilter(tops: readonly string[]): RowPredicate | undefined {
  if (tops.includes('/')) return undefined;
  const wanted = tops.map((top) => ({ at: new WantedText(top), below: new WantedText(`${top}/`) }));
  return (row) =>
    wanted.some(
      ({ at, below }) => row.columnStartsWith(Column.path, below) || row.columnEquals(Column.path, at),
    );
}

/** A row in place, as conditions look at it. */
export class ReadableRow implements ReadableNode {
  readonly isInPlace = true;
  readonly work: DecisionWork;
  readonly #row: RecordView;

  constructor(row: RecordView, work: DecisionWork) {
    this.#row = row;
    this.work = work;
  }

  get id(): string {
    return this.#row.column(Column.id) as string;
  }

  get name(): string {
    return this.#row.column(Column.name) as string;
  }

  get path(): string {
    return this.#row.column(Column.path) as string;
  }

  get nodeType(): string {
    return this.#row.column(Column.nodeType) as string;
  }

  get createdBy(): string {
    return this.#row.column(Column.createdBy) as string;
  }

  get updatedBy(): string {
    return this.#row.column(Column.updatedBy) as string;
  }

  get ownerId(): string | null {
    return this.#row.column(Column.ownerId);
  }

  property(name: string, lengthMax = Number.POSITIVE_INFINITY): JsonValue | undefined | typeof tooLong {
    const wanted = wantedProperty(name);
    // Most records are shorter than what may be decoded.
    if (this.#row.length > lengthMax && this.#row.propertyLength(wanted) > lengthMax) return tooLong;
    return this.#row.property(wanted);
  }
}
