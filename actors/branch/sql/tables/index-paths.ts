import { isNodeTypeName } from '#runtime/content/definitions/type-name.ts';
import { canonicalJson, type JsonValue } from '#runtime/content/values/json-value.ts';
import { conditionRanges } from '#runtime/index/index-condition.ts';
import { indexKey } from '#runtime/index/index-key.ts';
import type { Comparison } from '#runtime/index/key-range.ts';
import { nodesIn } from '#runtime/scan/changed-nodes.ts';
import type { ValueSource } from '#runtime/scan/index-places.ts';
import { changedFor, countPlaces, type ScanSource } from '#runtime/scan/scan.ts';
import { END, textBytes } from '#runtime/shard/binary-key.ts';
import type { TableRead } from '#runtime/sql-exec/ports.ts';
import type { BoundExpression } from '#runtime/sql-plan/bound/bound-statement.ts';
import { nodeColumns } from '#runtime/sql-plan/node-columns.ts';
import { shortKey } from '#runtime/sql-values/ordering/hash-key.ts';
import { type IndexFields, readTypeCount, wantedFields } from '#runtime/tree/index-catalog.ts';
import { compoundColumns, type IndexColumn } from '#runtime/tree/index-name.ts';
import { commonIndexes } from '../../query/index-source.ts';
import { withoutHidden } from '../../query/query-plan.ts';
import { type AccessPath, Rank } from './access-path.ts';
import { areBestKeys } from './best-keys.ts';
import { REST_SHARE } from './choose-path.ts';
import { comparedColumn, comparisonOf } from './known-conditions.ts';
import type { NodeTable } from './node-table.ts';
import { PartialIndexes, type TypesOfIndex } from './partial-indexes.ts';
import { firstKeyOf, idBehind, type PlaceBound } from './row-order.ts';
import type { ScanPart } from './row-source.ts';
import { singleValues } from './single-values.ts';
import { type TimeColumn, timeCondition, timeOfColumn, timeOfIndex } from './time-conditions.ts';
import {
  both,
  comparisonsOf,
  everyValue,
  type Kind,
  kinds,
  propertyCondition,
  type ValueSet,
} from './value-sets.ts';

/** Estimated nanoseconds to read a node at a place of an index. */
const PLACE_WORK = 5_500;

/** Indexes that are looked at between two pauses: for each, all types of the workspace are. */
const INDEXES_PER_STEP = 3;

/** Values of an index where nothing else is said. */
const VALUES_MAX = 16;

/** What the conditions say about a property. */
interface KnownProperty {
  readonly values: ValueSet;
  readonly conditions: readonly BoundExpression[];
  /** Whether a condition asks for certain values. */
  readonly isEqual: boolean;
}

/** What the conditions say about a time. */
interface KnownTime {
  readonly where: readonly Comparison[];
  readonly conditions: readonly BoundExpression[];
}

/** What is read of a table. */
type IndexedRead = Pick<TableRead, 'limit' | 'order'> & Partial<Pick<TableRead, 'wanted'>>;

/** A part of an index. */
interface IndexPart {
  readonly source: ScanSource;
  /** Whether it has one key, so that its rows are in the order of ids. Absent: no. */
  readonly isOfOneKey?: boolean;
  /** The kind of its values; undefined: of all kinds, or times. */
  readonly kind?: Kind;
}

/** An access path before its nodes are counted. */
interface IndexedPath extends Pick<AccessPath, 'name' | 'facts' | 'rank'> {
  readonly conditions: readonly BoundExpression[];
  readonly parts: readonly IndexPart[];
  /** Name of the index; absent: the unique index. */
  readonly index?: string;
  /** Present: it may have the order that is asked for. */
  readonly sorted?: Sorted | undefined;
}

/** The order of ids that is asked for, of which only the first rows are wanted. */
interface FirstIds {
  readonly reverse: boolean;
  /** Where the rows of each key begin. */
  readonly bound: PlaceBound | undefined;
  readonly limit: number;
}

/** In which direction an index has the order that is asked for. */
interface Sorted {
  readonly reverse: boolean;
  /** A property with texts: the order is that of SQL if the index has no values of other kinds. */
  readonly property?: string;
}

