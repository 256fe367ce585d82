import { Buffer } from 'node:buffer';
import { assert } from '#runtime/base/assert.ts';
import type { JsonValue } from '#runtime/content/values/json-value.ts';
import { damagedRecord, knownLayout, requireChecksum } from './check-record.ts';
import { format2 } from './format-2.ts';
import { NodeRecord } from './node-record.ts';
import { plainNumber } from './plain-number.ts';
import { parseValue } from './property-bytes.ts';
import { findProperty, isAt, type WantedProperty } from './property-table.ts';
import { type RecordLayout, TABLE_ENTRY_BYTES, type TextColumn } from './record-layout.ts';
import { shortText } from './short-text.ts';
import { readUint32 } from './uint32.ts';
import type { WantedText } from './wanted-text.ts';

const quote = 0x22;
const letterF = 0x66;
const letterN = 0x6e;
const letterT = 0x74;

const noBytes = Buffer.alloc(0);

/**
 * Reads stored records one after the other, in place: without a copy, a checksum or an object for each. It is for scans,
 * which look at many rows and show few of them.
 *
 * What it reads may be damaged: a damaged record is either refused with `DATA_CORRUPTED` or read as something else. So a row
 * that leaves a scan has to be read as {@link record}, which verifies its checksum.
 *
 * Columns of format 2 are read at fixed places. Those of format 1 are decoded with the whole header at every call.
 */
export class RecordView {
  #bytes: Buffer = noBytes;
  #layout: RecordLayout = format2;
  #length = 0;
  #isWhole = true;
  #hasColumns = true;
  #propertiesAt = 0;
  #tableAt = 0;
  #tableEnd = 0;
  /** Where the value of the property begins and ends that {@link #find} has found. */
  #valueAt = 0;
  #valueEnd = 0;

  /**
   * Moves to a record.
   *
   * @param bytes begin with the record, and must be valid until the next call. Their memory may be longer.
   * @param length number of the bytes of the record that are there
   * @param total length of the record: more than `length` for the first piece of a large one
   * @throws {ServiceError} `DATA_CORRUPTED`
   */
  point(bytes: Buffer, length: number, total: number = length): void {
    const layout = knownLayout(bytes, length);
    if (!layout.isSound(bytes, total)) throw damagedRecord();
    this.#bytes = bytes;
    this.#layout = layout;
    this.#length = length;
    this.#isWhole = length === total;
    this.#propertiesAt = layout.propertiesAt(bytes);
    this.#hasColumns = this.#isWhole || (layout.placesColumns && this.#propertiesAt <= length);
    this.#tableAt = layout.tableAt(bytes);
    this.#tableEnd = this.#tableAt + layout.count(bytes, total) * TABLE_ENTRY_BYTES;
  }

  /** Number of the bytes of the record that are there. */
  get length(): number {
    return this.#length;
  }

  /** Whether the record is there as a whole. Properties need that. */
  get isWhole(): boolean {
    return this.#isWhole;
  }

  /** Whether columns can be read. That is so for every whole record, and for the first piece of a large one of format 2. */
  get hasColumns(): boolean {
    return this.#hasColumns;
  }

