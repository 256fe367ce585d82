import { Buffer } from 'node:buffer';
import { allFields, type FieldFilter } from '#runtime/access/field-filter.ts';
import { isNumber } from '#runtime/base/text/exact-number.ts';
import {
  isJsonArray,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  jsonEquals,
  setKey,
} from '#runtime/content/values/json-value.ts';
import { parentName } from '#runtime/content/path.ts';
import { getProperty } from '#runtime/content/values/property-path.ts';
import type { ResolvedNodeType } from '#runtime/content/resolution/type-resolver.ts';
import { isInOrder, orderOf } from '#runtime/index/comparison.ts';
import type { NodeRecord } from '#runtime/tree/record/node-record.ts';
import { derivedProperty } from '#runtime/tree/render-node.ts';
import type { Column, Condition, Field, OrderTerm, Term } from './dsl-filter.ts';

/** What a filter reads of a node: of a record, or of a row where it is stored. */
export type FilteredNode = Pick<
  NodeRecord,
  | 'id'
  | 'name'
  | 'path'
  | 'nodeType'
  | 'archetype'
  | 'version'
  | 'orderKey'
  | 'ownerId'
  | 'createdAt'
  | 'createdBy'
  | 'updatedAt'
  | 'updatedBy'
  | 'publishedAt'
  | 'publishedBy'
  | 'property'
>;

/** A node as input of a filter: a column or property is decoded on first use. */
export class DslRow {
  readonly #node: FilteredNode;
  readonly #type: () => ResolvedNodeType | undefined;
  readonly #shown: FieldFilter;
  #properties: Map<string, JsonValue | undefined> | undefined;

  /** @param shown the properties that the caller may read: others count as absent */
  constructor(node: FilteredNode, type: () => ResolvedNodeType | undefined, shown: FieldFilter = allFields) {
    this.#node = node;
    this.#type = type;
    this.#shown = shown;
  }

  /** The value of a field; undefined when a property is missing, null when a column is not set. */
  value(field: Field): JsonValue | undefined {
    return field.kind === 'column' ? columnValue(this.#node, field.name) : this.#nested(field.keys);
  }

  #nested(keys: readonly string[]): JsonValue | undefined {
    const first = keys[0] as string;
    const whole = this.#property(keys.join('.'));
    if (keys.length === 1 || whole !== undefined) return whole;
    const value = this.#property(first);
    if (value === undefined) return undefined;
    const holder: Record<string, JsonValue> = {};
    setKey(holder, first, value);
    return getProperty(holder as JsonObject, keys);
  }

  #property(name: string): JsonValue | undefined {
    this.#properties ??= new Map();
    if (!this.#properties.has(name)) {
      const derived = name.startsWith('$') ? derivedProperty(this.#type(), name) : undefined;
      const stored = this.#shown.has(name) ? this.#node.property(name) : undefined;
      this.#properties.set(name, derived ?? stored);
    }
    return this.#properties.get(name);
  }
}

function columnValue(record: FilteredNode, column: Column): JsonValue {
  switch (column) {
    case 'id':
      return record.id;
    case 'name':
      return record.name;
    case 'path':
      return record.path;
    case 'node_type':
      return record.nodeType;
    case 'parent':
      return parentName(record.path);
    case 'archetype':
      return record.archetype;
    case 'version':
      return record.version;
    case 'order_key':
      return record.orderKey;
    case 'owner_id':
      return record.ownerId;
    case 'created_at':
      return record.createdAt;
    case 'created_by':
      return record.createdBy;
    case 'updated_at':
      return record.updatedAt;
    case 'updated_by':
      return record.updatedBy;
    case 'published_at':
      return record.publishedAt;
    case 'published_by':
      return record.publishedBy;
  }
}

/**
 * Whether a filter holds for a node. A missing value is unequal to every value, and every ordered comparison with it is
 * false.
 *
 * @see docs/interface/queries.md#boolean-query
 */
