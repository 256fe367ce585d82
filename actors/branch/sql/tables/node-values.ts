import { Jsonb, type SqlValue } from '#runtime/sql-values/sql-value.ts';
import type { JsonObject, JsonValue } from '#runtime/content/values/json-value.ts';
import { parentPath } from '#runtime/content/path.ts';
import type { NodeColumn } from '#runtime/sql-plan/node-columns.ts';
import { WantedProperty } from '#runtime/tree/record/property-table.ts';
import { Column, type TextColumn } from '#runtime/tree/record/record-layout.ts';
import type { WantedText } from '#runtime/tree/record/wanted-text.ts';

/**
 * What a row of a workspace is made of, as the caller sees it: of a node where it is stored, or of one that was read.
 * Properties that are hidden from the caller count as absent.
 */
export interface NodeValues {
  /** A column of the record. */
  text(column: TextColumn): string | null;
  /** Whether a column of the record has a text; it has none where that is null. */
  hasText(column: TextColumn, expected: WantedText): boolean;
  /** The number of writes of the node. */
  version(): number;
  /** The revision that wrote its state, `<milliseconds>-<counter>`. */
  revision(): string;
  /** A property; undefined when it is absent. */
  property(key: PropertyKey): JsonValue | undefined;
  /**
   * A property that is a number which most are: of few digits. Undefined for every other property, and when it is absent: then
   * {@link property} tells.
   */
  number(key: PropertyKey): number | undefined;
  /**
   * Whether a property is a certain text. Undefined for a property that is not a text, and when it is absent: then
   * {@link property} tells.
   */
  isText(key: PropertyKey, expected: WantedText): boolean | undefined;
  /** Bytes that reading a property may look at; 0 where all of them are decoded. */
  readonly searchedBytes: number;
}

/** A property that is looked up in many records. */
export class PropertyKey {
  readonly name: string;
  readonly wanted: WantedProperty;

  constructor(name: string) {
    this.name = name;
    this.wanted = new WantedProperty(name);
  }
}

/** What only a node has that was read and prepared, see `NodeRow`. */
export interface PreparedValues extends NodeValues {
  readonly properties: JsonObject;
  /** In the form of answers; null: there are none. */
  readonly translations: JsonValue;
  readonly relations: JsonValue;
  readonly locale: string;
  readonly treeOrder: string;
  /** Whether its properties refer to a target, see `ReferenceTargets`. */
  refersTo(target: string): boolean;
}

/** What is the same for all rows of a table. */
export interface TableFacts {
  readonly workspace: string;
  readonly branch: string;
  /** Whether the rows are found by a walk over the tree, so that they tell their parent. */
  readonly isTraversal: boolean;
}

/** Columns that need more than the record as it is stored. */
const preparedColumns = ['properties', 'translations', 'relations', 'locale', '__tree_order'] as const;

/** A column that only a prepared row has. */
export type PreparedColumn = (typeof preparedColumns)[number];

/** Whether only a prepared row has a column. */
export function isPrepared(column: NodeColumn): column is PreparedColumn {
  return (preparedColumns as readonly string[]).includes(column);
}

/** Reads a column where the record is stored. */
export function storedColumn(
  column: Exclude<NodeColumn, PreparedColumn>,
  { branch, isTraversal, workspace }: TableFacts,
): (row: NodeValues) => SqlValue {
  switch (column) {
    case 'id':
      return (row) => row.text(Column.id);
    case 'path':
      return (row) => row.text(Column.path);
    case 'name':
      return (row) => row.text(Column.name);
    case 'node_type':
      return (row) => row.text(Column.nodeType);
    case 'archetype':
      return (row) => row.text(Column.archetype);
    case 'parent_name':
      return (row) => row.text(Column.parent);
    case 'version':
      return (row) => row.version();
    case 'created_at':
      return (row) => timestamp(row.text(Column.createdAt));
    case 'updated_at':
      return (row) => timestamp(row.text(Column.updatedAt));
    case 'published_at':
      return (row) => timestamp(row.text(Column.publishedAt));
    case 'published_by':
      return (row) => row.text(Column.publishedBy);
    case 'created_by':
      return (row) => row.text(Column.createdBy);
    case 'updated_by':
      return (row) => row.text(Column.updatedBy);
    case 'owner_id':
      return (row) => row.text(Column.ownerId);
    case 'parent_path':
      return isTraversal ? (row) => parentPath(row.text(Column.path) as string) : () => null;
    case 'depth':
      return (row) => depthOf(row.text(Column.path) as string);
    case '__revision':
      return (row) => row.revision();
    case '__branch':
      return () => branch;
    case '__workspace':
      return () => workspace;
    case '__order':
      return (row) => row.text(Column.orderKey);
  }
}

/** Columns that records have as texts which are compared often. */
export const textColumns: Partial<Readonly<Record<NodeColumn, TextColumn>>> = {
  id: Column.id,
  path: Column.path,
  name: Column.name,
  node_type: Column.nodeType,
};

/** Reads a column of a prepared row. */
export function preparedColumn(column: PreparedColumn): (row: PreparedValues) => SqlValue {
  switch (column) {
    case 'properties':
      return (row) => new Jsonb(row.properties);
    case 'translations':
      return (row) => jsonOrNull(row.translations);
    case 'relations':
      return (row) => jsonOrNull(row.relations);
    case 'locale':
      return (row) => row.locale;
    case '__tree_order':
      return (row) => row.treeOrder;
  }
}

function jsonOrNull(value: JsonValue): SqlValue {
  return value === null ? null : new Jsonb(value);
}

/** Microseconds since 1970 of a time as records have it. */
export function timestamp(text: string | null): bigint | null {
  return text === null ? null : BigInt(Date.parse(text)) * 1_000n;
}

/** Number of segments of a path that is not the root. */
export function depthOf(path: string): number {
  let depth = 0;
  for (let at = path.indexOf('/'); at !== -1; at = path.indexOf('/', at + 1)) depth += 1;
  return depth;
}
