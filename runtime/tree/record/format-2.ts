import { Buffer } from 'node:buffer';
import type { TextBytes } from '#runtime/base/text/text-bytes.ts';
import { parseExactJson } from '#runtime/base/text/exact-json.ts';
import type { ChangeOperation, NodeHeader, Relation } from '#runtime/content/content-node.ts';
import { REVISION_BYTES } from '#runtime/content/revision.ts';
import type { JsonObject } from '#runtime/content/values/json-value.ts';
import { Column, type RecordLayout, TABLE_ENTRY_BYTES, type TextColumn } from './record-layout.ts';
import { readRevision } from './revision-bytes.ts';
import { readUint32 } from './uint32.ts';

/*
 * Format 2. Numbers are big endian, and ends are counted from the first byte of the record:
 *
 * | Bytes | What |
 * |---|---|
 * | 1 | format |
 * | 4 | CRC-32 of everything behind it |
 * | 1 | flags, see `Flag` |
 * | 1 | operation, see `operations` |
 * | 10 | revision that wrote the state; the bytes sort like it |
 * | 4 | version |
 * | 4 × 4 | ends of the properties, the translations, the relations and the overlays |
 * | 17 × 4 | ends of the columns, in the order of `Column` |
 * | text | columns, properties, translations, relations, overlays |
 * | 8 each | table: where the key and the value of a property end, counted from the start of the properties |
 *
 * The text of each column is its JSON, behind a text that is always the same (`columnLeads`). So the columns from
 * `parent` to `owner_id` are fields of the node object as a read answers it, and so are those from `id` on, up to
 * the end of the properties: two stretches that a read copies into its answer. Translations and relations are the fields with
 * these names, and missing where the node has none. Overlays are the translations in the stored form.
 *
 * With the longest texts that are accepted, everything in front of the properties has less than 64 KiB: the first piece of
 * a large record suffices for it.
 *
 * JSON rather than MessagePack: answers over REST are made of stored bytes, lone surrogates and `__proto__`
 * survive, and V8 parses it faster than any decoder written in JavaScript. docs/decisions/0060-columns-at-fixed-places.md
 * has the other reasons.
 */

/** Place of the flags. */
export const FLAGS_AT = 5;

/** Place of the operation. */
export const OPERATION_AT = 6;

/** Place of the revision. */
export const REVISION_AT = 7;

/** Place of the version. */
export const VERSION_AT: number = REVISION_AT + REVISION_BYTES;

/** Place of the end of the properties. */
export const PROPERTIES_END_AT: number = VERSION_AT + 4;

/** Place of the end of the field `translations`. */
export const TRANSLATIONS_END_AT: number = PROPERTIES_END_AT + 4;

/** Place of the end of the field `relations`. */
export const RELATIONS_END_AT: number = TRANSLATIONS_END_AT + 4;

/** Place of the end of the overlays, where the table begins. */
export const OVERLAYS_END_AT: number = RELATIONS_END_AT + 4;

/** Place of the ends of the columns. */
export const COLUMN_ENDS_AT: number = OVERLAYS_END_AT + 4;

/** The texts in front of the columns, in the order of {@link Column}. */
export const columnLeads: readonly string[] = [
  '',
  '',
  '"parent":',
  ',"order_key":',
  ',"version":',
  ',"created_at":',
  ',"updated_at":',
  ',"created_by":',
  ',"updated_by":',
  ',"published_at":',
  ',"published_by":',
  ',"owner_id":',
  '{"id":',
  ',"name":',
  ',"path":',
  ',"node_type":',
  ',"archetype":',
];

/** The text between the last column and the properties. */
export const PROPERTIES_LEAD = ',"properties":{';

/** Where the text begins. */
export const TEXT_AT: number = COLUMN_ENDS_AT + 4 * columnLeads.length;

/** The text in front of the translations. */
export const TRANSLATIONS_LEAD = ',"translations":';

/** The text in front of the relations. */
export const RELATIONS_LEAD = ',"relations":';

