/**
 * Names of indexes. That of a property index is the name of the property. Others begin with a zero character, which no
 * indexed property has in its name.
 */
const OTHER = '\0';

/** Index of all nodes of a workspace by their time of creation. */
export const CREATED_AT_INDEX: string = `${OTHER}created_at`;

/** Index of all nodes of a workspace by the time of their last change. */
export const UPDATED_AT_INDEX: string = `${OTHER}updated_at`;

/** A column of a compound index. */
export interface IndexColumn {
  /** Name of a property, or `__node_type`, `__created_at`, `__updated_at`. */
  readonly property: string;
  readonly isDescending: boolean;
}

/** Whether a property can have an index of its own. */
export function mayBeIndexed(property: string): boolean {
  return !property.includes(OTHER);
}

/** Name of a compound index. It is all that the index depends on, so types with equal columns share one. */
export function compoundIndexName(columns: readonly IndexColumn[]): string {
  return OTHER + JSON.stringify(columns.map(({ isDescending, property }) => [property, isDescending]));
}

/** Columns by the name of the index; there are few different ones. */
const parsed = new Map<string, readonly IndexColumn[]>();

/** Names kept in the cache; above it the cache is cleared. */
const PARSED_MAX = 10_000;

/** Columns of a compound index; undefined for other indexes. */
export function compoundColumns(name: string): readonly IndexColumn[] | undefined {
  if (!name.startsWith(`${OTHER}[`)) return undefined;
  let columns = parsed.get(name);
  if (columns === undefined) {
    const json = JSON.parse(name.slice(OTHER.length)) as readonly (readonly [string, boolean])[];
    columns = json.map(([property, isDescending]) => ({ property, isDescending }));
    if (parsed.size >= PARSED_MAX) parsed.clear();
    parsed.set(name, columns);
  }
  return columns;
}

/** Names of the properties whose values are in an index. */
export function propertiesOf(name: string): readonly string[] {
  if (!name.startsWith(OTHER)) return [name];
  return compoundColumns(name)?.map(({ property }) => property) ?? [];
}
