/*
 * `JSON.parse` and `JSON.stringify` of a large value block the event loop: 16 MiB take 20 to 120 ms. These functions do
 * the same in steps of some tenths of a millisecond.
 */

/** Approximate number of characters parsed or written between two yields. */
const STEP = 1 << 16;

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_BRACKET = 0x5d;
const SMALL_U = 0x75;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** Longest number or word that is parsed at once; of a longer one only the beginning is parsed. */
const LITERAL_MAX = 2_000;

/** Length of an escape with four hexadecimal digits. */
const UNICODE_ESCAPE = 6;

/** Parses a text at once, as `JSON.parse` does. */
type ParseJson = (text: string) => unknown;

/**
 * As `JSON.parse`, in steps. A number of more than 2,000 characters may be refused.
 *
 * @param parse parses a part of the text; default: `JSON.parse`
 * @param step approximate number of characters between two yields
 * @throws {SyntaxError} whose message may refer to a part of the text @throws other errors of `parse`
 */
export function* parseJsonInSteps(
  text: string,
  parse: ParseJson = JSON.parse,
  step: number = STEP,
): Generator<undefined, unknown> {
  if (text.length <= step) return parse(text);
  return yield* new SlicedParser(text, parse, step).document();
}

/** Consecutive members of an array or object. */
interface Run {
  /** Position after the last of them. */
  readonly end: number;
  /** Whether the container ends there. */
  readonly isLast: boolean;
}

class SlicedParser {
  readonly #text: string;
  readonly #parse: ParseJson;
  readonly #step: number;
  #at = 0;
  /** The first quote from {@link #quoteFrom} on; the length of the text when there is none. */
  #quoteAt = -1;
  /** Start of the last search for it. */
  #searchedFrom = 0;

  constructor(text: string, parse: ParseJson, step: number) {
    this.#text = text;
    this.#parse = parse;
    this.#step = step;
  }

  *document(): Generator<undefined, unknown> {
    const value = yield* this.#value();
    yield* this.#space();
    if (this.#at < this.#text.length) throw new SyntaxError('more than one value');
    return value;
  }

  *#value(): Generator<undefined, unknown> {
    yield* this.#space();
    const start = this.#at;
    const end = this.#endWithin(start, this.#step);
    if (end !== undefined) {
      this.#at = end;
      return this.#parse(this.#text.slice(start, end));
    }
    yield undefined;
    switch (this.#text.charCodeAt(start)) {
      case QUOTE:
        return yield* this.#longText();
      case OPEN_BRACKET:
        return yield* this.#longArray();
      case OPEN_BRACE:
        return yield* this.#longObject();
      default:
        return this.#literal();
    }
  }

