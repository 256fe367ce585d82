/*
 * `JSON.parse` and `JSON.stringify` of a large value hold the event loop: 16 MiB take 20 to 120 ms. These do the same in
 * steps of some tenths of a millisecond.
 */

/** Characters that are parsed or written between two rests, about. */
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

/** Characters of the longest number or word that is parsed in one go; of a longer one the beginning is. */
const LITERAL_MAX = 2_000;

/** Characters of an escape with four hexadecimal digits. */
const UNICODE_ESCAPE = 6;

/** Parses a text in one go, as `JSON.parse` does. */
type ParseJson = (text: string) => unknown;

/**
 * As `JSON.parse`; yields where the work may rest. A number of more than 2,000 characters may be refused.
 *
 * @param parse parses a part of the text; default: `JSON.parse`
 * @param step characters between two rests, about
 * @throws {SyntaxError} whose message may tell of a part of the text @throws what `parse` throws besides
 */
export function* parseJsonInSteps(
  text: string,
  parse: ParseJson = JSON.parse,
  step: number = STEP,
): Generator<undefined, unknown> {
  if (text.length <= step) return parse(text);
  return yield* new SlicedParser(text, parse, step).document();
}

/** Members of an array or object that were found between two places. */
interface Run {
  /** Behind the last of them. */
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
  /** From where it was searched. */
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

  /** A number or word, or what is neither, that is longer than a step. */
  #literal(): unknown {
    const start = this.#at;
    const end = this.#endWithin(start, LITERAL_MAX);
    // The beginning of a longer one tells what is wrong: a number is refused for its length, all else is no JSON.
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

  /** Reads the end of a container without members, if it is one. */
  *#endsAtOnce(close: number): Generator<undefined, boolean> {
    yield* this.#space();
    if (this.#text.charCodeAt(this.#at) !== close) return false;
    this.#at += 1;
    return true;
  }

  /** Reads what follows a member. @returns whether the container ends there */
  *#endsAfterMember(close: number): Generator<undefined, boolean> {
    yield* this.#space();
    const code = this.#text.charCodeAt(this.#at);
    if (code !== COMMA && code !== close) throw new SyntaxError('no comma');
    this.#at += 1;
    return code === close;
  }

  /** Goes behind a run and what ends it. @returns its text */
  #takeRun({ end, isLast }: Run, close: number): string {
    if (isLast && this.#text.charCodeAt(end) !== close) throw new SyntaxError('the wrong bracket');
    const members = this.#text.slice(this.#at, end);
    this.#at = end + 1;
    return members;
  }

  /** The members from here on that end within a step; undefined when the next one does not. */
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

  /** Behind the value that begins at `start`; undefined when that is more than `most` characters away. */
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

  /** Behind the text value that begins at `start`; undefined when it has no end before `limit`. */
  #endOfText(start: number, limit: number): number | undefined {
    for (let quote = this.#quoteFrom(start + 1); quote < limit; quote = this.#quoteFrom(quote + 1)) {
      if (!this.#isEscaped(quote, start + 1)) return quote + 1;
    }
    return undefined;
  }

  /** Remembered, because a search that finds nothing goes through all of the text. */
  #quoteFrom(from: number): number {
    if (this.#quoteAt < from || this.#searchedFrom > from) {
      const found = this.#text.indexOf('"', from);
      this.#quoteAt = found < 0 ? this.#text.length : found;
      this.#searchedFrom = from;
    }
    return this.#quoteAt;
  }

  /** Whether an odd number of backslashes stands before a place, from `start` on. */
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

  /** The last place up to `to` that is not within an escape; behind the escape when there is none. */
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
 * The size of a plain value: characters of its texts and keys, and something for everything else. It stops looking when
 * there is more than `most`.
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

/** What `JSON.stringify` may write otherwise than it stands; pairs of surrogates are left to it as well. */
const mayNeedEscape = /["\\\u0000-\u001f\ud800-\udfff]/;

/** How values are written that JSON has no form for, or that are to have another one. */
export interface JsonForm {
  /** What is written in the place of an object: itself, or a plain one the members of which have their own forms. */
  readonly formOf: (value: object) => object;
  /** The same for `JSON.stringify`. */
  readonly replacer: (this: unknown, key: string, shown: unknown) => unknown;
}

/**
 * The text `JSON.stringify` makes of a plain value, in pieces of some `step` characters. The work may rest between any
 * two of them; nothing of the value may change.
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

/** Whether JSON has a text for a value: without one it is left out of an object, and null in a list. */
function hasText(value: unknown): boolean {
  return value !== undefined && typeof value !== 'function' && typeof value !== 'symbol';
}

function* textPieces(text: string, step: number): Generator<string, void> {
  yield '"';
  for (let from = 0; from < text.length; ) {
    let to = Math.min(from + step, text.length);
    // Not within a pair of surrogates, the halves of which would be escaped.
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
