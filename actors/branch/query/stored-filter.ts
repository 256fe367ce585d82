import { allFields, type FieldFilter } from '#runtime/access/field-filter.ts';
import type { RequestBudget } from '#runtime/budget/request-budget.ts';
import { ROOT_ID } from '#runtime/content/content-node.ts';
import type { RowPredicate } from '#runtime/scan/row-filter.ts';
import { Column } from '#runtime/tree/record/record-layout.ts';
import type { RecordView } from '#runtime/tree/record/record-view.ts';
import { WantedText } from '#runtime/tree/record/wanted-text.ts';
import type { Condition } from './dsl-filter.ts';
import { type FilterWeight, isQuickInPlace, rowWork } from './dsl-match.ts';
import { DslRow, holds } from './dsl-row.ts';
import { StoredRow } from './stored-row.ts';

const root = new WantedText(ROOT_ID);

/**
 * The condition that a node at the root may match a filter, for rows where they are stored: it does not hold only where the
 * node does not match. So most nodes are left out before they are copied and verified.
 *
 * @param weight of the filter
 * @param shown the properties of a row that the caller may read, undefined where the row does not tell; absent: all that the
 *   filter names, in every row
 * @returns undefined for a filter that asks for something that is not stored with the node
 */
export function storedFilter(
  filter: Condition,
  weight: FilterWeight,
  budget: RequestBudget,
  shown: (view: RecordView) => FieldFilter | undefined = () => allFields,
): RowPredicate | undefined {
  if (asksForDerived(filter)) return undefined;
  return (view) => {
    if (!view.columnEquals(Column.parentId, root)) return false;
    // What takes longer is done in steps, which a scan cannot wait for.
    if (!isQuickInPlace(weight, view.length)) return true;
    const fields = shown(view);
    if (fields === undefined || holds(filter, new DslRow(new StoredRow(view), noType, fields))) return true;
    budget.spend(rowWork(weight, view.length));
    return false;
  };
}

function noType(): undefined {
  return undefined;
}

/** Whether a filter names a property that is derived from the type of the node. */
function asksForDerived(condition: Condition): boolean {
  switch (condition.kind) {
    case 'and':
    case 'or':
      return condition.parts.some(asksForDerived);
    case 'not':
      return asksForDerived(condition.part);
    case 'term':
      return condition.field.kind === 'property' && condition.field.keys[0]?.startsWith('$') === true;
  }
}
