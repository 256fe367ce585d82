import type { Buffer } from 'node:buffer';
import { InvariantError } from '#runtime/base/assert.ts';
import { parseExactJson } from '#runtime/base/text/exact-json.ts';
import type { ChangeOperation, NodeHeader, Relation } from '#runtime/content/content-node.ts';
import { encodeRevision, parseRevision } from '#runtime/content/revision.ts';
import type { JsonObject } from '#runtime/content/values/json-value.ts';
import { headerText } from './header-text.ts';
import { quoted } from './quoted.ts';
import { Column, type RecordLayout, TABLE_ENTRY_BYTES } from './record-layout.ts';

/*
 * Format 1, which is read and no longer written. Numbers are big endian:
 *
 * | Bytes | What |
 * |---|---|
 * | 1 | format |
 * | 4 | CRC-32 of everything behind it |
 * | 4 | number of properties |
 * | 4 × 4 | ends of the parts *front*, *middle*, *back* in the text, start of the properties in it |
 * | 1 + n | length and name of the node type |
 * | 8 each | per property: where its key and its value end, counted from the start of the properties |
 * | rest | the text: front, middle, back, then the *inner* fields |
 *
 * The first three parts are the JSON of the node object as a read answers it, with gaps for what is derived:
 * `front` ends behind the last property, `middle` is parent and order key, `back` everything else. `inner` is a JSON
 * array of what only the engine knows.
 */
const COUNT_AT = 5;
const FRONT_END_AT = 9;
const MIDDLE_END_AT = 13;
const BACK_END_AT = 17;
const PROPERTIES_AT = 21;
const TYPE_LENGTH_AT = 25;
const TYPE_AT = 26;

const OPENING_BRACKET = 0x5b;

/** The end of the inner fields of a node without translations. */
const NO_TRANSLATIONS = ',null]';

/** Length of the part of the inner fields that holds the revision: a server-made id, the revision, and more. */
const INNER_START_BYTES = 128;

/** What only the engine knows. */
type InnerFields = [
  parentId: string,
  revision: string,
  operation: ChangeOperation,
  changedLocale: string | null,
  translations: JsonObject | null,
];

/** The node object on the wire, without its derived fields. */
interface WireNode {
  readonly id: string;
  readonly name: string;
  readonly path: string;
  readonly node_type: string;
  readonly archetype: string | null;
  readonly order_key: string;
  readonly version: number;
  readonly created_at: string;
  readonly updated_at: string;
  readonly created_by: string;
  readonly updated_by: string;
  readonly published_at: string | null;
  readonly published_by: string | null;
  readonly owner_id: string | null;
  readonly relations: readonly Relation[];
}

function tableAt(bytes: Buffer): number {
  return TYPE_AT + (bytes[TYPE_LENGTH_AT] as number);
}

function textAt(bytes: Buffer): number {
  return tableAt(bytes) + bytes.readUInt32BE(COUNT_AT) * TABLE_ENTRY_BYTES;
}

/** A place that is given as an offset in the text. */
function inText(bytes: Buffer, at: number): number {
  return textAt(bytes) + bytes.readUInt32BE(at);
}

function revision(bytes: Buffer, length: number): string {
  const innerAt = inText(bytes, BACK_END_AT);
  const inner = bytes.latin1Slice(innerAt, Math.min(innerAt + INNER_START_BYTES, length));
  // `["parent id","revision",…`
  let idEnd = 2;
  while (idEnd < inner.length && inner[idEnd] !== '"') idEnd += inner[idEnd] === '\\' ? 2 : 1;
  const start = idEnd + 3;
  const end = inner.indexOf('"', start);
  return end < 0 ? header(bytes, length).revision : inner.slice(start, end);
}