/** The ways to find the nodes of a table by indexes of properties and of times. */
export class IndexPaths {
  readonly #table: NodeTable;
  readonly #read: IndexedRead;
  readonly #firstIds: FirstIds | undefined;
  readonly #valuesMax: number;
  readonly #properties = new Map<string, KnownProperty>();
  readonly #times = new Map<TimeColumn, KnownTime>();
  /** Of rows of any type: the indexes that some of the types have. */
  #partial: PartialIndexes | undefined;
  /** The type of all rows, and the condition that says so. */
  readonly #type: { readonly name: string; readonly condition: BoundExpression } | undefined;

  /** @param valuesMax combinations of values of the leading columns of a compound index, and values of a unique property */
  constructor(table: NodeTable, read: IndexedRead, valuesMax = VALUES_MAX) {
    this.#table = table;
    this.#read = read;
    this.#firstIds = firstIdsOf(table, read);
    this.#valuesMax = valuesMax;
    this.#type = typeOf(table);
    for (const condition of table.conditions) this.#learn(condition);
  }

  /** All of them. Yields where the work may pause. */
  *all(): Generator<undefined, readonly AccessPath[]> {
    const isKnown = this.#properties.size + this.#times.size > 0;
    if (!isKnown && (this.#read.order.length === 0 || this.#read.limit === undefined)) return [];
    const fields = this.#fields();
    if (fields === undefined) return [];
    const found: AccessPath[] = [];
    let looked = 0;
    for (const index of [...fields.properties, ...(fields.pending?.upgrading ?? [])]) {
      const path = this.#byIndex(index);
      if (path !== undefined) found.push(...(yield* this.#usable(path)));
      looked += 1;
      if (looked % INDEXES_PER_STEP === 0) yield undefined;
    }
    for (const property of fields.uniques) {
      const path = this.#byUnique(property);
      if (path !== undefined) found.push(...(yield* this.#usable(path)));
    }
    this.#table.moment.rest();
    return found;
  }

  #learn(condition: BoundExpression): void {
    const { locales, plan } = this.#table;
    const time = timeCondition(condition, plan.relation);
    if (time !== undefined) {
      const known = this.#times.get(time.column);
      this.#times.set(time.column, {
        where: [...(known?.where ?? []), ...time.where],
        conditions: [...(known?.conditions ?? []), condition],
      });
    }
    // Indexes have stored values. Rows in another locale may have other ones.
    const found = locales.every(({ chain }) => chain.length === 0)
      ? propertyCondition(condition, plan.relation)
      : undefined;
    if (found === undefined) return;
    const known = this.#properties.get(found.property);
    this.#properties.set(found.property, {
      values: known === undefined ? found.values : both(known.values, found.values),
      conditions: [...(known?.conditions ?? []), condition],
      isEqual: found.isEqual || known?.isEqual === true,
    });
  }

  /** The indexes that have all nodes which may be rows, and no values that are hidden from the caller. */
  #fields(): IndexFields | undefined {
    const { scope } = this.#table;
    const fields = this.#table.seesAll ? this.#presentFields() : this.#declaredFields();
    if (fields === undefined) return undefined;
    const hides = (property: string): boolean => this.#table.hides(property);
    return withoutHidden(fields, { hides, hidesSome: scope.fields !== undefined });
  }

