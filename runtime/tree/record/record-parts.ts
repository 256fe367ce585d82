import type { Buffer } from 'node:buffer';
import { type RecordLayout, TABLE_ENTRY_BYTES } from './record-layout.ts';
import { shortText } from './short-text.ts';
import { STEP_BYTES } from './steps.ts';
import { readUint32 } from './uint32.ts';

/** The bytes of a record and where its parts are in them. Nothing is decoded. */
export class RecordParts {
  readonly bytes: Buffer;
  readonly layout: RecordLayout;

  /** @param layout of these bytes, whose checksum is right */
  constructor(bytes: Buffer, layout: RecordLayout) {
    this.bytes = bytes;
    this.layout = layout;
  }

  /** Number of properties. */
  get count(): number {
    return this.layout.count(this.bytes, this.bytes.length);
  }

  /** Where the table of the properties begins. */
  get tableAt(): number {
    return this.layout.tableAt(this.bytes);
  }

  /** Where the table of the properties ends. */
  get tableEnd(): number {
    return this.tableAt + this.count * TABLE_ENTRY_BYTES;
  }

  /** Where the node object begins. */
  get frontAt(): number {
    return this.layout.frontAt(this.bytes);
  }

  /** Where the properties begin. */
  get propertiesAt(): number {
    return this.layout.propertiesAt(this.bytes);
  }

  /** Where the properties end. */
  get propertiesEnd(): number {
    return this.layout.propertiesEnd(this.bytes);
  }

  /**
   * Where the stored texts of selected top-level properties are, `"key":value,…`, in stored order: the start and the end of
   * each stretch of properties that follow each other.
   */
  stretchesOf(isWanted: (name: string) => boolean): readonly number[] {
    const { bytes, propertiesAt: from, tableEnd } = this;
    const stretches: number[] = [];
    let isOpen = false;
    let start = from;
    for (let entry = this.tableAt; entry < tableEnd; entry += TABLE_ENTRY_BYTES) {
      const key = shortText(bytes, start + 1, from + readUint32(bytes, entry) - 1);
      const valueEnd = from + readUint32(bytes, entry + TABLE_ENTRY_BYTES / 2);
      const isNext = isWanted(key.includes('\\') ? (JSON.parse(`"${key}"`) as string) : key);
      if (isNext && isOpen) stretches[stretches.length - 1] = valueEnd;
      else if (isNext) stretches.push(start, valueEnd);
      isOpen = isNext;
      // Every key but the first follows a comma.
      start = valueEnd + 1;
    }
    return stretches;
  }

  /** A stretch of the text. */
  slice(start: number, end: number): string {
    return this.bytes.utf8Slice(start, end);
  }

  /**
   * As {@link slice}, in steps, between two other texts. These are joined with the pieces: added to the result, they
   * would make its first reader copy all of it once more, in one step.
   */
  *sliceInSteps(start: number, end: number, first = '', last = ''): Generator<undefined, string> {
    const pieces = [first];
    for (let from = start; from < end; ) {
      let to = Math.min(from + STEP_BYTES, end);
      // Do not cut a character in two.
      while (to < end && ((this.bytes[to] as number) & 0xc0) === 0x80) to -= 1;
      pieces.push(this.slice(from, to));
      yield undefined;
      from = to;
    }
    pieces.push(last);
    return pieces.join('');
  }
}
