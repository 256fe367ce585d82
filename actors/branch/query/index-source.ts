import type { JsonValue } from '#runtime/content/values/json-value.ts';
import { afterColumns, columnKey, columnRanges, isCutColumn } from '#runtime/index/compound-key.ts';
import { indexKey, orderedPart } from '#runtime/index/index-key.ts';
import { type Comparison, intersection, type KeyRange, keyRanges } from '#runtime/index/key-range.ts';
import { BranchTable, propertyPrefix, readPropertyKey, underParts } from '#runtime/shard/key-layout.ts';
import { rowsInBatches } from '#runtime/shard/rows-in-batches.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { decodeTypeCount, findsEqual, type IndexFields } from '#runtime/tree/index-catalog.ts';
import {
  compoundColumns,
  CREATED_AT_INDEX,
  mayBeIndexed,
  UPDATED_AT_INDEX,
} from '#runtime/tree/index-name.ts';
import type { Field, OrderTerm, Term } from './dsl-filter.ts';

/** Keys read between two pauses. */
const KEYS_PER_PAUSE = 64;

/** Rows of one index of a workspace that may match a filter. */
export interface IndexRows {
  /** Name of the index. */
  readonly index: string;
  /** In ascending order. */
  readonly ranges: readonly KeyRange[];
}

/** The row of one node in a property index. */
export interface IndexedNode {
  readonly id: string;
  /** Nodes with the same part have values that are equal, or that the keys do not tell apart. */
  readonly part: string;
}

/**
 * The indexes that narrow a filter down, each with the rows that satisfy the comparisons it supports.
 *
 * @param terms comparisons that every match satisfies
 * @param fields the indexes of the types of all matches
 */
export function narrowedIndexes(terms: readonly Term[], fields: IndexFields): readonly IndexRows[] {
  const found = new Map<string, readonly KeyRange[]>();
  for (const term of terms) {
    const index = indexOf(term.field);
    const comparison = index === undefined ? undefined : comparisonOf(term);
    if (index === undefined || comparison === undefined || !supports(fields, index, comparison)) continue;
    const ranges = keyRanges(comparison);
    const known = found.get(index);
    found.set(index, known === undefined ? ranges : intersection(known, ranges));
  }
  const compound = fields.properties.map((index) => compoundRows(index, terms));
  return [
    ...[...found].map(([index, ranges]) => ({ index, ranges })),
    ...compound.filter((rows) => rows !== undefined),
  ];
}

/** The rows of a compound index; undefined when the filter does not fix its first column, or it is another index. */
function compoundRows(index: string, terms: readonly Term[]): IndexRows | undefined {
  const columns = compoundColumns(index);
  if (columns === undefined) return undefined;
  let leading = '';
  for (const { isDescending, property } of columns) {
    const asked = terms.filter(({ field }) => columnOf(field) === property);
    const equal = asked.find((term) => term.operator === 'eq');
    if (equal?.operator === 'eq') {
      const key = indexKey(equal.value);
      if (isCutColumn(key, columns.length)) break;
      leading += columnKey(key, isDescending, columns.length);
      continue;
    }
    const ranges = asked
      .map((term) => columnComparison(term, columns.length))
      .filter((each) => each !== undefined);
    if (leading === '' || ranges.length === 0) break;
    return { index, ranges: columnRanges(leading, ranges.reduce(intersection), isDescending) };
  }
  return leading === ''
    ? undefined
    : { index, ranges: [{ start: leading, end: afterColumns(leading), isExact: false }] };
}

/** The ranges of a comparison with a column; undefined when there are none, or the key of the value would be cut. */
function columnComparison(term: Term, columns: number): readonly KeyRange[] | undefined {
  const comparison = comparisonOf(term);
  if (comparison === undefined || comparison.operator === 'in') return undefined;
  const isCut = 'value' in comparison && isCutColumn(indexKey(comparison.value), columns);
  return isCut ? undefined : keyRanges(comparison);
}

/**
 * The index that has its nodes in the order of a query.
 *
 * @param narrowed the index itself is in this list if the filter narrows it down
 * @returns undefined when there is none, or it is not complete
 */
export function orderedIndex(
  order: readonly OrderTerm[],
  fields: IndexFields,
  narrowed: readonly IndexRows[],
): IndexRows | undefined {
  const index = order[0] === undefined ? undefined : indexOf(order[0].field);
  if (index === undefined || !fields.properties.includes(index)) return undefined;
  return narrowed.find((rows) => rows.index === index) ?? { index, ranges: keyRanges({ operator: 'all' }) };
}

/**
 * The indexes that are complete for all types of a workspace, for a query that asks for no type. The cost grows with the
 * number of types in the workspace.
 */
export function commonIndexes(reader: TableReader, workspace: string): IndexFields {
  let common: readonly string[] | undefined;
  for (const { value } of reader.range(BranchTable.counts, underParts(workspace))) {
    const { properties } = decodeTypeCount(value).fields;
    common = common === undefined ? properties : common.filter((name) => properties.includes(name));
  }
  return { properties: common ?? [], uniques: [] };
}

/**
 * Counts rows.
 *
 * @param most the count ends above it
 * @returns yields undefined where the work may pause
 */
export function* countRows(
  reader: TableReader,
  workspace: string,
  rows: IndexRows,
  most: number,
): Generator<undefined, number> {
  let count = 0;
  for (const node of indexedNodes(reader, workspace, rows, false)) {
    if (node === undefined) yield undefined;
    else count += 1;
    if (count > most) break;
  }
  return count;
}

/** The nodes of rows, in the order of their keys. Also yields undefined where the walk may pause. */
export function* indexedNodes(
  reader: TableReader,
  workspace: string,
  { index, ranges }: IndexRows,
  isDescending: boolean,
): Generator<IndexedNode | undefined, void> {
  const prefix = propertyPrefix(workspace, index);
  let read = 0;
  for (const { start, end } of isDescending ? ranges.toReversed() : ranges) {
    const range = { start: prefix + start, end: prefix + end, reverse: isDescending };
    for (const { key } of rowsInBatches(reader, BranchTable.properties, range)) {
      const { id, value } = readPropertyKey(key, prefix);
      yield { id, part: orderedPart(value) };
      read += 1;
      if (read % KEYS_PER_PAUSE === 0) yield undefined;
    }
  }
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

/** A comparison of an index that holds whenever a term does; undefined when every value may satisfy the term. */
function comparisonOf(term: Term): Comparison | undefined {
  switch (term.operator) {
    case 'eq':
      return { operator: 'eq', value: term.value };
    case 'in':
      return { operator: 'in', values: [...term.scalars, ...term.others] };
    case 'gt':
    case 'gte':
    case 'lt':
    case 'lte':
      return { operator: term.operator, value: term.value };
    case 'exists':
      return term.value ? undefined : { operator: 'null' };
    default:
      return undefined;
  }
}

function supports(fields: IndexFields, index: string, comparison: Comparison): boolean {
  if (fields.properties.includes(index)) return true;
  const finds = (value: JsonValue): boolean => findsEqual(fields, index, value);
  if (comparison.operator === 'eq') return finds(comparison.value);
  return comparison.operator === 'in' && comparison.values.every(finds);
}
