import type { JsonValue } from '#runtime/content/values/json-value.ts';
import type { Comparison } from '#runtime/index/key-range.ts';
import type { ValueSource } from '#runtime/scan/index-places.ts';
import { BranchTable, underParts } from '#runtime/shard/key-layout.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { decodeTypeCount, type IndexFields } from '#runtime/tree/index-catalog.ts';
import {
  compoundColumns,
  CREATED_AT_INDEX,
  type IndexColumn,
  mayBeIndexed,
  UPDATED_AT_INDEX,
} from '#runtime/tree/index-name.ts';
import type { Field, OrderTerm, Term } from './dsl-filter.ts';

/** What an index may do for a query. */
export interface IndexUse {
  readonly source: ValueSource;
  /** The comparisons of the filter that exactly the nodes of the source satisfy. */
  readonly satisfied: ReadonlySet<Term>;
  /** Whether comparisons of the filter leave out rows. */
  readonly isNarrowed: boolean;
  /** Number of fields to sort by, from the first on, in whose order the nodes are; 0: in another order. */
  readonly sorted: number;
  /** Number of columns up to which the order is that of these fields. */
  readonly columns: number;
  /** Whether that order is the opposite one of the index. */
  readonly reverse: boolean;
  /** Whether all rows have one key, so that their ids decide the whole order, and it is the wanted one. */
  readonly isById: boolean;
}

/** The comparisons and fields of a query that indexes look at. */
export interface IndexedQuery {
  readonly workspace: string;
  /** The type of all matches, if the filter names it. */
  readonly nodeType: string | undefined;
  /** Comparisons that every match satisfies. */
  readonly terms: readonly Term[];
  readonly order: readonly OrderTerm[];
}

/**
 * The indexes that narrow a query down, or have its nodes in the order of its first fields.
 *
 * @param fields the indexes of the types of all matches; whether they have all nodes is not looked at
 */
export function indexUses(query: IndexedQuery, { pending, properties }: IndexFields): readonly IndexUse[] {
  return [...properties, ...(pending?.upgrading ?? [])]
    .map((index) => indexUse(index, query))
    .filter(({ isNarrowed, sorted }) => isNarrowed || sorted > 0);
}

function indexUse(index: string, { nodeType, order, terms, workspace }: IndexedQuery): IndexUse {
  const columns = compoundColumns(index);
  const satisfied = new Set<Term>();
  const equal: JsonValue[] = [];
  for (const column of columns ?? []) {
    const term = terms.find((each) => each.operator === 'eq' && columnOf(each.field) === column.property);
    if (term?.operator !== 'eq') break;
    equal.push(term.value);
    satisfied.add(term);
  }
  const isNext = (field: Field): boolean =>
    columns === undefined ? indexOf(field) === index : columnOf(field) === columns[equal.length]?.property;
  const where: Comparison[] = [];
  for (const term of terms) {
    const found = isNext(term.field) ? comparisonOf(term) : undefined;
    if (found === undefined) continue;
    where.push(found.comparison);
    if (found.isExact) satisfied.add(term);
  }
  const source: ValueSource = { kind: 'index', workspace, nodeType, index, equal, where };
  const isNarrowed = equal.length + where.length > 0;
  const isOneKey =
    columns === undefined ? where.some(({ operator }) => operator === 'eq') : equal.length === columns.length;
  const found = orderOf(index, columns, equal.length, order);
  const byId = isOneKey ? orderById(source.index, columns, order) : undefined;
  return { source, satisfied, isNarrowed, ...found, ...byId };
}

/**
 * The order of rows of an index that all have one key: that of the ids. Fields of the index are equal in all of them, and
 * what comes behind the id decides nothing.
 *
 * @returns undefined when another field decides before the id does
 */
function orderById(
  index: string,
  columns: readonly IndexColumn[] | undefined,
  order: readonly OrderTerm[],
): Pick<IndexUse, 'sorted' | 'reverse' | 'isById'> | undefined {
  const isEqual = (field: Field): boolean =>
    columns === undefined
      ? indexOf(field) === index
      : columns.some(({ property }) => property === columnOf(field));
  const first = order.find(({ field }) => !isEqual(field));
  if (first?.field.kind !== 'column' || first.field.name !== 'id') return undefined;
  return { sorted: order.length, reverse: first.descending, isById: true };
}

/** How many of the fields to sort by an index has in order, behind columns with one value. */
function orderOf(
  index: string,
  columns: readonly IndexColumn[] | undefined,
  fixed: number,
  order: readonly OrderTerm[],
): Pick<IndexUse, 'sorted' | 'columns' | 'reverse' | 'isById'> {
  let at = fixed;
  let sorted = 0;
  let reverse: boolean | undefined;
  for (const { descending, field } of order) {
    const isFixed = columns?.slice(0, fixed).some(({ property }) => property === columnOf(field)) === true;
    if (!isFixed) {
      const isNext =
        columns === undefined
          ? at === 0 && indexOf(field) === index
          : at < columns.length && columnOf(field) === columns[at]?.property;
      const isOpposite = descending !== (columns?.[at]?.isDescending === true);
      if (!isNext || (reverse !== undefined && reverse !== isOpposite)) break;
      reverse = isOpposite;
      at += 1;
    }
    sorted += 1;
  }
  return {
    sorted: reverse === undefined ? 0 : sorted,
    columns: at,
    reverse: reverse === true,
    isById: false,
  };
}

/**
 * The indexes that are complete for all types of a workspace, for a query that asks for no type: a scan would not use the
 * others. The cost grows with the number of types in the workspace.
 */
export function commonIndexes(reader: TableReader, workspace: string): IndexFields {
  let common: readonly string[] | undefined;
  for (const { value } of reader.range(BranchTable.counts, underParts(workspace))) {
    const { properties } = decodeTypeCount(value).fields;
    common = common === undefined ? properties : common.filter((name) => properties.includes(name));
  }
  return { properties: common ?? [], uniques: [] };
}

/** The index of a field; undefined when it cannot have one. Names with `$` are derived and not stored. */
function indexOf(field: Field): string | undefined {
  if (field.kind === 'column') {
    if (field.name === 'created_at') return CREATED_AT_INDEX;
    return field.name === 'updated_at' ? UPDATED_AT_INDEX : undefined;
  }
  const name = field.keys[0] as string;
  return field.keys.length === 1 && !name.startsWith('$') && mayBeIndexed(name) ? name : undefined;
}

/** The column of a compound index for a field. */
function columnOf(field: Field): string | undefined {
  if (field.kind === 'property') return indexOf(field);
  const { name } = field;
  return name === 'node_type' || name === 'created_at' || name === 'updated_at' ? `__${name}` : undefined;
}

/**
 * A comparison of an index that holds whenever a term does; undefined when every value may satisfy the term. It is exact
 * when the opposite is true as well.
 */
function comparisonOf(
  term: Term,
): { readonly comparison: Comparison; readonly isExact: boolean } | undefined {
  switch (term.operator) {
    case 'eq':
      return { comparison: { operator: 'eq', value: term.value }, isExact: true };
    case 'in':
      return { comparison: { operator: 'in', values: [...term.scalars, ...term.others] }, isExact: true };
    case 'gt':
    case 'gte':
    case 'lt':
    case 'lte':
      return { comparison: { operator: term.operator, value: term.value }, isExact: true };
    case 'exists':
      // A property that is null is there, and has the place of one that is absent.
      return term.value ? undefined : { comparison: { operator: 'null' }, isExact: false };
    default:
      return undefined;
  }
}
