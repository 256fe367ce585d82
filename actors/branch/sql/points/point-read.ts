import { isNodeId } from '#runtime/content/content-node.ts';
import { LargeValue } from '#runtime/shard/large-value.ts';
import type { Execution } from '#runtime/sql-exec/execution.ts';
import { OtherValueSignal, type RunValues, valueInRun } from '#runtime/sql-plan/kept/with-values.ts';
import { toJson } from '#runtime/sql-values/to-json.ts';
import type { NodeRecord } from '#runtime/tree/record/node-record.ts';
import { isHidden } from '../../reads/localize.ts';
import type { BranchTables } from '../branch-tables.ts';
import { readMoment } from '../read-moment.ts';
import { isPath } from '../tables/find-paths.ts';
import { NodeRow } from '../tables/node-row.ts';
import { NodeTable, type RowLocale } from '../tables/node-table.ts';
import type { PointPlan } from './point-plan.ts';

/** Estimated nanoseconds of a look-up, of a row, of a value, and of a byte of the record. */
export const LOOK_UP_WORK: number = 8_000;
const ROW_WORK = 2_500;
const VALUE_WORK = 150;
const BYTE_WORK = 3.5;

/** Estimated nanoseconds of a row. @param bytes of its record */
export function rowWork(columns: number, bytes: number): number {
  return ROW_WORK + columns * VALUE_WORK + bytes * BYTE_WORK;
}

/**
 * The rows of a point query as texts: one for each locale, none where there is no node that the caller may read. They are the same
 * as those of the general way, which plans the query and makes values of each column first.
 *
 * @param values of the parameters of this run
 * @returns undefined: it has to be read in the general way, because the node is large, or the value is refused; yields where the work may pause
 * @throws {ServiceError} as `NodeTables.choose`
 */
export function* pointRows(
  tables: BranchTables,
  plan: PointPlan,
  values: RunValues,
  execution: Execution,
): Generator<undefined, readonly string[] | undefined> {
  const key = keyOf(plan, values);
  if (key === undefined) return undefined;
  const table = new NodeTable(tables, plan.table, [], execution, readMoment(tables, plan.table.revision));
  execution.spend(LOOK_UP_WORK);
  const record = storedNode(table, plan, key);
  if (record instanceof LargeValue || record?.isLarge === true) return undefined;
  if (record === undefined || !table.access.mayRead(table.workspace, record)) return [];
  const texts: string[] = [];
  for (const locale of table.locales) {
    execution.spend(rowWork(plan.columns.length, record.bytes.length));
    if (locale.chain.length > 0 && record.hasTranslations && isHidden(record, locale.chain)) continue;
    texts.push(yield* rowText(table, plan, record, locale));
  }
  table.moment.rest();
  return texts;
}

/** What is looked up; undefined: the value is none for its column, which the general way tells. */
export function keyOf({ key }: PointPlan, values: RunValues): string | undefined {
  try {
    return valueInRun(key, values) as string;
  } catch (error) {
    if (error instanceof OtherValueSignal) return undefined;
    throw error;
  }
}

/** The plan of a point query as logs show it. */
export function pointPlanText({ by }: PointPlan): string {
  return by === 'id' ? 'NodeIdScan: id=? (rows=1)' : 'PathIndexScan: path=? (rows=1)';
}

function storedNode(
  { moment, scope, workspace }: NodeTable,
  { by }: PointPlan,
  key: string,
): NodeRecord | LargeValue | undefined {
  if (scope.isNone) return undefined;
  const { tree } = moment;
  if (by === 'id') return isNodeId(key) ? tree.quickById(workspace, key) : undefined;
  const id = isPath(key) ? tree.idAt(workspace, key) : undefined;
  return id === undefined ? undefined : tree.quickById(workspace, id);
}

function* rowText(
  table: NodeTable,
  { columns, needs, needsBesideProperties }: PointPlan,
  record: NodeRecord,
  { chain, locale }: RowLocale,
): Generator<undefined, string> {
  const shown = table.access.shownFields(table.workspace, record);
  // What is stored is what is shown, unless something is hidden or translated.
  const isStored = shown.isAll && (chain.length === 0 || !record.hasTranslations);
  const row = new NodeRow(record, shown, locale, chain);
  yield* row.prepare(table, isStored ? needsBesideProperties : needs);
  let text = '';
  for (const { isProperties, opening, read, type, wanted } of columns) {
    text += opening;
    if (isProperties && isStored) text += record.propertiesText;
    else {
      const value = (read ?? table.reader.slot(wanted))(row);
      text += value === null ? 'null' : JSON.stringify(toJson(value, type));
    }
  }
  return `${text}}`;
}