  /** A number or word, or an invalid token, that is longer than a step. */
  #literal(): unknown {
    const start = this.#at;
    const end = this.#endWithin(start, LITERAL_MAX);
    // The beginning shows the error: a number is refused for its length, anything else is invalid JSON.
    const value = this.#parse(this.#text.slice(start, end ?? start + LITERAL_MAX));
    if (end === undefined) throw new SyntaxError('no number or word is so long');
    this.#at = end;
    return value;
  }

  *#longArray(): Generator<undefined, unknown[]> {
    const items: unknown[] = [];
    this.#at += 1;
    if (yield* this.#endsAtOnce(CLOSE_BRACKET)) return items;
    for (;;) {
      const run = this.#run();
      if (run === undefined) {
        items.push(yield* this.#value());
        if (yield* this.#endsAfterMember(CLOSE_BRACKET)) return items;
        continue;
      }
      const members = this.#takeRun(run, CLOSE_BRACKET);
      const part = this.#parse(`[${members}]`) as unknown[];
      if (part.length === 0) throw new SyntaxError('no value');
      for (const item of part) items.push(item);
      if (run.isLast) return items;
      yield undefined;
    }
  }

  *#longObject(): Generator<undefined, object> {
    const object = {};
    this.#at += 1;
    if (yield* this.#endsAtOnce(CLOSE_BRACE)) return object;
    for (;;) {
      const run = this.#run();
      if (run === undefined) {
        const key = yield* this.#key();
        setKey(object, key, yield* this.#value());
        if (yield* this.#endsAfterMember(CLOSE_BRACE)) return object;
      } else {
        const members = this.#takeRun(run, CLOSE_BRACE);
        const part = this.#parse(`{${members}}`) as Record<string, unknown>;
        const keys = Object.keys(part);
        if (keys.length === 0) throw new SyntaxError('no member');
        for (const key of keys) setKey(object, key, part[key]);
        if (run.isLast) return object;
      }
      yield undefined;
    }
  }

  /** Reads a key and its colon. */
  *#key(): Generator<undefined, string> {
    yield* this.#space();
    if (this.#text.charCodeAt(this.#at) !== QUOTE) throw new SyntaxError('no key');
    const key = yield* this.#longText();
    yield* this.#space();
    if (this.#text.charCodeAt(this.#at) !== COLON) throw new SyntaxError('no colon');
    this.#at += 1;
    return key;
  }

  /** Reads the end of an empty container, if it is one. */
  *#endsAtOnce(close: number): Generator<undefined, boolean> {
    yield* this.#space();
    if (this.#text.charCodeAt(this.#at) !== close) return false;
    this.#at += 1;
    return true;
  }

  /** Reads the separator after a member. @returns whether the container ends there */
  *#endsAfterMember(close: number): Generator<undefined, boolean> {
    yield* this.#space();
    const code = this.#text.charCodeAt(this.#at);
    if (code !== COMMA && code !== close) throw new SyntaxError('no comma');
    this.#at += 1;
    return code === close;
  }

  /** Moves to the position after a run and its separator. @returns its text */
  #takeRun({ end, isLast }: Run, close: number): string {
    if (isLast && this.#text.charCodeAt(end) !== close) throw new SyntaxError('the wrong bracket');
    const members = this.#text.slice(this.#at, end);
    this.#at = end + 1;
    return members;
  }

  /** The next members that end within a step; undefined when the first of them does not. */
  #run(): Run | undefined {
    const text = this.#text;
    const limit = Math.min(this.#at + this.#step, text.length);
    let depth = 0;
    let comma = -1;
    for (let at = this.#at; at < limit; at += 1) {
      const code = text.charCodeAt(at);
      if (code === QUOTE) {
        const end = this.#endOfText(at, limit);
        if (end === undefined) break;
        at = end - 1;
      } else if (code === OPEN_BRACE || code === OPEN_BRACKET) {
        depth += 1;
      } else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) {
        if (depth === 0) return { end: at, isLast: true };
        depth -= 1;
      } else if (code === COMMA && depth === 0) comma = at;
    }
    return comma < 0 ? undefined : { end: comma, isLast: false };
  }

  /** The end of the value that begins at `start`; undefined when it is more than `most` characters away. */
  #endWithin(start: number, most: number): number | undefined {
    const text = this.#text;
    const limit = Math.min(start + most, text.length);
    let depth = 0;
    for (let at = start; at < limit; at += 1) {
      const code = text.charCodeAt(at);
      if (code === QUOTE) {
        const end = this.#endOfText(at, limit);
        if (end === undefined || depth === 0) return end;
        at = end - 1;
      } else if (code === OPEN_BRACE || code === OPEN_BRACKET) {
        depth += 1;
      } else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) {
        if (depth === 0) return at;
        depth -= 1;
        if (depth === 0) return at + 1;
      } else if (depth === 0 && (code === COMMA || isSpace(code))) return at;
    }
    return limit === text.length && depth === 0 ? limit : undefined;
  }

  /** The end of the string that begins at `start`; undefined when it is not before `limit`. */
  #endOfText(start: number, limit: number): number | undefined {
    for (let quote = this.#quoteFrom(start + 1); quote < limit; quote = this.#quoteFrom(quote + 1)) {
      if (!this.#isEscaped(quote, start + 1)) return quote + 1;
    }
    return undefined;
  }

  /** Cached, because a search without a result reads the whole text. */
  #quoteFrom(from: number): number {
    if (this.#quoteAt < from || this.#searchedFrom > from) {
      const found = this.#text.indexOf('"', from);
      this.#quoteAt = found < 0 ? this.#text.length : found;
      this.#searchedFrom = from;
    }
    return this.#quoteAt;
  }

  /** Whether an odd number of backslashes precedes a position, from `start` on. */
  #isEscaped(place: number, start: number): boolean {
    let at = place;
    while (at > start && this.#text.charCodeAt(at - 1) === BACKSLASH) at -= 1;
    return (place - at) % 2 === 1;
  }

  *#longText(): Generator<undefined, string> {
    const pieces: string[] = [];
    let from = this.#at + 1;
    for (;;) {
      const to = this.#cutOf(from, Math.min(from + this.#step, this.#text.length));
      let quote = this.#quoteFrom(from);
      while (quote < to && this.#isEscaped(quote, from)) quote = this.#quoteFrom(quote + 1);
      const end = Math.min(quote, to);
      pieces.push(JSON.parse(`"${this.#text.slice(from, end)}"`) as string);
      if (quote < to) {
        this.#at = quote + 1;
        return pieces.join('');
      }
      if (to >= this.#text.length) throw new SyntaxError('a text without an end');
      from = to;
      yield undefined;
    }
  }

  /** The last position up to `to` that is not inside an escape; the end of the escape when there is none. */
  #cutOf(from: number, to: number): number {
    const last = this.#text.slice(Math.max(to - UNICODE_ESCAPE, from), to).lastIndexOf('\\');
    if (last < 0) return to;
    const at = Math.max(to - UNICODE_ESCAPE, from) + last;
    if (this.#isEscaped(at, from)) return to;
    const end = at + (this.#text.charCodeAt(at + 1) === SMALL_U ? UNICODE_ESCAPE : 2);
    if (end <= to) return to;
    return at > from ? at : Math.min(end, this.#text.length);
  }

  *#space(): Generator<undefined, void> {
    for (let restAt = this.#at + this.#step; isSpace(this.#text.charCodeAt(this.#at)); this.#at += 1) {
      if (this.#at < restAt) continue;
      restAt = this.#at + this.#step;
      yield undefined;
    }
  }
}

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;
}

/** An assignment to `__proto__` would set the prototype. */
function setKey(target: object, key: string, value: unknown): void {
  if (key === '__proto__') {
    Object.defineProperty(target, key, { value, writable: true, enumerable: true, configurable: true });
  } else (target as Record<string, unknown>)[key] = value;
}

/**
 * The size of a plain value: characters of its strings and keys, and a constant for everything else. It stops counting
 * above `most`.
 */
export function sizeUpTo(value: unknown, most: number): number {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object' || value === null) return 8;
  let size = 8;
  if (Array.isArray(value)) {
    for (const item of value) {
      size += sizeUpTo(item, most - size);
      if (size > most) return size;
    }
    return size;
  }
  for (const key in value) {
    size += key.length + sizeUpTo((value as Record<string, unknown>)[key], most - size);
    if (size > most) return size;
  }
  return size;
}

/** Whether a plain value is so large that it is written in steps. */
export function isLargeJson(value: unknown, step: number = STEP): boolean {
  return sizeUpTo(value, step) > step;
}

/** Characters that `JSON.stringify` may escape; surrogate pairs are left to it as well. */
const mayNeedEscape = /["\\\u0000-\u001f\ud800-\udfff]/;

/** The form of values that JSON cannot represent, or that are written in another form. */
export interface JsonForm {
  /** Replaces an object: by itself, or by a plain object whose members have their own forms. */
  readonly formOf: (value: object) => object;
  /** The same for `JSON.stringify`. */
  readonly replacer: (this: unknown, key: string, shown: unknown) => unknown;
}

/**
 * The text `JSON.stringify` makes of a plain value, in pieces of about `step` characters. The work may pause between
 * two pieces; the value must not change meanwhile.
 */
export function* jsonPieces(value: unknown, step: number = STEP, form?: JsonForm): Generator<string, void> {
  if (!hasText(value)) return;
  if (typeof value === 'string' && value.length > step) yield* textPieces(value, step);
  else if (typeof value !== 'object' || value === null || !isLargeJson(value, step)) {
    yield JSON.stringify(value, form?.replacer);
  } else {
    const shown = form === undefined ? value : form.formOf(value);
    if (Array.isArray(shown)) yield* arrayPieces(shown, step, form);
    else yield* objectPieces(shown as Readonly<Record<string, unknown>>, step, form);
  }
}

/** Whether JSON can represent a value: otherwise it is left out of an object, and null in a list. */
function hasText(value: unknown): boolean {
  return value !== undefined && typeof value !== 'function' && typeof value !== 'symbol';
}

function* textPieces(text: string, step: number): Generator<string, void> {
  yield '"';
  for (let from = 0; from < text.length; ) {
    let to = Math.min(from + step, text.length);
    // Do not split a surrogate pair, because its halves would be escaped.
    if (to < text.length && (text.charCodeAt(to) & 0xfc00) === 0xdc00) to += 1;
    const piece = text.slice(from, to);
    yield mayNeedEscape.test(piece) ? JSON.stringify(piece).slice(1, -1) : piece;
    from = to;
  }
  yield '"';
}

function* arrayPieces(
  list: readonly unknown[],
  step: number,
  form: JsonForm | undefined,
): Generator<string, void> {
  let opening = '[';
  let from = 0;
  let size = 0;
  for (let index = 0; index <= list.length; index += 1) {
    const isEnd = index === list.length;
    const own = isEnd ? 0 : sizeUpTo(list[index], step);
    if (index > from && (isEnd || size + own > step)) {
      yield opening + JSON.stringify(list.slice(from, index), form?.replacer).slice(1, -1);
      opening = ',';
      from = index;
      size = 0;
    }
    size += own;
    if (own <= step) continue;
    yield opening;
    yield* jsonPieces(hasText(list[index]) ? list[index] : null, step, form);
    opening = ',';
    from = index + 1;
    size = 0;
  }
  yield list.length === 0 ? '[]' : ']';
}

function* objectPieces(
  object: Readonly<Record<string, unknown>>,
  step: number,
  form: JsonForm | undefined,
): Generator<string, void> {
  let text = '{';
  let isFirst = true;
  for (const key of Object.keys(object)) {
    const value = object[key];
    if (!hasText(value)) continue;
    text += `${isFirst ? '' : ','}${JSON.stringify(key)}:`;
    isFirst = false;
    if (isLargeJson(value, step)) {
      yield text;
      yield* jsonPieces(value, step, form);
      text = '';
    } else {
      text += JSON.stringify(value, form?.replacer);
      if (text.length <= step) continue;
      yield text;
      text = '';
    }
  }
  yield `${text}}`;
}