/** Facts of one bit. */
export const Flag = {
  translations: 1,
  relations: 2,
  /** The properties may contain a reference. */
  refers: 4,
  /** A column text has escapes. */
  escapes: 8,
  /** The columns are not all ASCII. */
  wide: 16,
} as const;

/** The operations in the order of their numbers. */
export const operations: readonly ChangeOperation[] = ['added', 'modified', 'deleted', 'reordered'];

const NO_TRANSLATIONS = `${TRANSLATIONS_LEAD}null`;
const NO_RELATIONS = `${RELATIONS_LEAD}[]`;
const noTranslations = Buffer.from(NO_TRANSLATIONS);
const noRelations = Buffer.from(NO_RELATIONS);

const LETTER_N = 0x6e;

const leadBytes = columnLeads.map(({ length }) => length);

function columnEnd(bytes: Buffer, column: Column): number {
  return readUint32(bytes, COLUMN_ENDS_AT + 4 * column);
}

function columnAt(bytes: Buffer, column: Column): number {
  const before = column === 0 ? TEXT_AT : columnEnd(bytes, (column - 1) as Column);
  return before + (leadBytes[column] as number);
}

function has(bytes: Buffer, flag: number): boolean {
  return ((bytes[FLAGS_AT] as number) & flag) !== 0;
}

function propertiesAt(bytes: Buffer): number {
  return columnEnd(bytes, Column.archetype) + PROPERTIES_LEAD.length;
}

function sinceKey(bytes: Buffer): string {
  return bytes.latin1Slice(REVISION_AT, VERSION_AT);
}

function revision(bytes: Buffer): string {
  return readRevision(bytes, REVISION_AT);
}

function text(bytes: Buffer, _length: number, column: TextColumn): string | null {
  const from = columnAt(bytes, column);
  const to = columnEnd(bytes, column);
  if (bytes[from] === LETTER_N) return null;
  if (has(bytes, Flag.escapes)) return JSON.parse(bytes.utf8Slice(from, to)) as string;
  return has(bytes, Flag.wide) ? bytes.utf8Slice(from + 1, to - 1) : bytes.latin1Slice(from + 1, to - 1);
}

/** Reads the texts of columns. */
type ColumnReader = (column: TextColumn) => string | null;

/** Reads all columns. Usually they are one text of ASCII, which is decoded once and then divided. */
function columnReader(bytes: Buffer): ColumnReader {
  if (has(bytes, Flag.escapes | Flag.wide)) return (column) => text(bytes, bytes.length, column);
  const all = bytes.latin1Slice(TEXT_AT, columnEnd(bytes, Column.archetype));
  return (column) => {
    const from = columnAt(bytes, column);
    if (bytes[from] === LETTER_N) return null;
    return all.slice(from + 1 - TEXT_AT, columnEnd(bytes, column) - 1 - TEXT_AT);
  };
}

function relationsOf(bytes: Buffer): readonly Relation[] {
  if (!has(bytes, Flag.relations)) return [];
  const from = readUint32(bytes, TRANSLATIONS_END_AT) + RELATIONS_LEAD.length;
  return JSON.parse(bytes.utf8Slice(from, readUint32(bytes, RELATIONS_END_AT))) as readonly Relation[];
}

function translationsOf(bytes: Buffer): JsonObject | null {
  if (!has(bytes, Flag.translations)) return null;
  const overlays = bytes.utf8Slice(readUint32(bytes, RELATIONS_END_AT), readUint32(bytes, OVERLAYS_END_AT));
  return parseExactJson(overlays) as JsonObject;
}

