import type { Buffer } from 'node:buffer';
import { STEP_BYTES } from './check-record.ts';
import {
  BACK_END_AT,
  COUNT_AT,
  FRONT_END_AT,
  MIDDLE_END_AT,
  PROPERTIES_AT,
  TABLE_ENTRY_BYTES,
  TYPE_AT,
  TYPE_LENGTH_AT,
} from './layout.ts';

/** The bytes of a record and where its parts are in them. Nothing is decoded. */
export class RecordParts {
  readonly bytes: Buffer;
  /** Offset of the table of the properties. */
  readonly tableAt: number;
  /** Offset of the text, from which its parts are counted. */
  readonly textAt: number;

  /** @param bytes of a record whose checksum is right */
  constructor(bytes: Buffer) {
    this.bytes = bytes;
    this.tableAt = TYPE_AT + (bytes[TYPE_LENGTH_AT] as number);
    this.textAt = this.tableAt + bytes.readUInt32BE(COUNT_AT) * TABLE_ENTRY_BYTES;
  }

  /** The node type, without decoding the header. */
  get nodeType(): string {
    return this.bytes.latin1Slice(TYPE_AT, this.tableAt);
  }

  /** Number of properties. */
  get count(): number {
    return this.bytes.readUInt32BE(COUNT_AT);
  }

  /** Where the properties begin in the text. */
  get propertiesAt(): number {
    return this.bytes.readUInt32BE(PROPERTIES_AT);
  }

  /** Where *front* ends in the text, and the properties with it. */
  get frontEnd(): number {
    return this.bytes.readUInt32BE(FRONT_END_AT);
  }

  /** Where *middle* ends in the text. */
  get middleEnd(): number {
    return this.bytes.readUInt32BE(MIDDLE_END_AT);
  }

  /** Where *back* ends in the text. */
  get backEnd(): number {
    return this.bytes.readUInt32BE(BACK_END_AT);
  }

  /** A stretch of the text. */
  slice(start: number, end: number): string {
    return this.bytes.utf8Slice(this.textAt + start, this.textAt + end);
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
      while (to < end && ((this.bytes[this.textAt + to] as number) & 0xc0) === 0x80) to -= 1;
      pieces.push(this.slice(from, to));
      yield undefined;
      from = to;
    }
    pieces.push(last);
    return pieces.join('');
  }
}