  /** The text of a column; null where it has none. */
  column(column: TextColumn): string | null {
    assert(this.#hasColumns, 'the columns of the record are there');
    const layout = this.#layout;
    if (layout.placesColumns) {
      const from = layout.columnAt(this.#bytes, column);
      const to = layout.columnEnd(this.#bytes, column);
      if (from >= to || to > this.#propertiesAt) throw damagedRecord();
    }
    if (layout.isPlain(this.#bytes)) return layout.text(this.#bytes, this.#length, column);
    const text: unknown = intact(() => layout.text(this.#bytes, this.#length, column));
    if (text !== null && typeof text !== 'string') throw damagedRecord();
    return text;
  }

  /** Whether a column has a text. */
  columnEquals(column: TextColumn, expected: WantedText): boolean {
    assert(this.#hasColumns, 'the columns of the record are there');
    const bytes = this.#bytes;
    const layout = this.#layout;
    if (!layout.isPlain(bytes)) return this.column(column) === expected.text;
    const from = layout.columnAt(bytes, column);
    return (
      expected.bytes !== undefined &&
      layout.columnEnd(bytes, column) - from === expected.bytes.length + 2 &&
      bytes[from] === quote &&
      isAt(bytes, from + 1, expected.bytes)
    );
  }

  /** Whether the text of a column starts with another one, which ends with a whole character. */
  columnStartsWith(column: TextColumn, expected: WantedText): boolean {
    assert(this.#hasColumns, 'the columns of the record are there');
    const bytes = this.#bytes;
    const layout = this.#layout;
    if (!layout.isPlain(bytes)) return this.column(column)?.startsWith(expected.text) === true;
    const from = layout.columnAt(bytes, column);
    return (
      expected.bytes !== undefined &&
      layout.columnEnd(bytes, column) - from >= expected.bytes.length + 2 &&
      bytes[from] === quote &&
      isAt(bytes, from + 1, expected.bytes)
    );
  }

  /** The revision that wrote the state, as bytes that sort like it. @see encodeRevision */
  sinceKey(): string {
    assert(this.#hasColumns, 'the columns of the record are there');
    return intact(() => this.#layout.sinceKey(this.#bytes, this.#length));
  }

  /** The number of writes of the node. */
  version(): number {
    assert(this.#hasColumns, 'the columns of the record are there');
    const version: unknown = intact(() => this.#layout.version(this.#bytes, this.#length));
    if (typeof version !== 'number') throw damagedRecord();
    return version;
  }

  /** Whether the node has translations. */
  get hasTranslations(): boolean {
    assert(this.#hasColumns, 'the columns of the record are there');
    return this.#layout.hasTranslations(this.#bytes, this.#length);
  }

  /** Whether the node has relations. */
  get hasRelations(): boolean {
    assert(this.#hasColumns, 'the columns of the record are there');
    return this.#layout.hasRelations(this.#bytes);
  }

  /** The JSON of a property; undefined when it is absent. */
  propertyText(wanted: WantedProperty): string | undefined {
    return this.#find(wanted) ? this.#bytes.utf8Slice(this.#valueAt, this.#valueEnd) : undefined;
  }

  /** Length of the JSON of a property in bytes; 0 when it is absent. */
  propertyLength(wanted: WantedProperty): number {
    return this.#find(wanted) ? this.#valueEnd - this.#valueAt : 0;
  }

  /** A property; undefined when it is absent. */
  property(wanted: WantedProperty): JsonValue | undefined {
    if (!this.#find(wanted)) return undefined;
    const bytes = this.#bytes;
    switch (bytes[this.#valueAt]) {
      case quote:
        return textOf(shortText(bytes, this.#valueAt + 1, this.#valueEnd - 1));
      case letterT:
        return true;
      case letterF:
        return false;
      case letterN:
        return null;
      default:
        return (
          plainNumber(bytes, this.#valueAt, this.#valueEnd) ??
          intact(() => parseValue(bytes.utf8Slice(this.#valueAt, this.#valueEnd)))
        );
    }
  }

  /**
   * A property that is a number of at most fifteen digits without an exponent, which most are.
   *
   * @returns undefined for every other property, and when it is absent: then {@link property} tells
   */
  propertyNumber(wanted: WantedProperty): number | undefined {
    return this.#find(wanted) ? plainNumber(this.#bytes, this.#valueAt, this.#valueEnd) : undefined;
  }

  /**
   * Whether a property is a text whose JSON is the same text between quotes.
   *
   * @param expected without anything that JSON escapes
   * @returns undefined for every property that is not a text, and when it is absent
   */
  propertyEquals(wanted: WantedProperty, expected: WantedText): boolean | undefined {
    if (!this.#find(wanted) || this.#bytes[this.#valueAt] !== quote) return undefined;
    const { bytes } = expected;
    if (bytes === undefined || this.#valueEnd - this.#valueAt !== bytes.length + 2) return false;
    return isAt(this.#bytes, this.#valueAt + 1, bytes);
  }

  /** The properties as JSON text of an object. */
  get propertiesText(): string {
    assert(this.#isWhole, 'the record is there as a whole');
    const end = this.#layout.propertiesEnd(this.#bytes);
    return `{${this.#bytes.utf8Slice(this.#propertiesAt, end)}}`;
  }

  /** Verifies the checksum. @throws {ServiceError} `DATA_CORRUPTED` */
  verify(): void {
    assert(this.#isWhole, 'the record is there as a whole');
    requireChecksum(this.#bytes, this.#length);
  }

  /** A copy of the record, which stays valid. @throws {ServiceError} `DATA_CORRUPTED` */
  record(): NodeRecord {
    assert(this.#isWhole, 'the record is there as a whole');
    return new NodeRecord(Buffer.from(this.#bytes.subarray(0, this.#length)));
  }

  /** Looks a property up. @returns whether the record has it */
  #find(wanted: WantedProperty): boolean {
    assert(this.#isWhole, 'the record is there as a whole');
    const bytes = this.#bytes;
    const from = this.#propertiesAt;
    const entry = findProperty(bytes, from, this.#tableAt, this.#tableEnd, wanted);
    if (entry < 0) return false;
    // A key is followed by a colon.
    this.#valueAt = from + readUint32(bytes, entry) + 1;
    this.#valueEnd = from + readUint32(bytes, entry + TABLE_ENTRY_BYTES / 2);
    if (this.#valueAt >= this.#valueEnd || this.#valueEnd > this.#layout.propertiesEnd(bytes))
      throw damagedRecord();
    return true;
  }
}

/** What is decoded of bytes that may be damaged. @throws {ServiceError} `DATA_CORRUPTED` */
function intact<T>(decode: () => T): T {
  try {
    return decode();
  } catch {
    throw damagedRecord();
  }
}

/** @param json a JSON string without its quotes */
function textOf(json: string): string {
  return json.includes('\\') ? intact(() => JSON.parse(`"${json}"`) as string) : json;
}
