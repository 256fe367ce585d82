import type { JsonValue } from '#runtime/content/values/json-value.ts';
import { orderedPart } from '#runtime/index/index-key.ts';
import { type Comparison, intersection, type KeyRange, keyRanges } from '#runtime/index/key-range.ts';
import { BranchTable, propertyPrefix, readPropertyKey, underParts } from '#runtime/shard/key-layout.ts';
import { rowsInBatches } from '#runtime/shard/rows-in-batches.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { decodeTypeCount, findsEqual, hasRows, type IndexFields } from '#runtime/tree/index-catalog.ts';
import type { Field, OrderTerm, Term } from './dsl-filter.ts';

/** Keys read between two pauses. */
const KEYS_PER_PAUSE = 64;

/** Rows of one property index of a workspace that may match a filter. */
export interface IndexRows {
  readonly property: string;
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
 * The property indexes that narrow a filter down: for each property with comparisons that an index supports, the rows that
 * satisfy all of them.
 *
 * @param terms comparisons that every match satisfies
 * @param fields the indexes of the type of all matches
 */
export function narrowedIndexes(terms: readonly Term[], fields: IndexFields): readonly IndexRows[] {
  const found = new Map<string, readonly KeyRange[]>();
  for (const term of terms) {
    const property = propertyOf(term.field);
    const comparison = property === undefined ? undefined : comparisonOf(term);
    if (property === undefined || comparison === undefined || !supports(fields, property, comparison))
      continue;
    const ranges = keyRanges(comparison);
    const known = found.get(property);
    found.set(property, known === undefined ? ranges : intersection(known, ranges));
  }
  return [...found].map(([property, ranges]) => ({ property, ranges }));
}

/**
 * The index that has its nodes in the order of a query.
 *
 * @param narrowed the index of the same property, if the filter narrows it down
 * @returns undefined when there is none, or it is not complete
 */
export function orderedIndex(
  order: readonly OrderTerm[],
  fields: IndexFields,
  narrowed: readonly IndexRows[],
): IndexRows | undefined {
  const property = order[0] === undefined ? undefined : propertyOf(order[0].field);
  if (property === undefined || !fields.properties.includes(property)) return undefined;
  const known = narrowed.find((rows) => rows.property === property);
  return known ?? { property, ranges: keyRanges({ operator: 'all' }) };
}

/** Number of rows of a property index of a workspace. The cost grows with the number of types in the workspace. */
export function indexSize(reader: TableReader, workspace: string, property: string): number {
  let rows = 0;
  for (const { value } of reader.range(BranchTable.counts, underParts(workspace))) {
    const { count, fields } = decodeTypeCount(value);
    if (hasRows(fields, property)) rows += count;
  }
  return rows;
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
  { property, ranges }: IndexRows,
  isDescending: boolean,
): Generator<IndexedNode | undefined, void> {
  const prefix = propertyPrefix(workspace, property);
  let read = 0;
  for (const { start, end } of isDescending ? ranges.toReversed() : ranges) {
    const range = { start: prefix + start, end: prefix + end, reverse: isDescending };
    for (const { key } of rowsInBatches(reader, BranchTable.properties, range)) {
      const { id, value } = readPropertyKey(key);
      yield { id, part: orderedPart(value) };
      read += 1;
      if (read % KEYS_PER_PAUSE === 0) yield undefined;
    }
  }
}

/** The name of a property at the top of a node. Names with `$` are derived and not stored. */
function propertyOf(field: Field): string | undefined {
  if (field.kind !== 'property' || field.keys.length !== 1) return undefined;
  const name = field.keys[0] as string;
  return name.startsWith('$') ? undefined : name;
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

function supports(fields: IndexFields, property: string, comparison: Comparison): boolean {
  if (fields.properties.includes(property)) return true;
  const finds = (value: JsonValue): boolean => findsEqual(fields, property, value);
  if (comparison.operator === 'eq') return finds(comparison.value);
  return comparison.operator === 'in' && comparison.values.every(finds);
}
