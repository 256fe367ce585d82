import type { Execution } from '#runtime/sql-exec/execution.ts';
import type { Evaluate } from '#runtime/sql-exec/expressions/evaluate.ts';
import type { Operator, Row } from '#runtime/sql-exec/operator.ts';
import type { TableRead, WantedColumn } from '#runtime/sql-exec/ports.ts';
import type { BoundExpression } from '#runtime/sql-plan/bound/bound-statement.ts';
import { isHidden } from '../../reads/localize.ts';
import { areBestKeys, BestKeys } from './best-keys.ts';
import { type FoundNode, NodeFinder, type StoredConditions } from './node-finder.ts';
import { NodeRow, type RowNeeds } from './node-row.ts';
import { PropertyKey } from './node-values.ts';
import type { RowSource } from './row-source.ts';
import { CollectedRows } from './rows-in-place.ts';
import { neverFails } from '#runtime/sql-exec/lowering/never-fails.ts';
import { type IndexedItem, inTextOrder } from './text-order.ts';
import type { NodeTable } from './node-table.ts';

/** Estimated nanoseconds to make a row, and for each byte of its record. */
const ROW_WORK = 2_500;
const BYTE_WORK = 0.5;

/** Rows of the first batch where it is not known how many are wanted, and of later ones. */
const FIRST_BATCH = 16;
const BATCH_MAX = 1_024;

/** Bytes of records after which a batch ends. */
const BATCH_BYTES = 1 << 20;

/** A row with about as much memory as its record has bytes. */
interface FoundRow extends IndexedItem {
  readonly row: Row;
}

/** What is done with the rows. */
export interface RowUse extends Partial<Pick<TableRead, 'order' | 'limit' | 'isSummed'>> {
  /** Whether the source gives them in the order. */
  readonly isOrdered?: boolean;
}

/** Makes rows of the nodes of a source for which the conditions hold. */
export class NodeScan implements Operator {
  readonly #execution: Execution;
  readonly #inPlace: CollectedRows | undefined;
  readonly #rows: Generator<FoundRow | undefined, void>;
  #batch = FIRST_BATCH;
  #isOver = false;

  constructor(
    table: NodeTable,
    source: RowSource,
    conditions: readonly BoundExpression[],
    wanted: readonly WantedColumn[],
    use: RowUse = {},
  ) {
    this.#execution = table.execution;
    const { isOrdered = false, limit, order = [] } = use;
    // The caller stops behind them: a row more may be found only after many others.
    if (limit !== undefined && (isOrdered || order.length === 0))
      this.#batch = Math.max(1, Math.min(limit, BATCH_MAX));
    const compiled = new CompiledConditions(table, conditions);
    this.#inPlace = compiled.late.length === 0 ? inPlaceOf(table, source, wanted, use) : undefined;
    const rows = rowsOf(table, source, compiled, wanted, this.#inPlace);
    const sortedBy = source.kind === 'scans' ? source.sortedBy : undefined;
    this.#rows = sortedBy === undefined ? rows : inTextOrder(rows, sortedBy.reverse, table.budget);
  }

  *next(): Generator<undefined, readonly Row[] | undefined> {
    const batch: Row[] = [];
    const inPlace = this.#inPlace;
    let bytes = 0;
    if (inPlace !== undefined) {
      inPlace.rows = batch;
      inPlace.bytes = 0;
      inPlace.most = this.#batch;
    }
    while (!this.#isOver && batch.length < this.#batch && bytes + (inPlace?.bytes ?? 0) < BATCH_BYTES) {
      const step = this.#rows.next();
      if (step.done === true) {
        this.#isOver = true;
      } else if (step.value === undefined) {
        this.#execution.pausing();
        yield undefined;
      } else {
        batch.push(step.value.row);
        bytes += step.value.bytes;
        if (this.#execution.isDue) {
          this.#execution.pausing();
          yield undefined;
        }
      }
    }
    this.#batch = Math.min(2 * this.#batch, BATCH_MAX);
    return batch.length === 0 ? undefined : batch;
  }

  close(): void {
    this.#isOver = true;
    this.#inPlace?.close();
    this.#rows.return();
  }
}

/** @returns undefined: some of what is wanted is not read where a node is stored */
function inPlaceOf(
  { budget, execution, locales, reader, scope }: NodeTable,
  source: RowSource,
  wanted: readonly WantedColumn[],
  { isOrdered = false, isSummed = false, limit, order = [] }: RowUse,
): CollectedRows | undefined {
  const [only, second] = locales;
  if (only === undefined || second !== undefined) return undefined;
  // Rows that are sorted here are sorted as nodes.
  if (source.kind !== 'scans' || source.sortedBy !== undefined) return undefined;
  const slots = reader.slotsInPlace(wanted, only.locale);
  if (slots === undefined) return undefined;
  const keys = order.map((key) => key.wanted);
  const isFirst = !isOrdered && limit !== undefined && areBestKeys(keys, limit);
  const reads = isFirst ? reader.slotsInPlace(keys, only.locale) : undefined;
  const best = reads && new BestKeys(order, reads, limit as number, budget);
  const needs = reader.needsOf([], best === undefined ? wanted : [...wanted, ...keys]);
  const isWhole = needs.columns.has('properties');
  return new CollectedRows(execution, {
    slots,
    best,
    // A translation may also hide the node.
    areTranslated: only.chain.length > 0 || needs.columns.has('translations'),
    areRelated: needs.columns.has('relations'),
    isHiding:
      scope.fields !== undefined &&
      (isWhole || [...needs.properties].some((name) => scope.hides?.(name) === true)),
    isWhole,
    isReady: needs.columns.has('__tree_order') ? (values) => reader.knowsOrder(values) : undefined,
    isVerified: !isSummed,
  });
}

/** The conditions of a table: some are evaluated where a node is stored, the others for its rows. */
class CompiledConditions {
  readonly stored: StoredConditions;
  /** Those that are evaluated for rows alone, and what they need. */
  readonly late: readonly Evaluate<NodeRow>[];
  readonly lateNeeds: RowNeeds;
  /** All of them, for rows where the stored ones did not decide. */
  readonly every: readonly Evaluate<NodeRow>[];
  readonly everyNeeds: RowNeeds;