function header(bytes: Buffer, length: number): NodeHeader {
  const front = bytes.utf8Slice(textAt(bytes), inText(bytes, PROPERTIES_AT));
  const backEnd = inText(bytes, BACK_END_AT);
  const behind = bytes.utf8Slice(inText(bytes, FRONT_END_AT), backEnd);
  const node = JSON.parse(`${front}},${behind}}`) as WireNode;
  const text = bytes.utf8Slice(backEnd, length);
  // Only translations contain numbers, and most nodes have none.
  const inner: unknown = text.endsWith(NO_TRANSLATIONS) ? JSON.parse(text) : parseExactJson(text);
  const [parentId, since, operation, changedLocale, translations] = inner as InnerFields;
  return {
    id: node.id,
    name: node.name,
    path: node.path,
    nodeType: node.node_type,
    archetype: node.archetype,
    parentId,
    orderKey: node.order_key,
    version: node.version,
    createdAt: node.created_at,
    createdBy: node.created_by,
    updatedAt: node.updated_at,
    updatedBy: node.updated_by,
    publishedAt: node.published_at,
    publishedBy: node.published_by,
    ownerId: node.owner_id,
    translations,
    relations: node.relations,
    revision: since,
    operation,
    changedLocale,
  };
}

/** Columns have no places in this format. */
function noPlace(): never {
  throw new InvariantError('the columns of a record of format 1 are read from its header');
}

/** The layout of format 1. */
export const format1: RecordLayout = {
  bytesMin: TYPE_AT + 1,
  placesColumns: false,

  isSound: (bytes, total) => {
    const text = textAt(bytes);
    const backEnd = text + bytes.readUInt32BE(BACK_END_AT);
    return (
      bytes.readUInt32BE(PROPERTIES_AT) <= bytes.readUInt32BE(FRONT_END_AT) &&
      bytes.readUInt32BE(FRONT_END_AT) <= bytes.readUInt32BE(MIDDLE_END_AT) &&
      bytes.readUInt32BE(MIDDLE_END_AT) <= bytes.readUInt32BE(BACK_END_AT) &&
      backEnd <= total
    );
  },

  frontAt: textAt,
  propertiesAt: (bytes) => inText(bytes, PROPERTIES_AT),
  propertiesEnd: (bytes) => inText(bytes, FRONT_END_AT),
  tableAt,
  count: (bytes) => bytes.readUInt32BE(COUNT_AT),

  isPlain: () => false,
  columnAt: noPlace,
  columnEnd: noPlace,
  text: (bytes, length, column) =>
    column === Column.nodeType
      ? bytes.latin1Slice(TYPE_AT, tableAt(bytes))
      : headerText(header(bytes, length), column),

  sinceKey: (bytes, length) => encodeRevision(parseRevision(revision(bytes, length))),
  revision,
  version: (bytes, length) => header(bytes, length).version,
  // The node object ends with `"relations":[…]`.
  hasRelations: (bytes) => bytes[inText(bytes, BACK_END_AT) - 2] !== OPENING_BRACKET,
  hasTranslations: (bytes, length) =>
    bytes.latin1Slice(length - NO_TRANSLATIONS.length, length) !== NO_TRANSLATIONS,
  mayRefer: () => undefined,
  header,

  fieldsText: (bytes, _length, relations) => {
    const middle = bytes.utf8Slice(inText(bytes, FRONT_END_AT), inText(bytes, MIDDLE_END_AT));
    const back = bytes.utf8Slice(inText(bytes, MIDDLE_END_AT), inText(bytes, BACK_END_AT));
    if (relations === undefined) return middle + back;
    // They are the last field. Inside a string a quote follows a backslash.
    const at = back.lastIndexOf(',"relations":[');
    return `${middle}${back.slice(0, at)},"relations":${JSON.stringify(relations)}`;
  },

  writeFields: (bytes, text) => {
    text.copy(bytes, inText(bytes, FRONT_END_AT), inText(bytes, BACK_END_AT));
  },

  shortFieldsText: (bytes, length) => {
    const middle = bytes.utf8Slice(inText(bytes, FRONT_END_AT), inText(bytes, MIDDLE_END_AT));
    const h = header(bytes, length);
    return (
      `${middle},"version":${h.version},"created_at":"${h.createdAt}","updated_at":"${h.updatedAt}"` +
      `,"created_by":${quoted(h.createdBy)},"updated_by":${quoted(h.updatedBy)}` +
      `,"published_at":${quoted(h.publishedAt)},"published_by":${quoted(h.publishedBy)}` +
      `,"owner_id":${quoted(h.ownerId)}`
    );
  },
};