export function holds(condition: Condition, row: DslRow): boolean {
  switch (condition.kind) {
    case 'and':
      return condition.parts.every((part) => holds(part, row));
    case 'or':
      return condition.parts.some((part) => holds(part, row));
    case 'not':
      return !holds(condition.part, row);
    case 'term':
      return termHolds(condition, row.value(condition.field));
  }
}

/** Whether a comparison holds for the value of its field. */
export function termHolds(term: Term, value: JsonValue | undefined): boolean {
  switch (term.operator) {
    case 'eq':
      return value !== undefined && jsonEquals(value, term.value);
    case 'ne':
      return value === undefined || !jsonEquals(value, term.value);
    case 'in':
      if (typeof value !== 'object' || value === null) return value !== undefined && term.scalars.has(value);
      return term.others.some((item) => jsonEquals(value, item));
    case 'exists':
      return isThere(term.field, value) === term.value;
    case 'like':
      return typeof value === 'string' && value.includes(term.value);
    case 'contains':
      if (isJsonArray(value)) return value.some((item) => jsonEquals(item, term.value));
      return typeof value === 'string' && typeof term.value === 'string' && value.includes(term.value);
    default:
      return isInOrder(term.operator, orderOf(value, term.value));
  }
}

/** A property exists when its key exists, even with null; a column exists when it is set. */
function isThere(field: Field, value: JsonValue | undefined): boolean {
  return field.kind === 'column' ? value !== null : value !== undefined;
}

/** The sort keys of a row, decoded once and cut to the compared length. */
export type SortKeys = readonly (JsonValue | undefined)[];

/** Characters of a text that are compared; nodes whose texts are equal up to here are sorted by path. */
export const SORT_KEY_CHARACTERS = 4_096;

const anyArray: readonly JsonValue[] = Object.freeze([]);
const anyObject: JsonObject = Object.freeze({});

/** Reads the sort keys of a row. They are kept while all nodes are read, so they must not retain large values. */
export function sortKeys(order: readonly OrderTerm[], row: DslRow): SortKeys {
  return order.map(({ field }) => sortKey(row.value(field)));
}

function sortKey(value: JsonValue | undefined): JsonValue | undefined {
  if (typeof value === 'string') {
    if (value.length <= SORT_KEY_CHARACTERS) return value;
    // A slice would keep the whole text in memory.
    const head = Buffer.from(value.slice(0, SORT_KEY_CHARACTERS), 'utf16le');
    return head.toString('utf16le');
  }
  if (typeof value !== 'object' || value === null) return value;
  return isJsonArray(value) ? anyArray : anyObject;
}

/** Characters of sort keys, for their size in memory. */
export function keyCharacters(keys: SortKeys): number {
  return keys.reduce<number>((sum, key) => sum + (typeof key === 'string' ? key.length : 0), 0);
}

/**
 * Compares two rows by an order. Values of different kinds are ordered: false, true, numbers, texts, arrays, objects,
 * then null and missing values. Null is thus last ascending and first descending, as NULL in PostgreSQL.
 */
export function compareSortKeys(order: readonly OrderTerm[], a: SortKeys, b: SortKeys): number {
  for (const [index, { descending }] of order.entries()) {
    const result = compareValues(a[index], b[index]);
    if (result !== 0) return descending ? -result : result;
  }
  return 0;
}

function compareValues(a: JsonValue | undefined, b: JsonValue | undefined): number {
  const kind = kindOf(a);
  const difference = kind - kindOf(b);
  if (difference !== 0) return difference;
  return orderOf(a, b) ?? 0;
}

const Kind = { false: 0, true: 1, number: 2, text: 3, array: 4, object: 5, none: 6 } as const;

function kindOf(value: JsonValue | undefined): number {
  if (value === undefined || value === null) return Kind.none;
  if (typeof value === 'boolean') return value ? Kind.true : Kind.false;
  if (isNumber(value)) return Kind.number;
  if (typeof value === 'string') return Kind.text;
  return isJsonObject(value) ? Kind.object : Kind.array;
}
