import { type JsonValue, ownValue } from '#runtime/content/values/json-value.ts';
import type { RequestBudget } from '#runtime/budget/request-budget.ts';
import { conditionHolds, conditionRanges, type IndexCondition } from '#runtime/index/index-condition.ts';
import type { KeyRange } from '#runtime/index/key-range.ts';
import { END, textBytes } from '#runtime/shard/binary-key.ts';
import { BranchTable, propertyPrefix, readPropertyKey, underParts } from '#runtime/shard/key-layout.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { visitRows } from '#runtime/shard/visit-rows.ts';
import {
  decodeTypeCount,
  hasAllIn,
  hasRows,
  readTypeCount,
  type TypeCount,
} from '#runtime/tree/index-catalog.ts';
import { keyInIndex } from '#runtime/tree/index-entries.ts';
import {
  compoundColumns,
  CREATED_AT_INDEX,
  propertiesOf,
  UPDATED_AT_INDEX,
} from '#runtime/tree/index-name.ts';
import type { NodeRecord } from '#runtime/tree/record/node-record.ts';
import { wantedProperty } from '#runtime/tree/record/property-table.ts';
import { Column } from '#runtime/tree/record/record-layout.ts';
import type { RecordView } from '#runtime/tree/record/record-view.ts';
import { WantedText } from '#runtime/tree/record/wanted-text.ts';
import { STEP_BYTES } from '#runtime/tree/record/steps.ts';
import type { IndexedSource } from './indexed-source.ts';
import type { Moment } from './moment.ts';
import { PathPlaces } from './path-places.ts';
import type { CountedPart, PartBounds, Place, PlacePart, PlaceSource } from './places.ts';
import { SortedPlaces } from './sorted-places.ts';

/** Ranges that are looked up in a part: of an `in` with many values most may be empty. */
const RANGES_PER_PART = 128;

/**
 * Nodes of a type, or of all types of a workspace, whose values an index has in an order. Every node of them has a value
 * there; that of an absent property is null.
 */
export interface ValueSource extends IndexCondition {
  readonly kind: 'index';
  readonly workspace: string;
  /** Absent: nodes of all types. */
  readonly nodeType?: string | undefined;
  /** Name of the index, see `index-name.ts`. */
  readonly index: string;
}

/**
 * The rows of a property index. The position is the key of the value, or of the values, and the id, with `END` between
 * them. Texts that are cut in keys have no order among those with the same beginning.
 */
export class IndexPlaces implements IndexedSource {
  readonly rows: IndexRows;
  readonly #moment: Moment;
  readonly #source: ValueSource;
  readonly #budget: RequestBudget | undefined;

  constructor(moment: Moment, source: ValueSource, budget?: RequestBudget) {
    this.#moment = moment;
    this.#source = source;
    this.#budget = budget;
    this.rows = new IndexRows(moment, source);
  }

  get workspace(): string {
    return this.#source.workspace;
  }

  hasAll(reader: TableReader): boolean {
    return this.rows.look(reader);
  }

