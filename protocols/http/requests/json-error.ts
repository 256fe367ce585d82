const quote = 0x22;
const backslash = 0x5c;
const newline = 0x0a;
const comma = 0x2c;
const colon = 0x3a;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;

/** Approximate number of characters examined between two yields. */
const STEP = 1 << 16;

function isSpace(code: number): boolean {
  return code === 0x20 || code === newline || code === 0x0d || code === 0x09;
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}

function isHexDigit(code: number): boolean {
  const lower = code | 0x20;
  return isDigit(code) || (lower >= 0x61 && lower <= 0x66);
}

/** Characters that may follow a backslash. */
const escapable: ReadonlySet<number> = new Set([...'"\\/bfnrtu'].map((letter) => letter.charCodeAt(0)));

/** The place at which a text stops being valid JSON. */
export interface JsonErrorPlace {
  /** Offset of the first invalid character; the length of the text when it ends too soon. */
  readonly position: number;
  /** The line of that character, counted from 1. */
  readonly line: number;
  /** Its column in the line, counted from 1. */
  readonly column: number;
  /** Whether the text contains only whitespace. */
  readonly isEmpty: boolean;
}

/**
 * Finds where a text stops being valid JSON; used only after parsing has failed. Newlines are valid only between
 * tokens, so lines are counted where whitespace is skipped.
 */
class JsonErrorFinder {
  readonly #text: string;
  readonly #step: number;
  /** The closing brackets of the open arrays and objects, the innermost last. */
  readonly #open: number[] = [];
  #at = 0;
  #restAt: number;
  #line = 1;
  #lineFrom = 0;

  constructor(text: string, step: number) {
    this.#text = text;
    this.#step = step;
    this.#restAt = step;
  }

  *find(): Generator<undefined, JsonErrorPlace> {
    yield* this.#space();
    const isEmpty = this.#at === this.#text.length;
    let goesOn = yield* this.#value();
    while (goesOn) {
      if (this.#at >= this.#restAt) yield this.#rest();
      goesOn = yield* this.#afterValue();
    }
    const column = this.#at - this.#lineFrom + 1;
    return { position: this.#at, line: this.#line, column, isEmpty };
  }

  #rest(): undefined {
    this.#restAt = this.#at + this.#step;
  }

  *#space(): Generator<undefined, void> {
    for (;;) {
      const code = this.#text.charCodeAt(this.#at);
      if (!isSpace(code)) return;
      this.#at += 1;
      if (code === newline) {
        this.#line += 1;
        this.#lineFrom = this.#at;
      }
      if (this.#at >= this.#restAt) yield this.#rest();
    }
  }

  /*
   * Each step below returns false at the offending character, or advances past what it reads. For an array or object
   * that is its beginning with the first member. Consecutive opening brackets are one nested call each.
   */

  *#value(): Generator<undefined, boolean> {
    const code = this.#text.charCodeAt(this.#at);
    if (code === openBrace) return yield* this.#opened(closeBrace);
    if (code === openBracket) return yield* this.#opened(closeBracket);
    if (code === quote) return yield* this.#string();
    if (code === 0x74) return this.#literal('true');
    if (code === 0x66) return this.#literal('false');
    if (code === 0x6e) return this.#literal('null');
    return yield* this.#number();
  }

  *#opened(close: number): Generator<undefined, boolean> {
    this.#at += 1;
    this.#open.push(close);
    yield* this.#space();
    if (this.#text.charCodeAt(this.#at) !== close) return yield* this.#member(close);
    this.#at += 1;
    this.#open.pop();
    return true;
  }

  *#member(close: number): Generator<undefined, boolean> {
    if (close === closeBrace) {
      if (!(yield* this.#string())) return false;
      yield* this.#space();
      if (!this.#takes(colon)) return false;
      yield* this.#space();
    }
    return yield* this.#value();
  }

  /** @returns false at the end of a whole value as well: nothing may follow it */
  *#afterValue(): Generator<undefined, boolean> {
    yield* this.#space();
    const close = this.#open.at(-1);
    if (close === undefined) return false;
    if (this.#takes(close)) {
      this.#open.pop();
      return true;
    }
    if (!this.#takes(comma)) return false;
    yield* this.#space();
    return yield* this.#member(close);
  }

  #literal(word: string): boolean {
    for (let index = 0; index < word.length; index += 1) {
      if (!this.#takes(word.charCodeAt(index))) return false;
    }
    return true;
  }

  #takes(code: number): boolean {
    if (this.#text.charCodeAt(this.#at) !== code) return false;
    this.#at += 1;
    return true;
  }

  *#digits(): Generator<undefined, boolean> {
    const from = this.#at;
    while (isDigit(this.#text.charCodeAt(this.#at))) {
      this.#at += 1;
      if (this.#at >= this.#restAt) yield this.#rest();
    }
    return this.#at > from;
  }

  *#number(): Generator<undefined, boolean> {
    this.#takes(0x2d);
    if (!this.#takes(0x30) && !(yield* this.#digits())) return false;
    if (this.#takes(0x2e) && !(yield* this.#digits())) return false;
    if (this.#takes(0x65) || this.#takes(0x45)) {
      if (!this.#takes(0x2b)) this.#takes(0x2d);
      return yield* this.#digits();
    }
    return true;
  }

  *#string(): Generator<undefined, boolean> {
    if (!this.#takes(quote)) return false;
    for (;;) {
      const code = this.#text.charCodeAt(this.#at);
      if (!(code >= 0x20)) return false;
      this.#at += 1;
      if (code === quote) return true;
      if (code === backslash && !this.#escape()) return false;
      if (this.#at >= this.#restAt) yield this.#rest();
    }
  }

  #escape(): boolean {
    const code = this.#text.charCodeAt(this.#at);
    if (!escapable.has(code)) return false;
    this.#at += 1;
    if (code !== 0x75) return true;
    for (let digit = 0; digit < 4; digit += 1) {
      if (!isHexDigit(this.#text.charCodeAt(this.#at))) return false;
      this.#at += 1;
    }
    return true;
  }
}

/**
 * Finds where an invalid JSON text of bounded nesting stops being valid; yields where the work may be suspended.
 *
 * @param step approximate number of characters between two yields
 */
export function findJsonError(text: string, step: number = STEP): Generator<undefined, JsonErrorPlace> {
  return new JsonErrorFinder(text, step).find();
}