function header(bytes: Buffer): NodeHeader {
  const read = columnReader(bytes);
  return {
    id: read(Column.id) as string,
    name: read(Column.name) as string,
    path: read(Column.path) as string,
    nodeType: read(Column.nodeType) as string,
    archetype: read(Column.archetype),
    parentId: read(Column.parentId) as string,
    orderKey: read(Column.orderKey) as string,
    version: readUint32(bytes, VERSION_AT),
    createdAt: read(Column.createdAt) as string,
    createdBy: read(Column.createdBy) as string,
    updatedAt: read(Column.updatedAt) as string,
    updatedBy: read(Column.updatedBy) as string,
    publishedAt: read(Column.publishedAt),
    publishedBy: read(Column.publishedBy),
    ownerId: read(Column.ownerId),
    translations: translationsOf(bytes),
    relations: relationsOf(bytes),
    revision: revision(bytes),
    operation: operations[bytes[OPERATION_AT] as number] as ChangeOperation,
    changedLocale: read(Column.changedLocale),
  };
}

function shortFieldsText(bytes: Buffer): string {
  return bytes.utf8Slice(columnEnd(bytes, Column.changedLocale), columnEnd(bytes, Column.ownerId));
}

function fieldsText(bytes: Buffer, _length: number, relations?: readonly Relation[]): string {
  const short = shortFieldsText(bytes);
  const translationsEnd = readUint32(bytes, TRANSLATIONS_END_AT);
  const translations = has(bytes, Flag.translations)
    ? bytes.utf8Slice(readUint32(bytes, PROPERTIES_END_AT), translationsEnd)
    : NO_TRANSLATIONS;
  if (relations !== undefined) return `${short}${translations}${RELATIONS_LEAD}${JSON.stringify(relations)}`;
  return has(bytes, Flag.relations)
    ? `${short}${translations}${bytes.utf8Slice(translationsEnd, readUint32(bytes, RELATIONS_END_AT))}`
    : `${short}${translations}${NO_RELATIONS}`;
}

function writeFields(bytes: Buffer, to: TextBytes): void {
  to.copy(bytes, columnEnd(bytes, Column.changedLocale), columnEnd(bytes, Column.ownerId));
  const propertiesEnd = readUint32(bytes, PROPERTIES_END_AT);
  const translationsEnd = readUint32(bytes, TRANSLATIONS_END_AT);
  if (has(bytes, Flag.translations)) to.copy(bytes, propertiesEnd, translationsEnd);
  else to.copy(noTranslations);
  if (has(bytes, Flag.relations)) to.copy(bytes, translationsEnd, readUint32(bytes, RELATIONS_END_AT));
  else to.copy(noRelations);
}

function isSound(bytes: Buffer, total: number): boolean {
  const propertiesEnd = readUint32(bytes, PROPERTIES_END_AT);
  const translationsEnd = readUint32(bytes, TRANSLATIONS_END_AT);
  const relationsEnd = readUint32(bytes, RELATIONS_END_AT);
  const overlaysEnd = readUint32(bytes, OVERLAYS_END_AT);
  return (
    propertiesAt(bytes) <= propertiesEnd &&
    propertiesEnd <= translationsEnd &&
    translationsEnd <= relationsEnd &&
    relationsEnd <= overlaysEnd &&
    overlaysEnd <= total &&
    (total - overlaysEnd) % TABLE_ENTRY_BYTES === 0
  );
}

/** The layout of format 2. */
export const format2: RecordLayout = {
  bytesMin: TEXT_AT,
  placesColumns: true,
  isSound,

  frontAt: (bytes) => columnEnd(bytes, Column.ownerId),
  propertiesAt,
  propertiesEnd: (bytes) => readUint32(bytes, PROPERTIES_END_AT),
  tableAt: (bytes) => readUint32(bytes, OVERLAYS_END_AT),
  count: (bytes, total) => (total - readUint32(bytes, OVERLAYS_END_AT)) / TABLE_ENTRY_BYTES,

  isPlain: (bytes) => !has(bytes, Flag.escapes),
  columnAt,
  columnEnd,
  text,

  sinceKey,
  revision,
  version: (bytes) => readUint32(bytes, VERSION_AT),
  hasRelations: (bytes) => has(bytes, Flag.relations),
  hasTranslations: (bytes) => has(bytes, Flag.translations),
  mayRefer: (bytes) => has(bytes, Flag.refers),
  header,

  fieldsText,
  writeFields,
  shortFieldsText,
};