  constructor(
    { defaultLanguage, locales, reader, scope }: NodeTable,
    conditions: readonly BoundExpression[],
  ) {
    const isOneLocale = locales.length === 1 && locales[0]?.chain.length === 0;
    const firstLate = conditions.findIndex((each) => !reader.isInPlace(each, locales.length === 1));
    // A condition may rely on those before it, for example a cast on a test of what is cast.
    const isEarly = (each: BoundExpression, at: number): boolean =>
      firstLate === -1 ||
      at < firstLate ||
      (reader.isInPlace(each, locales.length === 1) && neverFails(each));
    const inPlace = conditions.filter(isEarly);
    const late = conditions.filter((each, at) => !isEarly(each, at));
    const { isOfProperties, properties } = reader.needsOf(inPlace);
    const locale = locales[0]?.locale ?? defaultLanguage;
    this.stored = {
      all: inPlace.map((each) => reader.inPlace(each, locale)),
      isHiding: [...properties].some((name) => scope.hides?.(name) === true),
      areTranslated: isOfProperties && !isOneLocale,
    };
    this.late = late.map((each) => reader.condition(each));
    this.lateNeeds = reader.needsOf(late);
    this.every = conditions.map((each) => reader.condition(each));
    this.everyNeeds = reader.needsOf(conditions);
  }
}

function* rowsOf(
  table: NodeTable,
  source: RowSource,
  conditions: CompiledConditions,
  wanted: readonly WantedColumn[],
  inPlace: CollectedRows | undefined,
): Generator<FoundRow | undefined, void> {
  const { access, execution, moment, reader, workspace } = table;
  const slots = wanted.map((each) => reader.slot(each));
  const wantedNeeds = reader.needsOf([], wanted);
  const sortedBy = source.kind === 'scans' ? source.sortedBy : undefined;
  const sortKey = sortedBy && new PropertyKey(sortedBy.property);
  const finder = new NodeFinder(table, conditions.stored, inPlace);
  for (const found of finder.find(source)) {
    if (found === undefined) {
      yield undefined;
      continue;
    }
    const { position, record } = found;
    execution.spend(ROW_WORK + BYTE_WORK * record.bytes.length);
    const shown = access.shownFields(workspace, record);
    for (const { chain, locale } of table.locales) {
      if (chain.length > 0 && record.hasTranslations && isHidden(record, chain)) continue;
      const row = new NodeRow(record, shown, locale, chain);
      if (!(yield* holds(row, table, conditions, found))) continue;
      yield* row.prepare(table, wantedNeeds);
      const values = slots.map((slot) => slot(row));
      const text = sortKey === undefined ? null : row.property(sortKey);
      moment.rest();
      yield {
        row: values,
        bytes: record.bytes.length,
        position,
        text: typeof text === 'string' ? text : null,
      };
    }
    moment.rest();
  }
}

function* holds(
  row: NodeRow,
  table: NodeTable,
  conditions: CompiledConditions,
  { isDecided }: FoundNode,
): Generator<undefined, boolean> {
  yield* row.prepare(table, isDecided ? conditions.lateNeeds : conditions.everyNeeds);
  return (isDecided ? conditions.late : conditions.every).every((condition) => condition(row) === true);
}
