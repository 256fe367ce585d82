import { Buffer } from 'node:buffer';
import { assert } from '../assert.ts';

/** Bytes of memory at first. */
const CAPACITY_MIN = 4 * 1024;

/** Characters up to which room is made for the most bytes a text may have, instead of counting them. */
const COUNTED_FROM = 1_024;

/** The first character that is more than one byte. */
const FIRST_LONG_CHARACTER = '\u0080';

/** Most bytes of UTF-8 for one character of a string. */
const BYTES_PER_CHARACTER_MAX = 3;

/**
 * A text that is put together from strings and from UTF-8 that is copied as it is stored. A string of many pieces would
 * be joined, and encoded as a whole, before it can be sent.
 */
export class TextBytes {
  #bytes: Buffer;
  #length = 0;

  /**
   * @param bytesExpected length of the text if it is about known, which saves growing
   * @param isShort whether that is known: a short text then shares its memory with others, which is quicker to get
   */
  constructor(bytesExpected = CAPACITY_MIN, isShort = false) {
    this.#bytes = isShort
      ? Buffer.allocUnsafe(bytesExpected)
      : Buffer.allocUnsafeSlow(Math.max(bytesExpected, CAPACITY_MIN));
  }

  /** Bytes of the text. */
  get length(): number {
    return this.#length;
  }

  /** Adds a string, which neither begins nor ends inside a surrogate pair. */
  add(text: string): void {
    if (text.length === 1 && text < FIRST_LONG_CHARACTER) {
      this.#makeRoom(1);
      this.#bytes[this.#length] = text.charCodeAt(0);
      this.#length += 1;
      return;
    }
    const most = text.length < COUNTED_FROM ? text.length * BYTES_PER_CHARACTER_MAX : Buffer.byteLength(text);
    this.#makeRoom(most);
    this.#length += this.#bytes.utf8Write(text, this.#length);
  }

  /** Adds a stretch of UTF-8, which neither begins nor ends inside a character. */
  copy(bytes: Buffer, start: number = 0, end: number = bytes.length): void {
    this.#makeRoom(end - start);
    const copied = bytes.copy(this.#bytes, this.#length, start, end);
    assert(copied === end - start, 'a stretch that is copied is there');
    this.#length += copied;
  }

  /** The text so far, without what {@link take} has returned before. What is added later is a text of its own. */
  take(): Uint8Array {
    const taken = Buffer.allocUnsafeSlow(this.#length);
    this.#bytes.copy(taken, 0, 0, this.#length);
    this.#length = 0;
    return taken;
  }

  /** The whole text, for which nothing is added any more: without a copy, unless that would keep much more memory than it has. */
  end(): Uint8Array {
    return 2 * this.#length < this.#bytes.length ? this.take() : this.#bytes.subarray(0, this.#length);
  }

  #makeRoom(bytes: number): void {
    const needed = this.#length + bytes;
    if (needed <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(needed, 2 * this.#bytes.length));
    this.#bytes.copy(larger, 0, 0, this.#length);
    this.#bytes = larger;
  }
}
