import { translationsField } from '#runtime/content/translations/translation.ts';
import type { NodeColumn } from '#runtime/sql-plan/node-columns.ts';
import { timestamptzType } from '#runtime/sql-values/types/basic-types.ts';
import { toText } from '#runtime/sql-values/to-text.ts';
import type { NodeRecord } from '#runtime/tree/record/node-record.ts';
import { quoted } from '#runtime/tree/record/quoted.ts';
import { Column, type TextColumn } from '#runtime/tree/record/record-layout.ts';
import { depthOf, timestamp } from '../tables/node-values.ts';

/** What columns have that are no part of a record, as JSON. */
export interface StoredFacts {
  readonly branch: string;
  /** The default language. */
  readonly locale: string;
}

/** The JSON of a column of a record. */
export type StoredColumn = (record: NodeRecord, facts: StoredFacts) => string;

const stored =
  (column: TextColumn): StoredColumn =>
  (record) =>
    columnJson(record, column);

const time =
  (column: TextColumn): StoredColumn =>
  (record) =>
    timeJson(columnJson(record, column));

const columns: Readonly<Record<Exclude<NodeColumn, '__tree_order' | '__workspace'>, StoredColumn>> = {
  id: stored(Column.id),
  path: stored(Column.path),
  name: stored(Column.name),
  node_type: stored(Column.nodeType),
  archetype: stored(Column.archetype),
  properties: (record) => record.propertiesText,
  parent_name: stored(Column.parent),
  version: (record) => String(record.version),
  created_at: time(Column.createdAt),
  updated_at: time(Column.updatedAt),
  published_at: time(Column.publishedAt),
  published_by: stored(Column.publishedBy),
  created_by: stored(Column.createdBy),
  updated_by: stored(Column.updatedBy),
  translations: translationsJson,
  owner_id: stored(Column.ownerId),
  // Of a record with relations they are asked for elsewhere.
  relations: () => 'null',
  // Only a walk over the tree tells it.
  parent_path: () => 'null',
  depth: (record) => String(depthOf(record.path)),
  locale: (_, { locale }) => locale,
  __revision: (record) => `"${record.revision}"`,
  __branch: (_, { branch }) => branch,
  __order: stored(Column.orderKey),
};

/**
 * How a column of an answer is written from the stored bytes of a node without relations, of which the caller may see everything:
 * at the head, in the default language.
 *
 * @returns undefined for `__tree_order`, which other nodes tell
 */
export function storedColumnJson(column: NodeColumn, workspace: string): StoredColumn | undefined {
  if (column === '__tree_order') return undefined;
  if (column !== '__workspace') return columns[column];
  const json = JSON.stringify(workspace);
  return () => json;
}

/** The JSON of a column: the bytes themselves, where the format has it so. */
function columnJson(record: NodeRecord, column: TextColumn): string {
  const { bytes, layout } = record;
  if (!layout.placesColumns) return quoted(record.column(column));
  return bytes.utf8Slice(layout.columnAt(bytes, column), layout.columnEnd(bytes, column));
}

function translationsJson(record: NodeRecord): string {
  const { translations } = record.hasTranslations ? record.header : { translations: null };
  return translations === null ? 'null' : JSON.stringify(translationsField(translations));
}

/** Characters of the JSON of a time of four digits of a year, as records have it. */
const TIME_LENGTH = '"2031-05-01T10:00:00.500Z"'.length;

/** Where its fraction begins. */
const FRACTION_AT = '"2031-05-01T10:00:00'.length;

const NO_FRACTION = '.000Z"';

/** The JSON of a time in an answer, which has no fraction where that is 0. @param json as it is stored */
function timeJson(json: string): string {
  if (json === 'null') return json;
  if (json.length === TIME_LENGTH)
    return json.endsWith(NO_FRACTION) ? `${json.slice(0, FRACTION_AT)}Z"` : json;
  return quoted(toText(timestamp(JSON.parse(json) as string), timestamptzType));
}