  #presentFields(): IndexFields | undefined {
    const { head, moment, workspace } = this.#table;
    if (this.#type !== undefined) return readTypeCount(head, workspace, this.#type.name)?.fields;
    // At an earlier revision there may have been nodes of types that have none now.
    if (moment.at !== undefined) return commonIndexes(head, workspace);
    this.#partial = new PartialIndexes(head, workspace);
    return { properties: this.#partial.names, uniques: [] };
  }

  /** What is chosen must not tell which types the nodes have that the caller may not read. */
  #declaredFields(): IndexFields {
    if (this.#type === undefined) return wantedFields(undefined);
    const { head, tables, workspace } = this.#table;
    const pins = tables.state.workspace(workspace).config.node_type_pins;
    return wantedFields(tables.schemas.get(head, { pins }).nodeType(this.#type.name));
  }

  #byIndex(index: string): IndexedPath | undefined {
    const columns = compoundColumns(index);
    if (columns !== undefined) return this.#byCompound(index, columns);
    const time = timeOfIndex(index);
    return time === undefined ? this.#byProperty(index) : this.#byTime(index, time);
  }

  #byProperty(property: string): IndexedPath | undefined {
    const known = this.#properties.get(property);
    const sorted = this.#sortedByText(property);
    if (known === undefined && sorted === undefined) return undefined;
    const values = known?.values ?? everyValue;
    const parts = kinds
      .filter((kind) => values.has(kind))
      .flatMap((kind) => this.#partsOfKind(property, kind, comparisonsOf(values, kind)));
    return { ...named(known, known?.isEqual === true), facts: property, parts, index: property, sorted };
  }

  #partsOfKind(property: string, kind: Kind, where: readonly Comparison[]): readonly IndexPart[] {
    const single = this.#firstIds === undefined ? undefined : singleValues(where);
    if (single === undefined || single.length > this.#valuesMax)
      return [{ source: this.#source(property, [], where), kind }];
    return single.map((each) => ({ source: this.#source(property, [], [each]), kind, isOfOneKey: true }));
  }

  #byTime(index: string, time: TimeColumn): IndexedPath | undefined {
    const known = this.#times.get(time);
    const sorted = this.#sortedByTime(time, false);
    if (known === undefined && sorted === undefined) return undefined;
    const parts = [{ source: this.#source(index, [], known?.where ?? []) }];
    return { ...named(known, false), facts: time, parts, index, sorted };
  }

  #byCompound(index: string, columns: readonly IndexColumn[]): IndexedPath | undefined {
    let equal: readonly (readonly JsonValue[])[] = [[]];
    const conditions: BoundExpression[] = [];
    let count = 0;
    for (const { property } of columns) {
      const found = this.#equalIn(property);
      if (found === undefined || found.values.length * equal.length > this.#valuesMax) break;
      equal = equal.flatMap((before) => found.values.map((value) => [...before, value]));
      conditions.push(...found.conditions);
      count += 1;
    }
    const next = columns[count];
    if (count === 0) return undefined;
    const time = next === undefined ? undefined : timeOfColumn(next.property);
    const known = time === undefined ? undefined : this.#times.get(time);
    const isOfOneKey = next === undefined;
    const parts = equal.map((fixed) => ({
      source: this.#source(index, fixed, known?.where ?? []),
      isOfOneKey,
    }));
    const isOne = equal.length === 1 && time !== undefined;
    return {
      name: 'PropertyIndexScan',
      facts: columns
        .slice(0, known === undefined ? count : count + 1)
        .map(({ property }) => property)
        .join(', '),
      rank: Rank.compound,
      conditions: [...conditions, ...(known?.conditions ?? [])],
      parts,
      index,
      sorted: isOne ? this.#sortedByTime(time, next?.isDescending === true) : undefined,
    };
  }

  /** The values that a column must have, if conditions ask for certain ones. */
  #equalIn(
    property: string,
  ): { readonly values: readonly JsonValue[]; readonly conditions: readonly BoundExpression[] } | undefined {
    if (property === '__node_type')
      return this.#type && { values: [this.#type.name], conditions: [this.#type.condition] };
    const known = timeOfColumn(property) === undefined ? this.#properties.get(property) : undefined;
    if (known?.isEqual !== true) return undefined;
    const values: JsonValue[] = [];
    for (const where of known.values.values()) {
      const [only] = where;
      if (where.length !== 1 || only?.operator !== 'in') return undefined;
      values.push(...only.values);
    }
    // A node must not be found twice.
    const distinct = new Map(values.map((value) => [shortKey(canonicalJson(value)), value]));
    return { values: [...distinct.values()], conditions: known.conditions };
  }

  #byUnique(property: string): IndexedPath | undefined {
    const equal = this.#equalIn(property);
    if (equal === undefined || this.#type === undefined) return undefined;
    if (equal.values.length > this.#valuesMax) return undefined;
    const { workspace } = this.#table;
    const nodeType = this.#type.name;
    const parts = equal.values.map(
      (value): IndexPart => ({ source: { kind: 'unique', workspace, nodeType, property, value } }),
    );
    const { conditions } = equal;
    return { name: 'UniqueIndexScan', facts: property, rank: Rank.unique, conditions, parts };
  }

  #source(index: string, equal: readonly JsonValue[], where: readonly Comparison[]): ScanSource {
    const { workspace } = this.#table;
    return { kind: 'index', workspace, nodeType: this.#type?.name, index, equal, where };
  }

  /** The only key of the order that is asked for. */
  #onlyKey(): TableRead['order'][number] | undefined {
    const [first, ...others] = this.#read.order;
    return others.length === 0 && this.#table.locales.length === 1 ? first : undefined;
  }

  #sortedByTime(time: TimeColumn, isDescending: boolean): Sorted | undefined {
    const key = this.#onlyKey();
    if (key?.wanted.kind !== 'column' || nodeColumns[key.wanted.column]?.name !== time) return undefined;
    return { reverse: key.isDescending !== isDescending };
  }

  #sortedByText(property: string): Sorted | undefined {
    const key = this.#onlyKey();
    // In an index what is absent is last.
    const isText =
      key?.wanted.kind === 'property' && key.wanted.isText && key.nullsFirst === key.isDescending;
    if (!isText || key.wanted.kind !== 'property' || key.wanted.key !== property) return undefined;
    if (this.#table.locales[0]?.chain.length !== 0) return undefined;
    return { reverse: key.isDescending, property };
  }

  /** An access path with what its nodes cost; none where an index would only have been of use for its order. */
  *#usable({
    conditions,
    index,
    parts,
    sorted,
    ...path
  }: IndexedPath): Generator<undefined, readonly AccessPath[]> {
    const types = index === undefined ? undefined : this.#partial?.typesOf(index);
    const others = types?.without ?? [];
    const isOrdered = sorted !== undefined && others.length === 0 && (yield* this.#isInOrder(sorted, parts));
    if (conditions.length === 0 && !isOrdered) return [];
    const indexed = isOrdered ? parts.filter((part) => !isOtherKind(part)) : parts;
    const used = types === undefined ? indexed : this.#partsByType(indexed, types);
    const ids = used.some(({ isOfOneKey }) => isOfOneKey === true) ? this.#firstIds : undefined;
    const reverse = isOrdered && sorted.reverse;
    const scans = used.map((part) => scanOf(part, ids) ?? { source: part.source, reverse });
    const { property } = sorted ?? {};
    const found = new Set(conditions);
    if (this.#type !== undefined) found.add(this.#type.condition);
    if (ids?.bound !== undefined && used.every(({ isOfOneKey }) => isOfOneKey))
      found.add(ids.bound.condition);
    const sortedBy = isOrdered && property !== undefined ? { sortedBy: { property, reverse } } : {};
    const isOfIds = ids !== undefined && used.length === 1;
    // Other conditions leave some of the first rows out.
    const nodes = ids && ids.limit / (this.#table.conditions.length > found.size ? REST_SHARE : 1);
    return [
      {
        ...path,
        // The facts are names of indexed fields and of types.
        facts: factsOf(path.facts, others),
        shape: factsOf(path.facts, others),
        source: { kind: 'scans', parts: reverse ? scans.reverse() : scans, ...sortedBy },
        // Of the types without the index all nodes are looked at.
        ...(types === undefined ? { exact: [...found] } : { exact: [], partial: [...found] }),
        isOrdered: isOrdered || isOfIds,
        nodeWork: PLACE_WORK,
        ...(nodes === undefined || isOfIds
          ? { rows: (most: number) => this.#count(used, most) }
          : this.#firstOf(used, nodes)),
      },
    ];
  }

  /** What is read of parts for the first rows in the order of ids. @param nodes about how many are read of one key */
  #firstOf(parts: readonly IndexPart[], nodes: number): Pick<AccessPath, 'rows' | 'endsEarly'> {
    const count = (part: IndexPart, most: number): Generator<undefined, number> => this.#count([part], most);
    let hasMore = false;
    return {
      *rows(most) {
        let rows = 0;
        for (const part of parts) {
          const left = Math.max(most - rows, 0);
          const isFirst = part.isOfOneKey === true;
          const found = yield* count(part, isFirst ? Math.min(left, nodes) : left);
          if (isFirst && found > nodes) hasMore = true;
          rows += isFirst ? Math.min(found, nodes) : found;
        }
        return rows;
      },
      endsEarly: () => hasMore,
    };
  }

  /** The parts of an index that not all types have, and all nodes of the others. */
  #partsByType(parts: readonly IndexPart[], { having, without }: TypesOfIndex): readonly IndexPart[] {
    const { workspace } = this.#table;
    return [
      ...having.flatMap((nodeType) =>
        parts.map((part): IndexPart => ({ ...part, source: { ...part.source, nodeType } as ScanSource })),
      ),
      ...without.map((nodeType): IndexPart => ({ source: { kind: 'paths', workspace, nodeType } })),
    ];
  }

  /** Whether an index has the order of SQL. That compares texts: numbers and others have another place there. */
  *#isInOrder({ property }: Sorted, parts: readonly IndexPart[]): Generator<undefined, boolean> {
    if (property === undefined) return true;
    for (const part of parts.filter(isOtherKind)) {
      // What is chosen must not tell of nodes that the caller may not read.
      if (!this.#table.seesAll) return false;
      if ((yield* this.#count([part], 0)) > 0) return false;
    }
    return true;
  }

  *#count(parts: readonly IndexPart[], most: number): Generator<undefined, number> {
    const { head, moment, workspace } = this.#table;
    let rows = 0;
    for (const { source } of parts) {
      if (source.kind === 'paths' && source.nodeType !== undefined && this.#partial !== undefined) {
        rows += readTypeCount(head, workspace, source.nodeType)?.count ?? 0;
        continue;
      }
      const changed = yield* changedFor(moment, source);
      if (changed === undefined) return nodesIn(head, workspace);
      rows += changed + (yield* countPlaces(moment, source, Math.max(most - rows, 0)));
      moment.rest();
      yield undefined;
    }
    return rows;
  }
}

/**
 * The order of ids, if only its first rows are wanted, and if which rows these are is seen where nodes are stored: then a scan of
 * rows in that order ends behind them.
 */
function firstIdsOf(table: NodeTable, { limit, order, wanted }: IndexedRead): FirstIds | undefined {
  const key = firstKeyOf(table, order);
  const { conditions, locales, reader } = table;
  const [only, second] = locales;
  if (key?.column !== 'id' || wanted === undefined || only === undefined || second !== undefined)
    return undefined;
  const keys = order.map((each) => each.wanted);
  if (limit === undefined || !areBestKeys(keys, limit)) return undefined;
  if (reader.slotsInPlace([...wanted, ...keys], only.locale) === undefined) return undefined;
  if (!conditions.every((each) => reader.isInPlace(each, only.chain.length === 0))) return undefined;
  const reverse = key.isDescending;
  return { reverse, bound: idBehind(table, reverse), limit };
}

/** The scan of a part of which only the first rows in the order of ids are wanted. @returns undefined: it has another order */
function scanOf({ isOfOneKey, source }: IndexPart, ids: FirstIds | undefined): ScanPart | undefined {
  if (isOfOneKey !== true || ids === undefined || source.kind !== 'index') return undefined;
  const { bound, reverse } = ids;
  const after = bound && keyOfOne(source) + END + textBytes(bound.after);
  return { source, reverse, after, isInOrder: true };
}

/** The key of all rows of a part. */
function keyOfOne({ equal, index, where }: ValueSource): string {
  const columns = compoundColumns(index);
  if (columns !== undefined) return conditionRanges(columns, { equal: equal ?? [] })[0]?.start ?? '';
  const [only] = where ?? [];
  return indexKey(only?.operator === 'in' ? only.values[0] : null);
}

/** The facts of a path by an index, and the types of which all nodes are looked at besides. */
function factsOf(facts: string, others: readonly string[]): string {
  return others.length === 0 ? facts : `${facts}, all of ${others.join(', ')}`;
}

/** Name and rank of a path over an index of one value. */
function named(
  known: KnownProperty | KnownTime | undefined,
  isEqual: boolean,
): Pick<IndexedPath, 'name' | 'rank' | 'conditions'> {
  if (known === undefined) return { name: 'PropertyOrderScan', rank: Rank.order, conditions: [] };
  const { conditions } = known;
  return isEqual
    ? { name: 'PropertyIndexScan', rank: Rank.propertyEqual, conditions }
    : { name: 'PropertyRangeScan', rank: Rank.propertyRange, conditions };
}

/** Whether the values of a part have no place among texts. */
function isOtherKind({ kind }: IndexPart): boolean {
  return kind !== undefined && kind !== 'text' && kind !== 'none';
}

/** The only type that the conditions ask for. */
function typeOf({
  conditions,
  plan,
}: NodeTable): { readonly name: string; readonly condition: BoundExpression } | undefined {
  for (const condition of conditions) {
    const known = comparisonOf(condition);
    const isType =
      known?.operator === '=' &&
      known.values.length === 1 &&
      comparedColumn(known.operand, plan.relation) === 'node_type';
    const [name] = known?.values ?? [];
    if (isType && typeof name === 'string' && isNodeTypeName(name)) return { name, condition };
  }
  return undefined;
}
