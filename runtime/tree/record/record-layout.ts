import type { Buffer } from 'node:buffer';
import type { TextBytes } from '#runtime/base/text/text-bytes.ts';
import type { NodeHeader, Relation } from '#runtime/content/content-node.ts';

/** Place of the checksum: 4 bytes behind the byte of the format, in every format. */
export const CRC_AT = 1;

/** Where the bytes begin that the checksum covers. */
export const CHECKED_FROM = 5;

/** Bytes of a property in the table: where its key and its value end, counted from the start of the properties. */
export const TABLE_ENTRY_BYTES = 8;

/** Columns of a node. The numbers are those of format 2. */
export const Column = {
  parentId: 0,
  changedLocale: 1,
  parent: 2,
  orderKey: 3,
  version: 4,
  createdAt: 5,
  updatedAt: 6,
  createdBy: 7,
  updatedBy: 8,
  publishedAt: 9,
  publishedBy: 10,
  ownerId: 11,
  id: 12,
  name: 13,
  path: 14,
  nodeType: 15,
  archetype: 16,
} as const;
export type Column = (typeof Column)[keyof typeof Column];

/** Columns whose values are texts or null. */
export type TextColumn = Exclude<Column, typeof Column.version>;

/**
 * Where the parts of a record are, and how its facts are read. All offsets are counted from its first byte.
 *
 * Its methods take bytes whose memory may be longer than the record: `length` bytes belong to it.
 */
export interface RecordLayout {
  /** No record is shorter. */
  readonly bytesMin: number;

  /** Whether columns are found without decoding the header, also in the first piece of a large record. */
  readonly placesColumns: boolean;

  /**
   * Whether the parts of a record are where they can be. It finds damage that would lead out of the record before its
   * checksum is verified.
   *
   * @param total length of the record, of which at least {@link bytesMin} are there
   */
  isSound(bytes: Buffer, total: number): boolean;

  /** Where the node object begins. It is one stretch up to the end of the properties. */
  frontAt(bytes: Buffer): number;

  /** Where the properties begin. */
  propertiesAt(bytes: Buffer): number;

  /** Where the properties end. */
  propertiesEnd(bytes: Buffer): number;

  /** Where the table of the properties begins. */
  tableAt(bytes: Buffer): number;

  /** Number of properties. @param total length of the record */
  count(bytes: Buffer, total: number): number;

  /** Whether the bytes of each column between its quotes are those of its text: no column has escapes. */
  isPlain(bytes: Buffer): boolean;

  /** Where the JSON of a column begins. Only of layouts that place columns. */
  columnAt(bytes: Buffer, column: Column): number;

  /** Where the JSON of a column ends. Only of layouts that place columns. */
  columnEnd(bytes: Buffer, column: Column): number;

  /** The text of a column; null where it has none. */
  text(bytes: Buffer, length: number, column: TextColumn): string | null;

  /** The revision that wrote the state, as bytes that sort like it. @see encodeRevision */
  sinceKey(bytes: Buffer, length: number): string;

  /** The revision that wrote the state, as text. */
  revision(bytes: Buffer, length: number): string;

  /** The number of writes of the node. */
  version(bytes: Buffer, length: number): number;

  /** Whether the node has relations. */
  hasRelations(bytes: Buffer): boolean;

  /** Whether the node has translations. */
  hasTranslations(bytes: Buffer, length: number): boolean;

  /** Whether the properties may contain a reference; undefined where they have to be searched. */
  mayRefer(bytes: Buffer): boolean | undefined;

  /** All fields but the properties. */
  header(bytes: Buffer, length: number): NodeHeader;

  /**
   * JSON of the stored fields behind the properties, `"parent":…`.
   *
   * @param relations replace the stored ones
   */
  fieldsText(bytes: Buffer, length: number, relations?: readonly Relation[]): string;

  /** Adds {@link fieldsText} to a text, with the stored relations, without decoding it. */
  writeFields(bytes: Buffer, text: TextBytes): void;

  /** As {@link fieldsText}, without translations and relations. */
  shortFieldsText(bytes: Buffer, length: number): string;
}