  *positionOf(record: NodeRecord): Generator<undefined, string | undefined> {
    if (!(yield* this.rows.has(record))) return undefined;
    return (yield* keyInIndex(record, this.#source.index)) + END + textBytes(record.id);
  }

  withoutTable(): PlaceSource {
    const { nodeType, workspace } = this.#source;
    const among = new PathPlaces(this.#moment, { workspace, nodeType, budget: this.#budget });
    return new SortedPlaces(this.#moment, among, this, this.#budget);
  }
}

/** The rows of the present state. */
class IndexRows implements PlaceSource {
  readonly #moment: Moment;
  readonly #source: ValueSource;
  readonly #ranges: readonly KeyRange[];
  readonly #type: WantedText | undefined;
  /** Whether the index has rows of other types, too. */
  #isShared = true;

  constructor(moment: Moment, source: ValueSource) {
    this.#moment = moment;
    this.#source = source;
    this.#ranges = conditionRanges(compoundColumns(source.index), source);
    this.#type = source.nodeType === undefined ? undefined : new WantedText(source.nodeType);
  }

  /** Looks at the catalog of a snapshot. @returns whether all nodes of the source have rows */
  look(reader: TableReader): boolean {
    const { index, nodeType, workspace } = this.#source;
    const types: TypeCount[] = [];
    for (const { value } of reader.range(BranchTable.counts, underParts(workspace)))
      types.push(decodeTypeCount(value));
    const own = nodeType === undefined ? undefined : readTypeCount(reader, workspace, nodeType);
    const withRows = types.filter(({ fields }) => hasRows(fields, index));
    this.#isShared = nodeType !== undefined && withRows.length > (own === undefined ? 0 : 1);
    if (nodeType !== undefined) return own === undefined || this.#isComplete(own);
    return types.every((type) => this.#isComplete(type));
  }

  #isComplete({ fields }: TypeCount): boolean {
    return hasAllIn(fields, this.#source.index, this.#ranges);
  }

  *part({ after, most, reverse }: PartBounds): Generator<undefined, PlacePart> {
    const { index, workspace } = this.#source;
    const { reader } = this.#moment;
    const prefix = propertyPrefix(workspace, index);
    const places: Place[] = [];
    const add = (position: string, id: string, isLoose: boolean): number =>
      places.push({ position, id, isLoose });
    let looked = 0;
    for (const range of reverse ? this.#ranges.toReversed() : this.#ranges) {
      const { end, isExact, start } = behindPosition(range, after, reverse);
      if (start >= end) continue;
      // No row is at the start of a range, nor at its end, so both are positions between rows.
      if (looked === RANGES_PER_PART) return { places, next: reverse ? end : start };
      looked += 1;
      const isLoose = this.#isShared || !isExact;
      const bounds = { start: prefix + start, end: prefix + end, reverse };
      visitRows(reader, BranchTable.properties, bounds, (row) => {
        const key = row.key();
        const { id } = readPropertyKey(key, prefix);
        return add(key.slice(prefix.length), id, isLoose) < most;
      });
      if (places.length >= most) return { places, next: (places.at(-1) as Place).position };
    }
    return { places };
  }

  countPart({ after, most }: Omit<PartBounds, 'reverse'>): CountedPart {
    const { index, workspace } = this.#source;
    const prefix = propertyPrefix(workspace, index);
    let count = 0;
    let looked = 0;
    let isLoose = this.#isShared;
    let last: string | undefined;
    for (const range of this.#ranges) {
      const { end, isExact, start } = behindPosition(range, after, false);
      if (start >= end) continue;
      if (looked === RANGES_PER_PART) return { count, isLoose, next: start };
      looked += 1;
      const before = count;
      const bounds = { start: prefix + start, end: prefix + end };
      visitRows(this.#moment.reader, BranchTable.properties, bounds, (row) => {
        count += 1;
        if (count < most) return true;
        last = row.key();
        return false;
      });
      if (count > before && !isExact) isLoose = true;
      if (last !== undefined) return { count, isLoose, next: last.slice(prefix.length) };
    }
    return { count, isLoose };
  }

  *has(record: NodeRecord): Generator<undefined, boolean> {
    const { nodeType } = this.#source;
    if (nodeType !== undefined && record.nodeType !== nodeType) return false;
    const isLarge = (name: string): boolean => record.propertyTextBytes(name) > STEP_BYTES;
    if (record.isLarge && propertiesOf(this.#source.index).some(isLarge)) yield* record.decode();
    return conditionHolds(this.#source, (column) => this.#valueOf(record, column));
  }

  hasInPlace(view: RecordView): boolean | undefined {
    if (view.length > STEP_BYTES) return undefined;
    if (this.#type !== undefined && !view.columnEquals(Column.nodeType, this.#type)) return false;
    return conditionHolds(this.#source, (column) => this.#valueInPlace(view, column));
  }

  #valueInPlace(view: RecordView, column: number): JsonValue | undefined {
    const { index } = this.#source;
    const name = compoundColumns(index)?.[column]?.property ?? index;
    if (name === '__node_type') return view.column(Column.nodeType);
    if (name === '__created_at' || name === CREATED_AT_INDEX) return view.column(Column.createdAt);
    if (name === '__updated_at' || name === UPDATED_AT_INDEX) return view.column(Column.updatedAt);
    return view.property(wantedProperty(name));
  }

  #valueOf(record: NodeRecord, column: number): JsonValue | undefined {
    const { index } = this.#source;
    if (index === CREATED_AT_INDEX) return record.createdAt;
    if (index === UPDATED_AT_INDEX) return record.updatedAt;
    const columns = compoundColumns(index);
    const name = columns === undefined ? index : (columns[column]?.property as string);
    if (columns !== undefined) {
      if (name === '__node_type') return record.nodeType;
      if (name === '__created_at') return record.createdAt;
      if (name === '__updated_at') return record.updatedAt;
    }
    return record.decoded === undefined ? record.property(name) : ownValue(record.decoded, name);
  }
}

/** The rest of a range behind a position. */
function behindPosition(range: KeyRange, after: string | undefined, reverse: boolean): KeyRange {
  if (after === undefined) return range;
  if (reverse) return after < range.end ? { ...range, end: after } : range;
  return after >= range.start ? { ...range, start: `${after}\0` } : range;
}
